/** Owns reporting: lines for the error log and the terminal, and the counts in them. */

import { HttpError, isRefusal, isStop } from "./errors.ts";
import { errorText, inOneLine } from "./error_text.ts";

/**
 * Writes an error to the server's error log, with the request and where it came from, such as "in deferred work"; one
 * that is the client's fault takes one line. Ignores the signal that ends a request.
 */
export function reportError(
  thrown: unknown,
  where: string,
  request = "",
): void {
  if (isStop(thrown)) return;
  // Some values throw when inspected; `Error.isError()` excludes them without looking.
  const isBrief = Error.isError(thrown) && thrown instanceof HttpError &&
    thrown.status < 500 && thrown.cause === undefined;
  const text = isBrief
    ? `${thrown.status} ${JSON.stringify(thrown.message)}`
    : errorText(thrown);
  const of = request === "" ? "" : `${request} `;
  report(`${of}Error ${where}: ${text}`);
}

/** The errors of streams that were reported: the server gets them, too, and breaks the connection. */
const reported = new WeakSet<Error>();

/**
 * Writes the error of a stream that was being sent. That of the application is whole, also an `HttpError`: no page
 * shows it.
 */
export function reportStream(error: Error, request: string): void {
  reported.add(error);
  const where = "in a stream";
  if (isRefusal(error)) reportError(error, where, request);
  else report(`${request} Error ${where}: ${errorText(error)}`);
}

/** Whether an error is that of a stream, and was reported. Asked once: the next time, it is another failure. */
export function wasReported(error: unknown): boolean {
  return Error.isError(error) && reported.delete(error);
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

/** A number of things in words, such as `1 form` or `2 forms`. */
export function counted(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** A text whose further lines are indented, and whose other control characters are escaped. */
function printable(text: string): string {
  return text.split("\n").map((line) => inOneLine(line)).join("\n")
    .replace(/\n(?=\S)/g, "\n    ");
}
