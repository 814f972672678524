/**
 * Owns errors: their classes and common messages, the private signal that ends a request, and the one way
 * into the server's error log. Who responds to an error, and with which page, is decided in `handling/`.
 */

import { framesOf, placeOf } from "./stack.ts";

/** What an {@linkcode HttpError} carries besides its status and message. */
export interface HttpErrorOptions extends ErrorOptions {
  /** Headers for the response, such as `Allow` or `Retry-After`. */
  headers?: HeadersInit;
  /**
   * Members of the problem details that JSON clients get: a `type` and a `title` of your own, and any
   * others (RFC 9457, sections 3.1 and 3.2). `status` and `detail` are always those of the error.
   */
  problem?: Readonly<Record<string, unknown>>;
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
  /** Members of the problem details. */
  readonly problem: Readonly<Record<string, unknown>>;
  #headers: Headers | undefined;

  static {
    errorHeaders = (error) => #headers in error ? error.#headers : undefined;
  }

  /** Throws `RangeError` when the status is not an integer from 400 to 599. */
  constructor(status: number, message = "", options: HttpErrorOptions = {}) {
    checkStatus("make an HttpError", status, 400, 599);
    super(message, options);
    this.status = status;
    this.problem = options.problem ?? {};
    if (options.headers) this.#headers = new Headers(options.headers);
  }

  /** Headers for the response. */
  get headers(): Headers {
    return this.#headers ??= new Headers();
  }
}

/** The error for unreadable input: `source` names the input, `state` says what is wrong with it. */
export function refusal(
  status: number,
  source: string,
  state: string,
  options?: HttpErrorOptions,
): HttpError {
  return new HttpError(status, `Cannot read ${source}: ${state}`, options);
}

/** The error for a request target whose scheme is not that of its server. */
export function foreignScheme(): HttpError {
  return new HttpError(400, "The request target has the wrong scheme");
}

/** The error for a value of the wrong kind: `rule` says what it must be. */
export function wrongKind(
  action: string,
  rule: string,
  value: unknown,
): TypeError {
  const kind = typeof value === "string" ? "the string " : "";
  const got = kind + shown(value, BRIEF);
  return new TypeError(`Cannot ${action}: ${rule}, got ${got}`);
}

/** A number of things in words, such as `1 form` or `2 forms`. */
export function counted(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** A line of a file, counted from 1, and the whole text of the file. */
export type SourcePlace = Readonly<
  { file: string; line: number; source: string }
>;

/** An error in a template, with its place: the stack leads into compiled code. */
export class TemplateError extends Error {
  /** Where the template is wrong. */
  readonly place: SourcePlace;
  /** What is wrong, without the line of the template, which the message ends with. */
  readonly summary: string;

  /** The message is what is wrong there. */
  constructor(message: string, place: SourcePlace, options?: ErrorOptions) {
    const { file, line, source } = place;
    const text = source.split("\n")[line - 1]?.trimEnd();
    const summary = `Cannot render "${file}" at line ${line}: ${message}`;
    super(`${summary}\n  ${line} | ${text}`, options);
    this.place = place;
    this.summary = summary;
  }
}

/** The error for a template without a file: the message names what was tried. */
export class MissingTemplate extends Error {
  /** The error with the place of the call in its message: its stack no longer leads there. */
  calledAt(place: string): Error {
    return place === "" ? this : new MissingTemplate(this.message + place);
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

/** Thrown by `stop` and `halt` once the response is sealed; it ends the request and is not an error. */
const stopSignal = { message: "The framework has stopped this request" };

/** Ends the handling of the current request at once. */
export function throwStop(): never {
  throw stopSignal;
}

/** Whether something thrown is the signal that ends a request. */
export function isStop(thrown: unknown): boolean {
  return thrown === stopSignal;
}

/** Thrown to work that outlives its request: it gets nothing, least of all another request's data. */
export class EndedError extends Error {
  override readonly name = "EndedError";

  constructor() {
    super(
      "Cannot use the framework here: the request this work belongs to has ended",
    );
  }
}

/** An error as it is; anything else that was thrown as the cause of a new error. */
export function toError(thrown: unknown): Error {
  try {
    if (thrown instanceof Error && typeof thrown.message === "string") {
      return thrown;
    }
  } catch {
    // some values throw when inspected
  }
  const text = shown(thrown, BRIEF);
  const message = `A non-Error value was thrown: ${text}`;
  return new Error(message, { cause: thrown });
}

const BRIEF: Deno.InspectOptions = { depth: 1, strAbbreviateSize: 200 };

/** A value as text; some throw when inspected. */
function shown(value: unknown, options?: Deno.InspectOptions): string {
  try {
    return Deno.inspect(value, options);
  } catch {
    return "a value that throws when inspected";
  }
}

/**
 * Writes an error to the server's error log, with the request and the place it came from; one that is the client's
 * fault takes one line. Ignores the signal that ends a request.
 */
export function reportError(
  thrown: unknown,
  place: string,
  request = "",
): void {
  if (isStop(thrown)) return;
  // Some values throw when inspected; `Error.isError()` excludes them without looking.
  const isRefusal = Error.isError(thrown) && thrown instanceof HttpError &&
    thrown.status < 500 && thrown.cause === undefined;
  const text = isRefusal
    ? `${thrown.status} ${JSON.stringify(thrown.message)}`
    : errorText(thrown);
  const of = request === "" ? "" : `${request} `;
  report(`${of}Error ${place}: ${text}`);
}

/**
 * Writes to the server's error log, after the time. A log that cannot be written, such as on a full
 * disk, is ignored: it must not cost a response.
 */
export function report(text: string): void {
  const line = `${new Date().toISOString()} ${printable(text)}`;
  try {
    // deno-lint-ignore no-console -- this is the error log
    console.error(line);
  } catch {
    // there is no other place to say so
  }
}

/** Prints a line for the person at the terminal; output that cannot be written is ignored. */
export function announce(line: string): void {
  try {
    // deno-lint-ignore no-console -- it is meant for the terminal
    console.log(line);
  } catch {
    // the server goes on without it
  }
}

/**
 * The characters that change how a log reads, or what a terminal does: controls, line separators, and those of
 * writing direction (Unicode's `Cc` and `Bidi_Control`, written out: names are looked up at the start).
 */
const UNPRINTABLE =
  // deno-lint-ignore no-control-regex -- control characters are what must be found
  /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A text in one line, its control characters escaped: what a client sends cannot forge a line of the log. */
function inOneLine(text: string): string {
  return text.replace(UNPRINTABLE, escaped);
}

/** A text whose further lines are indented, and whose other control characters are escaped. */
function printable(text: string): string {
  return text.split("\n").map((line) => inOneLine(line)).join("\n")
    .replace(/\n(?=\S)/g, "\n    ");
}

function escaped(character: string): string {
  if (character === "\n") return "\\n";
  const code = character.charCodeAt(0).toString(16).padStart(4, "0");
  return `\\u${code}`;
}

/**
 * An error with its stack, its own properties and its causes; each message is in one line. `frames` returns the
 * lines of a stack. A limit ends circles of causes.
 */
export function errorText(
  thrown: unknown,
  frames: (error: Error) => readonly string[] = framesOf,
  limit = 8,
): string {
  if (!Error.isError(thrown) || limit === 0) return shown(thrown);
  try {
    const { name, message, stack: _, cause, errors, ...properties } = thrown as
      & AggregateError
      & Record<string, unknown>;
    const isTemplate = thrown instanceof TemplateError; // its message has them
    const summary = isTemplate ? thrown.summary : message;
    const lines = [inOneLine(errorTitle(name, summary))];
    if (isTemplate) lines.push(inOneLine(message.slice(summary.length + 1)));
    lines.push(...frames(thrown));
    if (Object.keys(properties).length > 0 && !isTemplate) {
      lines.push(`    ${shown(properties, { breakLength: Infinity })}`);
    }
    const inner = [...cause === undefined ? [] : [cause], ...errors ?? []]
      .map((each) => `Caused by: ${errorText(each, frames, limit - 1)}`);
    return [...lines, ...inner].join("\n");
  } catch {
    return UNREADABLE;
  }
}

/**
 * An error in one line: its name, its message, that of its innermost cause, and its first place in the application's
 * code. Where it has none, as that of a `fetch()` that was returned, `origin` stands there.
 */
export function errorLine(error: Error, origin = ""): string {
  try {
    const { name } = error;
    const isTemplate = error instanceof TemplateError;
    const message = isTemplate ? error.summary : error.message;
    const cause = innermostCause(error);
    const isSaid = error.message.includes(cause.message);
    const text = errorTitle(name, message) +
      (isSaid ? "" : ` (caused by ${errorTitle(cause.name, cause.message)})`);
    const short = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
    const place = isTemplate
      ? `${error.place.file}:${error.place.line}`
      : placeOf(error);
    const where = place ?? (message.includes(origin) ? "" : origin);
    return inOneLine(where === "" ? short : `${short} at ${where}`);
  } catch {
    return UNREADABLE;
  }
}

/** The error that has led to all others, or the error itself. A limit ends circles of causes. */
function innermostCause(error: Error, limit = 8): Error {
  const { cause } = error;
  const isLast = !Error.isError(cause) || limit === 0;
  return isLast ? error : innermostCause(cause, limit - 1);
}

export function errorTitle(name: string, message: string): string {
  return message ? `${name}: ${message}` : String(name);
}

const UNREADABLE = "An error that throws when inspected";

/** How many characters of an error a line of the log has at most: a message may quote what a client sent. */
const LONGEST = 1_000;
