/** Owns listening: the options of `start()`, and the errors of a server that cannot start. */

import { ABORTED } from "../errors.ts";
import type { Fetch } from "../http.ts";
import { checkOptions } from "../options.ts";
import { announce, reportError, wasReported } from "../report.ts";
import { DrainingServer, endWithProcess, type Served } from "./server.ts";

/**
 * Where and how to listen.
 *
 * Guides: [docs/reference.md](./docs/reference.md#settings), [docs/in_production.md](./docs/in_production.md)
 */
export interface StartOptions {
  /** The TCP port; 0 picks a free one. 8000 by default. */
  readonly port?: number;
  /** The address to listen on, 127.0.0.1 by default. */
  readonly hostname?: string;
  /** The path of a Unix socket, instead of port and hostname. */
  readonly path?: string;
  /** The certificate chain for TLS, in PEM. */
  readonly cert?: string;
  /** The private key for TLS, in PEM. */
  readonly key?: string;
  /** Drains the server when it aborts. */
  readonly signal?: AbortSignal;
  /** Whether SIGINT and SIGTERM drain the server and end the process; true by default. */
  readonly signals?: boolean;
  /** Called once with the address, which is then not printed. */
  readonly onListen?: (address: Deno.Addr) => void;
  /**
   * Called, and awaited, once the server has drained, whatever began the drain: flush and close things here. It
   * has what is left of `framework.shutdown_timeout`, or a second when nothing is left. An error in it is logged,
   * and the process ends with status 1.
   */
  readonly onShutdown?: () => unknown;
}

/** Starts to listen, and prints the address. Throws when the options are wrong, or the runtime cannot listen. */
export function listen(
  fetch: Fetch,
  options: StartOptions,
  app: Served,
): DrainingServer {
  checkOptions("start the server", options, OPTIONS);
  options.signal?.throwIfAborted();
  const { onListen, onShutdown, signal, signals = true } = options;
  const server = new DrainingServer(serve(fetch, options), app, onShutdown);
  signal?.addEventListener("abort", () => server.shutdown(), { once: true });
  endWithProcess(server, signals);
  if (onListen) onListen(server.addr);
  else announceAddress(server.addr, options);
  return server;
}

const OPTIONS = "port hostname path cert key signal signals onListen onShutdown"
  .split(" ");

function serve(
  handler: Fetch,
  { hostname = "127.0.0.1", port = 8000, path, cert, key }: StartOptions,
): Deno.HttpServer<Deno.Addr> {
  const where = path === undefined ? { hostname, port, cert, key } : { path };
  try {
    return Deno.serve(
      { ...where, onError, onListen: () => {} } as Deno.ServeTcpOptions,
      handler,
    );
  } catch (cause) {
    if (!(cause instanceof Deno.errors.AddrInUse)) throw cause;
    const [address, way] = path === undefined
      ? [
        hostWithPort(hostname, port),
        "choose another port, as in start({ port: 8001 })",
      ]
      : [path, "remove the file if no server uses it"];
    throw new Deno.errors.AddrInUse(
      `Cannot listen on ${address}: it is in use; ${way}`,
      { cause },
    );
  }
}

/** Responds to an error that the application did not handle; that of a stream was logged with its request. */
function onError(error: unknown): Response {
  if (error !== ABORTED && !wasReported(error)) {
    reportError(error, "that the application did not handle");
  }
  return new Response("Internal Server Error", { status: 500 });
}

function announceAddress(
  address: Deno.Addr,
  { cert, signals = true }: StartOptions,
): void {
  const scheme = cert === undefined ? "http" : "https";
  const at = "hostname" in address
    ? `${scheme}://${hostWithPort(address.hostname, address.port)}/`
    : (address as Deno.UnixAddr).path;
  announce(`Listening on ${at}${signals ? " (press Ctrl+C to stop)" : ""}`);
}

/** A host and a port as a URL joins them. */
function hostWithPort(hostname: string, port: number): string {
  const isBare = hostname.includes(":") && !hostname.startsWith("[");
  return `${isBare ? `[${hostname}]` : hostname}:${port}`;
}
