/**
 * Owns the error log: its lines, the text of errors in it, and masking secrets. Nothing that a client sent can add a
 * line.
 */

import { HttpError, isStop, shown, TemplateError } from "./errors.ts";

/** How many characters of an error a line has at most: a message may quote what a client sent. */
const LONGEST = 1_000;

/** How many causes of an error are shown. */
const MAX_CAUSES = 8;

/** Controls, line separators, and characters of writing direction (Unicode's `Cc` and `Bidi_Control`). */
const UNPRINTABLE =
  // deno-lint-ignore no-control-regex -- control characters are what must be found
  /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** The frames of the framework, of packages and of the runtime. */
const FOREIGN =
  /\/node_modules\/|\/ventojs[@/]\d|\b(?:ext|node):|<anonymous>\)?$/;
const FRAMEWORK = import.meta.resolve("./");

/** The place at the end of a frame. */
const PLACE = /((?:file|https?):\/\/.*):(\d+):\d+\)?$/;

/** Writes to the error log, after the time. A log that cannot be written must not cost a response. */
export function report(text: string): void {
  const lines = text.split("\n").map(inOneLine).join("\n");
  const indented = lines.replace(/\n(?=\S)/g, "\n    ");
  print("error", `${new Date().toISOString()} ${indented}`);
}

/** Prints a line for the person at the terminal. */
export function announce(line: string): void {
  print("log", line);
}

function print(stream: "error" | "log", line: string): void {
  try {
    // deno-lint-ignore no-console -- this is the error log, and what the terminal shows
    console[stream](line);
  } catch {
    // there is no other place to say so
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
  const isOfClient = thrown instanceof HttpError && thrown.status < 500;
  const text = isOfClient ? errorLine(thrown) : errorText(thrown);
  report(`${request} Error ${where}: ${text}`.trimStart());
}

/** The errors of streams that were reported: the server gets them, too, and breaks the connection. */
const reported = new WeakSet<Error>();

/** Writes the error of a stream that was being sent: no page shows it. */
export function reportStream(error: Error, request: string): void {
  reported.add(error);
  reportError(error, "in a stream", request);
}

/** Whether an error is that of a stream, and was reported. */
export function wasReported(error: unknown): boolean {
  return error instanceof Error && reported.has(error);
}

/** A number of things in words, such as `1 form` or `2 forms`. */
export function counted(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** An error with its stack and its causes; line breaks in messages are escaped. */
export function errorText(thrown: unknown, depth = 0): string {
  if (!(thrown instanceof Error)) return inOneLine(shown(thrown));
  const lines = [inOneLine(titleOf(thrown)), ...framesOf(thrown)];
  if (thrown.cause !== undefined && depth < MAX_CAUSES) {
    lines.push(`Caused by ${errorText(thrown.cause, depth + 1)}`);
  }
  return lines.join("\n");
}

/** The frames of a stack, without the message. */
function framesOf(error: Error): string[] {
  const [stack, message] = [String(error.stack), String(error.message)];
  const frames = stack.slice(stack.indexOf(message) + message.length);
  return frames.match(/^[ \t]+at .*$/gm) ?? [];
}

/** An error in one line: its name, its message, that of its innermost cause, and its first place in the application. */
export function errorLine(error: Error): string {
  let cause: unknown = error;
  for (let n = 0; n < MAX_CAUSES; n++) cause = causeOf(cause) ?? cause;
  const isKnown = !(cause instanceof Error) ||
    error.message.includes(String(cause.message));
  const why = isKnown ? "" : ` (caused by ${titleOf(cause as Error)})`;
  const text = (titleOf(error) + why).slice(0, LONGEST);
  const place = placeOf(error);
  return inOneLine(place === undefined ? text : `${text} at ${place}`);
}

function titleOf({ name, message }: Error): string {
  return message ? `${name}: ${message}` : name;
}

function causeOf(error: unknown): unknown {
  return error instanceof AggregateError
    ? error.errors?.[0]
    : (error as Error | undefined)?.cause;
}

/** The first place of the application in an error's stack, as `/srv/app.ts:12`. */
function placeOf(error: Error): string | undefined {
  if (error instanceof TemplateError) {
    return `${error.place.file}:${error.place.line}`;
  }
  for (const frame of framesOf(error)) {
    if (frame.includes(FRAMEWORK) || FOREIGN.test(frame)) continue;
    const [, url, line] = PLACE.exec(frame) ?? [];
    if (url === undefined) continue;
    const isFile = url.startsWith("file:");
    return `${isFile ? decodeURI(new URL(url).pathname) : url}:${line}`;
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
const PAIRS = /(?<![\w.[\]%-])[\w.[\]%-]+=[^&;\s#"]*/g;

/** What separates a name from its value; encoded more than once where one address leads to another. */
const EQUALS = /=|%(?:25)*3d/i;

/** What separates pairs in a value that is an address. */
const SEPARATORS = /[?&#;]|%(?:25)*(?:3f|26|23|3b)/i;

/** What replaces a secret. */
export const MASK = "\u2022\u2022\u2022\u2022"; // four bullets

/** The text with the values of secrets in it hidden. */
export function masked(text: string): string {
  return text.replace(PAIRS, (pair) => maskedPair(pair));
}

/** A pair, its value hidden when the name is a secret's, or one in an address that is the value. */
export function maskedPair(
  pair: string,
  isSecret: (name: string) => boolean = (name) => SECRETS.test(name),
): string {
  const names = pair.split(EQUALS).slice(0, -1)
    .map((part) => part.split(SEPARATORS).at(-1)!);
  return names.some(isSecret) ? `${pair.split(EQUALS, 1)[0]}=${MASK}` : pair;
}

/** The value of a name, hidden when that is a secret's. */
export function maskedIfSecret(name: string, value: string): string {
  return SECRETS.test(name) ? MASK : masked(value);
}
