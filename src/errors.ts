/**
 * Owns errors: their classes, their common messages, and the private signal that ends a request. Who responds to an
 * error, and with which page, is decided in `handling/`; its text is made in `report.ts`.
 */

/** What an {@linkcode HttpError} carries besides its status and message. */
export interface HttpErrorOptions extends ErrorOptions {
  /** Headers for the response, such as `Allow` or `Retry-After`. */
  headers?: HeadersInit;
}

/** The headers of an error, if it has any: reading an empty list takes longer than most responses. */
export let errorHeaders: (error: HttpError) => Headers | undefined;

/**
 * An error that knows its HTTP status. Its message is shown to the client.
 *
 * Guide: [docs/errors.md](./docs/errors.md)
 *
 * @example
 * ```ts
 * import { Engine, HttpError } from "@framework/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * app.route("/staff", () => {
 *   throw new HttpError(403, "Staff only");
 * });
 *
 * const response = await app.fetch("/staff");
 * assertEquals(response.status, 403);
 * ```
 */
export class HttpError extends Error {
  /** The name of the class. */
  override readonly name: string = "HttpError";
  /** The status of the response, 400 to 599. */
  readonly status: number;
  #headers: Headers | undefined;

  static {
    errorHeaders = (error) => error.#headers;
  }

  /** Throws `RangeError` when the status is not an integer from 400 to 599. */
  constructor(status: number, message = "", options: HttpErrorOptions = {}) {
    checkStatus("make an HttpError", status, 400, 599);
    super(message, options);
    this.status = status;
    if (options.headers) this.#headers = new Headers(options.headers);
  }

  /** Headers for the response. */
  get headers(): Headers {
    return this.#headers ??= new Headers();
  }
}

const refusals = new WeakSet<Error>();

/**
 * Whether the framework refused a request by this error, for what its client did: it gets a page even when
 * `framework.handle_errors` is false.
 */
export function isRefusal(error: Error): boolean {
  return refusals.has(error);
}

/** Makes an error a refusal, and returns it. */
export function asRefusal(error: HttpError): HttpError {
  refusals.add(error);
  return error;
}

/** The error by which the framework itself refuses a request: see `isRefusal`. */
export function refusal(
  status: number,
  message: string,
  options?: HttpErrorOptions,
): HttpError {
  return asRefusal(new HttpError(status, message, options));
}

/** The refusal of unreadable input: `source` names the input, `state` says what is wrong with it. */
export function unreadable(
  status: number,
  source: string,
  state: string,
  options?: HttpErrorOptions,
): HttpError {
  return refusal(status, `Cannot read ${source}: ${state}`, options);
}

/** The error for a value of the wrong kind: `rule` says what it must be. */
export function wrongKind(
  action: string,
  rule: string,
  value: unknown,
): TypeError {
  const kind = typeof value === "string" ? "the string " : "";
  const got = kind + shown(value);
  return new TypeError(`Cannot ${action}: ${rule}, got ${got}`);
}

/** An error in a template, whose message names the place: the stack leads into compiled code. */
export class TemplateError extends Error {
  constructor(
    message: string,
    /** Where the template is wrong; the line is counted from 1. */
    readonly place: { readonly file: string; readonly line: number },
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Throws `RangeError` unless a status is an integer in the range; the action goes into the message. */
export function checkStatus(
  action: string,
  status: number,
  first: number,
  last: number,
): void {
  if (Number.isInteger(status) && status >= first && status <= last) return;
  throw new RangeError(
    `Cannot ${action} with the status "${status}": it must be a number from ${first} to ${last}`,
  );
}

/** Thrown by `stop`, `halt`, `etag` and `lastModified` once they have sealed the response: it ends the request. */
const stopSignal = { message: "The framework has stopped this request" };

/**
 * Ends the handling of the current request at once. What catches errors of the application's code must let this through
 * (`isStop`), except where nothing is left to end: in `send`, and outside of requests.
 */
export function throwStop(): never {
  throw stopSignal;
}

/** Whether something thrown is the signal that ends a request. */
export function isStop(thrown: unknown): boolean {
  return thrown === stopSignal;
}

/** The reason with which a server that shuts down aborts its streams. */
export const ABORTED = new Deno.errors.Interrupted("The server has shut down");

/** Thrown to work that outlives its request: it gets nothing, least of all another request's data. */
export class EndedError extends Error {
  override readonly name = "EndedError";

  constructor() {
    super(
      "Cannot use the framework here: the request this work belongs to has ended",
    );
  }
}

/**
 * An error as it is; anything else that was thrown, also one whose message is no text, in a new error. Its stack is not
 * looked at: the runtime makes one only where it is read, which takes longer than a response.
 */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error && typeof thrown.message === "string") {
    return thrown;
  }
  return new Error(`A non-Error value was thrown: ${shown(thrown)}`);
}

/** A value as a short text. */
export function shown(value: unknown): string {
  return Deno.inspect(value, { depth: 1, strAbbreviateSize: 200 });
}
