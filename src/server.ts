/**
 * Owns listening: the options of `start()`, the errors of a server that cannot start, and draining
 * when the process is told to end.
 */

import { report } from "./errors.ts";

/** Where and how to listen. */
export interface StartOptions {
  /** The TCP port; 0 takes a free one. 8000 when not given. */
  readonly port?: number;
  /** The address to listen on, 127.0.0.1 when not given. */
  readonly hostname?: string;
  /** The path of a Unix socket, in place of port and hostname. */
  readonly path?: string;
  /** The certificate chain for TLS, in PEM. */
  readonly cert?: string;
  /** The private key for TLS, in PEM. */
  readonly key?: string;
  /** Drains the server when it aborts. */
  readonly signal?: AbortSignal;
  /** Whether SIGINT and SIGTERM drain the server and end the process; true when not given. */
  readonly signals?: boolean;
  /** Called once with the address, in place of the line that is printed. */
  readonly onListen?: (address: Deno.Addr) => void;
}

/** The handle of a running server. */
export type Server = Deno.HttpServer<Deno.Addr>;

/** What the server asks of the application. */
export interface ServerContext {
  /** How many seconds running requests get when the server drains. */
  shutdownTimeout(): number;
  /** Settles when the work that outlives its requests is done. */
  idle(): Promise<unknown>;
}

type Handler = (
  request: Request,
  info: Deno.ServeHandlerInfo,
) => Response | Promise<Response>;

/** Starts to listen; throws when the address is taken, may not be used, or an option is malformed. */
export function listen(
  handler: Handler,
  options: StartOptions,
  context: ServerContext,
): Server {
  const force = new AbortController();
  const server = serve(handler, options, force.signal);
  let draining: Promise<void> | undefined;
  const drain = (): Promise<void> =>
    draining ??= drainServer(server, force, context);
  options.signal?.addEventListener("abort", drain, { once: true });
  if (options.signals ?? true) endWithProcess(server, drain);
  return server;
}

function serve(
  handler: Handler,
  options: StartOptions,
  signal: AbortSignal,
): Server {
  const { port = 8000, hostname = "127.0.0.1", path, cert, key } = options;
  const onListen = options.onListen ?? announce;
  try {
    if (path !== undefined) {
      return Deno.serve({ path, signal, onListen }, handler);
    }
    const tls = cert !== undefined && key !== undefined ? { cert, key } : {};
    return Deno.serve({ port, hostname, signal, onListen, ...tls }, handler);
  } catch (cause) {
    throw explain(cause, path ?? `${hostname}:${port}`);
  }
}

function announce(address: Deno.Addr): void {
  const at = "hostname" in address
    ? `http://${address.hostname}:${address.port}/`
    : "path" in address
    ? address.path
    : "";
  // deno-lint-ignore no-console -- whoever starts the server wants to know where it is
  console.log(`Listening on ${at}`);
}

function explain(cause: unknown, address: string): unknown {
  const why = cause instanceof Deno.errors.AddrInUse
    ? "another program listens there"
    : cause instanceof Deno.errors.NotCapable
    ? `the permission --allow-net=${address} is missing`
    : undefined;
  if (why === undefined) return cause;
  return new Error(`Cannot listen on ${address}: ${why}`, { cause });
}

/** Lets running requests finish, for so long; what is left then is cut off. */
async function drainServer(
  server: Server,
  force: AbortController,
  context: ServerContext,
): Promise<void> {
  const timer = setTimeout(
    () => force.abort(),
    context.shutdownTimeout() * 1000,
  );
  await server.shutdown().catch(() => {});
  await context.idle();
  clearTimeout(timer);
}

/** Drains on the first signal and ends the process; a second signal ends it at once. */
function endWithProcess(server: Server, drain: () => Promise<void>): void {
  let asked = false;
  const end = async (): Promise<void> => {
    if (asked) Deno.exit(130);
    asked = true;
    await drain();
    Deno.exit(0);
  };
  const signals: Deno.Signal[] = Deno.build.os === "windows"
    ? ["SIGINT"]
    : ["SIGINT", "SIGTERM"];
  for (const signal of signals) Deno.addSignalListener(signal, end);
  server.finished.then(() => {
    if (asked) return;
    for (const signal of signals) Deno.removeSignalListener(signal, end);
  }, (error) => report(`The server has failed: ${Deno.inspect(error)}`));
}
