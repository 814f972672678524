/** Owns an error as text: whole, in one line, or its title. Nothing that a client sent can add a line. */

import { shown, TemplateError, toError } from "./errors.ts";
import { framesOf, placeOf } from "./stack.ts";

/** How many errors of a chain of causes are shown: it may be a circle. */
export const MAX_CAUSES = 8;

/**
 * An error with its stack, its other properties and its causes; each message is in one line. `frames` returns the
 * lines of a stack.
 */
export function errorText(
  thrown: unknown,
  frames: (error: Error) => readonly string[] = framesOf,
  limit = MAX_CAUSES,
): string {
  if (!Error.isError(thrown) || limit === 0) return shown(thrown);
  try {
    const { name, message, stack: _, cause, ...properties } = thrown as
      & Error
      & Record<string, unknown>;
    const { errors } = thrown as { errors?: unknown };
    const isList = Array.isArray(errors); // those of other libraries may be a record
    if (isList) delete properties.errors;
    const isTemplate = thrown instanceof TemplateError; // its message has them
    const summary = isTemplate ? thrown.summary : message;
    const lines = [inOneLine(errorTitle(name, summary))];
    if (isTemplate) lines.push(inOneLine(message.slice(summary.length + 1)));
    lines.push(...frames(thrown));
    if (Object.keys(properties).length > 0 && !isTemplate) {
      lines.push(`    ${shown(properties, { breakLength: Infinity })}`);
    }
    const inner = [
      ...cause === undefined ? [] : [cause],
      ...isList ? errors : [],
    ]
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
    const cause = causeText(error);
    const text = errorTitle(name, message) +
      (cause === "" ? "" : ` (caused by ${cause})`);
    const short = text.length > LONGEST
      ? `${text.slice(0, LONGEST)}\u2026`
      : text;
    const place = isTemplate
      ? `${error.place.file}:${error.place.line}`
      : placeOf(error);
    const where = place ?? (message.includes(origin) ? "" : origin);
    return inOneLine(where === "" ? short : `${short} at ${where}`);
  } catch {
    return UNREADABLE;
  }
}

/**
 * What has led to an error: its innermost cause, unless the message says it. Of an `AggregateError`, the number of its
 * errors and the first one: behind a long message, the number would be cut off.
 */
function causeText(error: Error): string {
  let cause = error;
  let count = 1;
  for (let depth = 0; depth < MAX_CAUSES; depth++) {
    const [first, ...others] = causesOf(cause);
    if (first === undefined) break;
    cause = first;
    if (count === 1) count += others.length;
  }
  const isSaid = error.message.includes(cause.message);
  const title = isSaid ? "" : errorTitle(cause.name, cause.message);
  if (count === 1) return title;
  return isSaid ? `${count} errors` : `${count} errors, first ${title}`;
}

/** The errors that have led directly to another one. */
function causesOf(error: Error): Error[] {
  if (error instanceof AggregateError && error.errors.length > 0) {
    return error.errors.map(toError);
  }
  return Error.isError(error.cause) ? [error.cause] : [];
}

export function errorTitle(name: string, message: string): string {
  return message ? `${name}: ${message}` : String(name);
}

const UNREADABLE = "An error that throws when inspected";

/** How many characters of an error a line of the log has at most: a message may quote what a client sent. */
const LONGEST = 1_000;

/**
 * The characters that change how a log reads, or what a terminal does: controls, line separators, and those of
 * writing direction (Unicode's `Cc` and `Bidi_Control`, written out: names are looked up at the start).
 */
const UNPRINTABLE =
  // deno-lint-ignore no-control-regex -- control characters are what must be found
  /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A text in one line, its control characters escaped: what a client sends cannot forge a line of the log. */
export function inOneLine(text: string): string {
  return text.replace(UNPRINTABLE, escaped);
}

function escaped(character: string): string {
  if (character === "\n") return "\\n";
  const code = character.charCodeAt(0).toString(16).padStart(4, "0");
  return `\\u${code}`;
}
