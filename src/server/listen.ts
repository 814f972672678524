/**
 * Owns listening: the options of `start()`, and the errors of a server that cannot start. The way it
 * ends is in `drain.ts`, what a request asks for in `target.ts`.
 */

import type { Backlog } from "../state/background.ts";
import { CUT, DrainedServer, endWithProcess, type Server } from "./drain.ts";
import { reportError } from "../errors.ts";
import { didYouMean } from "../suggestions.ts";

export type { Server };

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

type Handler = (
  request: Request,
  info: Deno.ServeHandlerInfo,
) => Response | Promise<Response>;

type Rule = readonly [kind: string, fits: (value: unknown) => boolean];

const isText = (value: unknown): boolean =>
  typeof value === "string" && value !== "";
const isPort = (value: unknown): boolean =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 65_535;

/** What each option takes. */
const RULES: Readonly<Record<keyof StartOptions, Rule>> = {
  port: ["a port from 0 to 65535", isPort],
  hostname: ["a name or address of this machine", isText],
  path: ["the path of a socket", isText],
  cert: ["a certificate in PEM", isText],
  key: ["a private key in PEM", isText],
  signal: ["an AbortSignal", (value) => value instanceof AbortSignal],
  signals: ["true or false", (value) => typeof value === "boolean"],
  onListen: ["a function", (value) => typeof value === "function"],
};

/** What a server on the socket of a path has not. */
const EXCLUSIVE = ["port", "hostname", "cert", "key"] as const;

/**
 * Starts to listen, and tells where; `patience` says for how many seconds a drain waits. Throws
 * `TypeError` or `RangeError` when an option is malformed, and an error of the cause's class when the
 * address is taken, not there, or may not be used.
 */
export function listen(
  handler: Handler,
  options: StartOptions,
  backlog: Backlog,
  patience: () => number,
): Server {
  checkOptions(options);
  const listening = serve(handler, options);
  const server = new DrainedServer(listening, backlog, patience);
  const shutdown = (): void => void server.shutdown();
  const { signal, signals = true, onListen = announcer(options) } = options;
  signal?.addEventListener("abort", shutdown, { once: true });
  if (signals) endWithProcess(server);
  server.finished.then(() => signal?.removeEventListener("abort", shutdown));
  try {
    onListen(server.addr);
  } catch (error) {
    shutdown();
    throw error;
  }
  return server;
}

function checkOptions(options: StartOptions): void {
  if (typeof options !== "object" || options === null) {
    const got = Deno.inspect(options);
    throw refusal(TypeError, `the options must be an object, got ${got}`);
  }
  const given = Object.entries(options)
    .filter(([, value]) => value !== undefined);
  for (const [name, value] of given) checkOption(name, value);
  const { path, cert, key, signal } = options;
  const excluded = EXCLUSIVE.find((name) => options[name] !== undefined);
  if (path !== undefined && excluded !== undefined) {
    throw refusal(TypeError, `the option "path" excludes "${excluded}"`);
  }
  if ((cert === undefined) !== (key === undefined)) {
    throw refusal(TypeError, 'the options "cert" and "key" need each other');
  }
  if (signal?.aborted) {
    throw refusal(Error, "its signal is aborted already");
  }
}

function checkOption(name: string, value: unknown): void {
  const rule = Object.hasOwn(RULES, name)
    ? RULES[name as keyof StartOptions]
    : undefined;
  if (rule === undefined) {
    const near = didYouMean(name, Object.keys(RULES));
    throw refusal(TypeError, `there is no option "${name}"${near}`);
  }
  const [kind, fits] = rule;
  if (fits(value)) return;
  throw refusal(
    typeof value === "number" ? RangeError : TypeError,
    `the option "${name}" must be ${kind}, got ${Deno.inspect(value)}`,
  );
}

function refusal(type: ErrorConstructor, state: string): Error {
  return new type(`Cannot start the server: ${state}`);
}

function serve(handler: Handler, options: StartOptions): Server {
  const { port = 8000, hostname = "127.0.0.1", path, cert, key } = options;
  const events = { onError, onListen: () => {} };
  const guarded = guard(handler, cert !== undefined);
  try {
    if (path !== undefined) {
      return Deno.serve({ path, ...events }, guarded);
    }
    const tls = cert !== undefined && key !== undefined ? { cert, key } : {};
    return Deno.serve({ port, hostname, ...tls, ...events }, guarded);
  } catch (cause) {
    throw explained(cause, path, path ?? addressOf(hostname, port));
  }
}

/**
 * Refuses a request that names the other scheme: an absolute-form can (RFC 9112, section 3.2.2), and
 * would pass for a secure connection.
 */
function guard(handler: Handler, isSecure: boolean): Handler {
  const own = isSecure ? "https:" : "http:";
  return (request, info) => {
    const { url } = request;
    if (url.startsWith(own) || /^https:/i.test(url) === isSecure) {
      return handler(request, info);
    }
    return new Response("The request target has another scheme", {
      status: 400,
    });
  };
}

/** What the application left to the server: a stream that failed, or an error that it does not handle. */
function onError(error: unknown): Response {
  if (error !== CUT) reportError(error, "that the application did not handle");
  return new Response("Internal Server Error", { status: 500 });
}

function announcer({ cert }: StartOptions): (address: Deno.Addr) => void {
  const scheme = cert === undefined ? "http" : "https";
  return (address) => {
    const at = "hostname" in address
      ? `${scheme}://${addressOf(address.hostname, address.port)}/`
      : (address as Deno.UnixAddr).path;
    // deno-lint-ignore no-console -- whoever starts the server wants to know where it is
    console.log(`Listening on ${at}`);
  };
}

function addressOf(hostname: string, port: number): string {
  const isBare = hostname.includes(":") && !hostname.startsWith("[");
  return `${isBare ? `[${hostname}]` : hostname}:${port}`;
}

/** An error that says where, and what to do, of the class of the one that the runtime threw. */
function explained(
  cause: unknown,
  path: string | undefined,
  address: string,
): unknown {
  if (!(cause instanceof Error)) return cause;
  const flags = path === undefined
    ? `--allow-net=${address}`
    : `--allow-read=${path} --allow-write=${path} --allow-net=unix:${path}`;
  const why = cause instanceof Deno.errors.NotCapable
    ? `the permission is missing, run with ${flags}`
    : cause.message;
  const type = cause.constructor as ErrorConstructor;
  return new type(`Cannot listen on ${address}: ${why}`, { cause });
}
