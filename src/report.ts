/**
 * Owns the error log: its lines, the text of errors in it, and masking secrets. Nothing that a client sent can add a
 * line.
 */

import {
  HttpError,
  isRefusal,
  isStop,
  shown,
  TemplateError,
} from "./errors.ts";

/** How many characters of an error a line has at most: a message may quote what a client sent. */
const LONGEST = 1_000;

/** How many causes of an error are shown. */
export const MAX_CAUSES = 8;

/** Controls, line separators, and characters of writing direction (Unicode's `Cc` and `Bidi_Control`). */
const UNPRINTABLE =
  // deno-lint-ignore no-control-regex -- control characters are what must be found
  /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** The frames of the framework, of packages and of the runtime. */
const FOREIGN =
  /\/node_modules\/|\/ventojs[@/]\d|\b(?:ext|node):|<anonymous>\)?$/;
const FRAMEWORK = import.meta.resolve("./");

/** The place at the end of a frame. */
const PLACE = /(?<![a-z])(?:file|https?|data):\/\/.*(?=:\d+\)?$)/;

/** Writes to the error log, after the time. A log that cannot be written must not cost a response. */
export function report(text: string): void {
  const lines = text.split("\n").map((line) =>
    line.replace(UNPRINTABLE, escaped)
  );
  const indented = lines.join("\n").replace(/\n(?=\S)/g, "\n    ");
  try {
    // deno-lint-ignore no-console -- this is the error log
    console.error(`${new Date().toISOString()} ${indented}`);
  } catch {
    // there is no other place to say so
  }
}

/** Prints a line for the person at the terminal. */
export function announce(line: string): void {
  try {
    // deno-lint-ignore no-console -- it is meant for the terminal
    console.log(line);
  } catch {
    // the server goes on without it
  }
}

/**
 * Writes an error to the log, with the request and where it came from, such as "in deferred work"; one that is the
 * client's fault takes one line. Ignores the signal that ends a request.
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
  report(`${request} Error ${where}: ${text}`.trimStart());
}

/** The errors of streams that were reported: the server gets them, too, and breaks the connection. */
const reported = new WeakSet<Error>();

/** Writes the error of a stream that was being sent. That of the application is whole: no page shows it. */
export function reportStream(error: Error, request: string): void {
  reported.add(error);
  if (isRefusal(error)) reportError(error, "in a stream", request);
  else report(`${request} Error in a stream: ${errorText(error)}`);
}

/** Whether an error is that of a stream, and was reported. */
export function wasReported(error: unknown): boolean {
  return Error.isError(error) && reported.delete(error);
}

/** A number of things in words, such as `1 form` or `2 forms`. */
export function counted(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** An error with its stack and its causes; line breaks in messages are escaped. */
export function errorText(thrown: unknown, depth = 0): string {
  if (!Error.isError(thrown)) return inOneLine(shown(thrown));
  try {
    const lines = [inOneLine(titleOf(thrown)), ...framesOf(thrown)];
    const { cause } = thrown;
    if (cause !== undefined && depth < MAX_CAUSES) {
      lines.push(`Caused by ${errorText(cause, depth + 1)}`);
    }
    return lines.join("\n");
  } catch {
    return "An error that throws when inspected";
  }
}

/** The frames of a stack, without the message. */
export function framesOf({ stack, message }: Error): string[] {
  const text = String(stack ?? "");
  return text.slice(text.indexOf(message) + message.length)
    .split("\n").filter((line) => /^\s+at /.test(line));
}

/** Whether a frame is of the framework, of a package or of the runtime. */
export function isForeignFrame(frame: string): boolean {
  return frame.includes(FRAMEWORK) || FOREIGN.test(frame);
}

/** An error in one line: its name, its message, that of its innermost cause, and its first place in the application. */
export function errorLine(error: Error, origin = ""): string {
  try {
    const { name } = error;
    const place = error instanceof TemplateError ? error.place : undefined;
    const message = place ? error.message.split("\n", 1)[0]! : error.message;
    let cause: unknown = error;
    for (let n = 0; n < MAX_CAUSES; n++) cause = causeOf(cause) ?? cause;
    const why = Error.isError(cause) && !message.includes(cause.message)
      ? ` (caused by ${titleOf(cause)})`
      : "";
    const text = titleOf({ name, message }) + why;
    const short = text.length > LONGEST
      ? `${text.slice(0, LONGEST)}\u2026`
      : text;
    const where = place
      ? `${place.file}:${place.line}`
      : placeOf(error) ?? (message.includes(origin) ? "" : origin);
    return inOneLine(where === "" ? short : `${short} at ${where}`);
  } catch {
    return "An error that throws when inspected";
  }
}

function titleOf({ name, message }: Pick<Error, "name" | "message">): string {
  return message ? `${name}: ${message}` : String(name);
}

function causeOf(error: unknown): unknown {
  const isMany = error instanceof AggregateError && error.errors.length > 0;
  return isMany ? error.errors[0] : (error as Error | undefined)?.cause;
}

/** The first place of the application in an error's stack, as `/srv/app.ts:12`. */
function placeOf(error: Error): string | undefined {
  for (const frame of framesOf(error)) {
    if (isForeignFrame(frame)) continue;
    const [url] = PLACE.exec(frame) ?? [];
    if (url === undefined) continue;
    const [file, line] = url.split(/:(?=\d+$)/);
    const isFile = file!.startsWith("file:");
    return `${isFile ? decodeURI(new URL(file!).pathname) : file}:${line}`;
  }
}

/** A text in one line, its control characters escaped: what a client sends cannot forge a line of the log. */
function inOneLine(text: string): string {
  return text.replace(UNPRINTABLE, escaped);
}

function escaped(character: string): string {
  if (character === "\n") return "\\n";
  const code = character.charCodeAt(0).toString(16).padStart(4, "0");
  return `\\u${code}`;
}

// Masking secrets in what pages and logs show

/**
 * The names whose values are masked, of headers, fields and parameters; `code` is that of OAuth. `pass`, `pin` and `sid`
 * count as words only, with no letter before or behind them.
 */
export const SECRETS: RegExp =
  /auth|card.?num|^code$|cookie|credential|csrf|cvc|cvv|jwt|key|otp|passw|passphrase|(?<![a-z])(?:pass|pin|sid)(?![a-z])|pwd|secret|session|sessid|sig|token/i;

/** The pairs `name=value` in a text, such as a query. The lookbehind lets a long text be read only once. */
const PAIRS = /(?<![\w.[\]%-])([\w.[\]%-]+)=[^&;\s#"]*/g;

/** What separates a name from its value; encoded more than once where one address leads to another. */
const EQUALS = /=|%(?:25)*3d/i;

/** The encoded separators of pairs in a value, such as an address: `?`, `&`, `#` and `;`. */
const SEPARATORS = /%(?:25)*(?:3f|26|23|3b)/i;

/** What replaces a secret. */
export const MASK = "\u2022\u2022\u2022\u2022"; // four bullets

/** The text with the values of secrets in it hidden. */
export function masked(text: string, mask: string = MASK): string {
  const isSecret = (name: string): boolean => SECRETS.test(name);
  return text.replace(PAIRS, (pair) => maskedPair(pair, isSecret, mask));
}

/**
 * A pair with its value hidden when that is a secret's, as is what follows a secret's name in an address in it; an
 * encoded address is hidden whole.
 */
export function maskedPair(
  pair: string,
  isSecret: (name: string) => boolean,
  mask: string = MASK,
): string {
  const parts = pair.split("?");
  for (const [index, part] of parts.entries()) {
    if (!namesIn(part).some(isSecret)) continue;
    const [name] = part.split(EQUALS, 1);
    return [...parts.slice(0, index), `${name}=${mask}`].join("?");
  }
  return pair;
}

/** The names in a part of a pair: the one in front of its value, and those in an encoded value. */
function namesIn(part: string): string[] {
  const [first, value] = part.split("=", 2);
  const names = value === undefined ? [] : [first!];
  if (!part.includes("%")) return names;
  const all = part.split(SEPARATORS)
    .flatMap((pair) => pair.split(EQUALS).slice(0, -1));
  return names[0] === all[0] ? all : [...names, ...all]; // the first one counts once
}

/** The value of a name, hidden when that is a secret's. */
export function maskedIfSecret(
  name: string,
  value: string,
  mask: string = MASK,
): string {
  return SECRETS.test(name) ? mask : masked(value, mask);
}
