/**
 * Owns listening: the options of `start()`, the errors of a server that cannot start, and the way a
 * server ends, by itself or with its process. What a request asks for is the target's.
 */

import { report, reportError } from "./errors.ts";
import { didYouMean } from "./near.ts";

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

/**
 * The handle of a running server. `shutdown()` drains it: it stops to listen, gives running requests
 * and deferred work `framework.shutdown_timeout` seconds, and cuts the streams that are left then.
 * `finished` settles when that is done.
 */
export type Server = Deno.HttpServer<Deno.Addr>;

/** What the server asks of the application. */
export interface ServerContext {
  /** How many seconds running requests and deferred work get when the server drains. */
  shutdownTimeout(): number;
  /** Settles when the work that outlives its requests is done. */
  idle(): Promise<unknown>;
  /** Ends the streams that are being sent, and answers how many there were. */
  cutStreams(reason: unknown): number;
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

/** Which options do not go together, and which do not go alone. */
const EXCLUSIVE = ["port", "hostname", "cert", "key"] as const;
const TOGETHER = [["cert", "key"], ["key", "cert"]] as const;

/** What the errors of listening mean. */
const REASONS = [
  [Deno.errors.AddrInUse, "another program listens there"],
  [Deno.errors.AddrNotAvailable, "this machine has no such address"],
  [Deno.errors.PermissionDenied, "the system does not let this user"],
  [Deno.errors.NotFound, "the folder does not exist"],
  [Deno.errors.InvalidData, "the certificate or its key is malformed"],
] as const;

/** The signals that end a process, with the exit code of one that they end at once. */
const SIGNALS: readonly (readonly [Deno.Signal, number])[] =
  Deno.build.os === "windows"
    ? [["SIGINT", 130]]
    : [["SIGINT", 130], ["SIGTERM", 143]];

/** Why a stream ends that is still being sent when the server has to. */
const CUT = new Deno.errors.Interrupted("The server has shut down");

/** The longest time a timer of the platform can take, in milliseconds. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** How long what was cut gets to notice, in milliseconds. */
const LAST_MOMENTS = 1_000;

/**
 * Starts to listen. Throws `TypeError` or `RangeError` when an option is malformed, and an error of
 * the cause's class when the address is taken, not there, or may not be used.
 */
export function listen(
  handler: Handler,
  options: StartOptions,
  context: ServerContext,
): Server {
  checkOptions(options);
  const server = new DrainedServer(serve(handler, options), context);
  const shutdown = (): void => void server.shutdown();
  const { signal } = options;
  signal?.addEventListener("abort", shutdown, { once: true });
  if (options.signals ?? true) endWithProcess(server);
  server.finished.then(() => signal?.removeEventListener("abort", shutdown));
  return server;
}

class DrainedServer implements Server {
  readonly addr: Deno.Addr;
  readonly finished: Promise<void>;
  readonly #server: Server;
  readonly #context: ServerContext;
  readonly #finish: () => void;
  #drained: Promise<void> | undefined;

  constructor(server: Server, context: ServerContext) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.addr = server.addr;
    this.finished = promise;
    this.#finish = resolve;
    this.#server = server;
    this.#context = context;
  }

  shutdown(): Promise<void> {
    this.#drained ??= this.#drain().then(this.#finish);
    return this.finished;
  }

  ref(): void {
    this.#server.ref();
  }

  unref(): void {
    this.#server.unref();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  /** Lets running requests and deferred work finish, for so long; what is left then is cut off. */
  async #drain(): Promise<void> {
    const seconds = this.#context.shutdownTimeout();
    const done = this.#server.shutdown().then(() => this.#context.idle());
    if (await settles(done, seconds * 1_000)) return;
    const cut = this.#context.cutStreams(CUT);
    const left = cut === 0 || !await settles(done, LAST_MOMENTS);
    report(
      `The server did not wait longer than ${seconds} s: ${cut} streams were cut${
        left ? ", and requests or deferred work were left unfinished" : ""
      }`,
    );
  }
}

/** Whether work settles within a time. */
async function settles(
  work: Promise<unknown>,
  milliseconds: number,
): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(
    () => resolve(false),
    Math.min(milliseconds, LONGEST_TIMER),
  );
  work.then(() => resolve(true));
  const settled = await promise;
  clearTimeout(timer);
  return settled;
}

function checkOptions(options: StartOptions): void {
  const given = Object.entries(options)
    .filter(([, value]) => value !== undefined);
  for (const [name, value] of given) checkOption(name, value);
  const names = new Set(given.map(([name]) => name));
  for (const name of EXCLUSIVE) {
    if (names.has("path") && names.has(name)) {
      throw refusal(TypeError, `the option "path" excludes "${name}"`);
    }
  }
  for (const [name, other] of TOGETHER) {
    if (names.has(name) && !names.has(other)) {
      throw refusal(TypeError, `the option "${name}" needs "${other}"`);
    }
  }
  if (options.signal?.aborted) {
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
  const { onListen = announcer(cert !== undefined) } = options;
  const guarded = guard(handler, cert !== undefined);
  try {
    if (path !== undefined) {
      return Deno.serve({ path, onListen, onError }, guarded);
    }
    const tls = cert !== undefined && key !== undefined ? { cert, key } : {};
    return Deno.serve({ port, hostname, onListen, onError, ...tls }, guarded);
  } catch (cause) {
    throw explained(cause, options, path ?? addressOf(hostname, port));
  }
}

/**
 * Refuses a request that names the other scheme: an absolute-form can (RFC 9112, section 3.2.2), and
 * would pass for a secure connection.
 */
function guard(handler: Handler, isSecure: boolean): Handler {
  return (request, info) => {
    if (/^https:/i.test(request.url) === isSecure) {
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

function announcer(isSecure: boolean): (address: Deno.Addr) => void {
  return (address) => {
    const at = "hostname" in address
      ? `${isSecure ? "https" : "http"}://${
        addressOf(address.hostname, address.port)
      }/`
      : "path" in address
      ? address.path
      : Deno.inspect(address);
    // deno-lint-ignore no-console -- whoever starts the server wants to know where it is
    console.log(`Listening on ${at}`);
  };
}

function addressOf(hostname: string, port: number): string {
  const isBare = hostname.includes(":") && !hostname.startsWith("[");
  return `${isBare ? `[${hostname}]` : hostname}:${port}`;
}

/** An error that says what to do, of the class of the one that the runtime threw. */
function explained(
  cause: unknown,
  { path }: StartOptions,
  address: string,
): unknown {
  if (!(cause instanceof Error)) return cause;
  if (cause instanceof Deno.errors.NotCapable) {
    const flags = path === undefined
      ? `--allow-net=${address}`
      : `--allow-read=${path} --allow-write=${path} --allow-net=unix:${path}`;
    return new Deno.errors.NotCapable(
      `Cannot listen on ${address}: the permission is missing, run with ${flags}`,
      { cause },
    );
  }
  const [type, why] = REASONS.find(([type]) => cause instanceof type) ??
    [Error, cause.message];
  return new type(`Cannot listen on ${address}: ${why}`, { cause });
}

/** The servers that end with the process. */
const ending = new Set<Server>();
let isAsked = false;

const listeners = SIGNALS.map(([signal, code]) =>
  [signal, () => endProcess(code)] as const
);

/** Drains on the first signal and ends the process; a second signal ends it at once. */
function endWithProcess(server: Server): void {
  if (ending.size === 0) {
    for (const [signal, end] of listeners) Deno.addSignalListener(signal, end);
  }
  ending.add(server);
  server.finished.then(() => {
    ending.delete(server);
    if (ending.size > 0 || isAsked) return;
    for (const [signal, end] of listeners) {
      Deno.removeSignalListener(signal, end);
    }
  });
}

/** Ends when all servers are drained, those of other applications in this process too. */
async function endProcess(code: number): Promise<void> {
  if (isAsked) Deno.exit(code);
  isAsked = true;
  await Promise.all([...ending].map((server) => server.shutdown()));
  Deno.exit();
}
