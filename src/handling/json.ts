/**
 * Owns the default `json` and `jsonp`, and encoding values: the error for one that cannot be encoded names
 * the place in it.
 */

import type { Application } from "../application/application.ts";
import { HttpError } from "../errors.ts";
import { checkHeader } from "../response/header.ts";
import { currentOrThrow } from "../state/scope.ts";

/** The name of a JavaScript function, such as `go` or `app.go`. */
const FUNCTION_NAME =
  /^[\p{ID_Start}$_][\p{ID_Continue}$]*(?:\.[\p{ID_Start}$_][\p{ID_Continue}$]*)*$/u;

const USUAL_TYPE = "application/json; charset=utf-8";

/** Responds with JSON in place of what there is. */
export function json(
  app: Application,
  data: unknown,
  code?: number,
  encode = true,
  charset = "utf8",
  option = 0,
): void {
  const scope = currentOrThrow(app.owner, "json()");
  const isUsual = encode && charset === "utf8";
  const text = isUsual
    ? encodeJson(data, option)
    : jsonText(data, encode, charset, option);
  const type = isUsual ? USUAL_TYPE : typeIn(charset, "application/json");
  app.respond(scope, "json()", { status: code, text, type });
}

/** Responds with JSON inside a call of the function that the query names. */
export function jsonp(
  app: Application,
  data: unknown,
  param = "jsonp",
  code?: number,
  encode = true,
  charset = "utf8",
  option = 0,
): void {
  const response = app.response(app.scope("jsonp()"));
  const callback = app.request().query[param];
  if (
    typeof callback !== "string" || callback.length > 128 ||
    !FUNCTION_NAME.test(callback)
  ) {
    throw new HttpError(
      400,
      `The query parameter "${param}" must name a JavaScript function`,
    );
  }
  // Neither a line nor the script element around it may end inside the text.
  const text = escapeJson(
    jsonText(data, encode, charset, option),
    /[<\u2028\u2029]/g,
  );
  response.respond("jsonp()", {
    status: code,
    text: `${callback}(${text});`,
    type: typeIn(charset, "application/javascript"),
    headers: { "x-content-type-options": "nosniff" },
  });
}

function jsonText(
  data: unknown,
  encode: boolean,
  charset: string,
  indentation: number,
): string {
  if (!encode && typeof data !== "string") {
    const got = Deno.inspect(data, { depth: 0 });
    throw new TypeError(
      `Cannot send JSON that is not to be encoded: it must be text, got ${got}`,
    );
  }
  const text = encode ? encodeJson(data, indentation) : String(data);
  // The body is UTF-8 whatever the header says; nearly every charset agrees with it on ASCII.
  return isUtf8(charset) ? text : escapeJson(text, /[\u0080-\uffff]/g);
}

/** A media type with its charset. Throws `TypeError` when no header can carry it. */
function typeIn(charset: string, type: string): string {
  if (isUtf8(charset)) return `${type}; charset=utf-8`;
  const named = `${type}; charset=${charset}`;
  checkHeader("content-type", named);
  return named;
}

function isUtf8(charset: string): boolean {
  return charset === "utf8" || /^utf-?8$/i.test(charset);
}

/**
 * Encodes a value; `undefined` is `null`, `indentation` is a number of spaces from 0 to 10. Throws
 * `TypeError` naming the place of a BigInt or of a cycle.
 */
function encodeJson(value: unknown, indentation = 0): string {
  try {
    // With an indentation, even one of 0, the runtime encodes a third slower.
    return JSON.stringify(value, undefined, indentation || undefined) ?? "null";
  } catch (cause) {
    const fault = findFault(value);
    if (fault === undefined) throw cause;
    throw new TypeError(`Cannot encode JSON: ${fault}`, { cause });
  }
}

/** Escapes characters of JSON text that can only be inside its strings. */
function escapeJson(text: string, characters: RegExp): string {
  return text.replace(
    characters,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Encodes once more and notes each place: the last one noted is the one that fails. */
function findFault(value: unknown): string | undefined {
  const path: { value: unknown; place: string }[] = [];
  let fault: string | undefined;
  try {
    JSON.stringify(value, function (this: unknown, key: string, member) {
      while (path.length > 0 && path.at(-1)!.value !== this) path.pop();
      const place = path.length > 0
        ? path.at(-1)!.place + step(this, key)
        : "$";
      const above = path.find((each) => each.value === member);
      fault = above && `${place} is ${above.place} again, which contains it`;
      if (typeof member === "bigint") fault = `${place} is a BigInt`;
      path.push({ value: member, place });
      return member;
    });
  } catch {
    return fault;
  }
}

function step(holder: unknown, key: string): string {
  if (Array.isArray(holder)) return `[${key}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key)
    ? `.${key}`
    : `[${JSON.stringify(key)}]`;
}
