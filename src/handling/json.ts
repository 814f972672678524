/** Owns the default `json` and `jsonp`. */

import type { Application } from "../application/application.ts";
import { HttpError, wrongKind } from "../errors.ts";
import { checkHeader } from "../response/header.ts";
import { currentOrThrow } from "../state/scope.ts";

/** The name of a JavaScript function, such as `go` or `app.go`, of at most 128 characters. */
const FUNCTION_NAME =
  /^(?=.{1,128}$)[\p{ID_Start}$_][\p{ID_Continue}$]*(?:\.[\p{ID_Start}$_][\p{ID_Continue}$]*)*$/u;

/** Responds with JSON in place of the content so far. */
export function json(
  app: Application,
  data: unknown,
  code?: number,
  encode = true,
  charset = "utf8",
  option = 0,
): void {
  const scope = currentOrThrow(app.owner, "json()");
  const text = jsonText(data, encode, charset, option);
  const type = typeIn(charset, "application/json; charset=utf-8");
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
  if (typeof callback !== "string" || !FUNCTION_NAME.test(callback)) {
    const rule = "must name a JavaScript function";
    throw new HttpError(400, `The query parameter "${param}" ${rule}`);
  }
  // Neither a line nor the script element around it may end inside the text.
  const unsafe = /[<\u2028\u2029]/g;
  const text = escapeJson(jsonText(data, encode, charset, option), unsafe);
  response.respond("jsonp()", {
    status: code,
    text: `${callback}(${text});`,
    type: typeIn(charset, "application/javascript; charset=utf-8"),
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
    const action = "send JSON that is not to be encoded";
    throw wrongKind(action, "it must be text", data);
  }
  // It would become `{}`.
  if (data instanceof Promise) {
    throw wrongKind("send JSON", "a promise must be awaited first", data);
  }
  const text = encode ? encoded(data, indentation) : String(data);
  // The body is UTF-8 whatever the header says; nearly every charset agrees with it on ASCII.
  return isUtf8(charset) ? text : escapeJson(text, /[\u0080-\uffff]/g);
}

/** Encodes a value. Throws `TypeError` naming the place of a BigInt or of a cycle. */
function encoded(data: unknown, indentation: number): string {
  try {
    // With any indentation, even 0, the runtime encodes a third slower.
    return JSON.stringify(data, undefined, indentation || undefined) ?? "null";
  } catch (cause) {
    const fault = faultIn(data);
    if (fault === undefined) throw cause;
    throw new TypeError(`Cannot encode JSON: ${fault}`, { cause });
  }
}

/** Finds a BigInt, or an object inside of itself; `above` has the places of the objects around. */
function faultIn(
  value: unknown,
  place = "$",
  above = new Map<unknown, string>(),
): string | undefined {
  if (typeof value === "bigint") return `${place} is a BigInt`;
  const known = above.get(value);
  if (known) return `${place} is ${known} again, which contains it`;
  if (typeof value !== "object" || value === null || "toJSON" in value) return;
  above.set(value, place);
  for (const [key, member] of Object.entries(value)) {
    const fault = faultIn(member, place + memberPath(value, key), above);
    if (fault !== undefined) return fault;
  }
  above.delete(value);
}

function memberPath(holder: unknown, key: string): string {
  if (Array.isArray(holder)) return `[${key}]`;
  const isName = /^[A-Za-z_$][\w$]*$/.test(key);
  return isName ? `.${key}` : `[${JSON.stringify(key)}]`;
}

/** Escapes characters of a JSON text; they must be ones that only its strings contain. */
function escapeJson(text: string, characters: RegExp): string {
  const escaped = (found: string) =>
    `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(characters, escaped);
}

/** A media type in UTF-8, or in another charset. Throws `TypeError` when no header can carry that. */
function typeIn(charset: string, type: string): string {
  if (isUtf8(charset)) return type;
  checkHeader("content-type", charset);
  return type.replace(/utf-8$/, () => charset);
}

function isUtf8(charset: string): boolean {
  return charset === "utf8" || /^utf-?8$/i.test(charset);
}
