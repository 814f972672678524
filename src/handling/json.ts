/** Owns the default `json` and `jsonp`, and encoding values: what JSON would silently turn into `{}` is an error. */

import type { Context } from "../application/exchange.ts";
import { refusal, wrongKind } from "../errors.ts";
import { JSON_UTF8 } from "../http.ts";
import { checkHeader } from "../response/header.ts";

/** The content type of JSONP. */
export const SCRIPT = "application/javascript; charset=utf-8";

export function json(
  { reply }: Context,
  data: unknown,
  code?: number,
  encode = true,
  charset = "utf8",
  option = 0,
): void {
  const text = jsonText(data, encode, charset, option);
  reply.replace({ status: code, text, type: typeIn(charset, JSON_UTF8) });
}

/** Responds with JSON inside a call of the function that the query names. */
export function jsonp(
  { exchange, reply }: Context,
  data: unknown,
  param = "jsonp",
  code?: number,
  encode = true,
  charset = "utf8",
  option = 0,
): void {
  const callback = exchange.http.query[param];
  if (typeof callback !== "string" || !isFunctionName(callback)) {
    const rule = "must name a JavaScript function";
    throw refusal(400, `The query parameter "${param}" ${rule}`);
  }
  // Neither a line nor the script element around it may end inside the text.
  const text = jsonText(data, encode, charset, option)
    .replace(/[<\u2028\u2029]/g, escaped);
  reply.replace({
    status: code,
    text: `${callback}(${text});`,
    type: typeIn(charset, SCRIPT),
    headers: { "x-content-type-options": "nosniff" },
  });
}

/** Whether a text is the name of a JavaScript function, such as `go` or `app.go`, of at most 128 characters. */
function isFunctionName(text: string): boolean {
  // Compiled here: that takes a fraction of a millisecond, which would delay every start.
  return /^(?=.{1,128}$)[\p{ID_Start}$_][\p{ID_Continue}$]*(?:\.[\p{ID_Start}$_][\p{ID_Continue}$]*)*$/u
    .test(text);
}

function jsonText(
  data: unknown,
  encode: boolean,
  charset: string,
  indentation: number,
): string {
  if (!encode && typeof data !== "string") {
    const action = "send JSON that is already encoded";
    throw wrongKind(action, "it must be text", data);
  }
  if (typeof indentation !== "number") {
    const rule = "the option must be how many spaces indent a level";
    throw wrongKind("send JSON", rule, indentation);
  }
  const text = encode ? encoded(data, indentation) : String(data);
  // The body is UTF-8 whatever the header says; nearly every charset agrees with it on ASCII.
  return isUtf8(charset) ? text : text.replace(/[\u0080-\uffff]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Encodes a value. Throws `TypeError` naming the place of what JSON cannot represent. */
export function encoded(data: unknown, indentation = 0): string {
  let text: string;
  try {
    // With any indentation, even 0, the runtime encodes slower.
    text = JSON.stringify(data, undefined, indentation || undefined) ?? "null";
  } catch (cause) {
    const fault = faultIn(data);
    if (fault === undefined) throw cause;
    throw new TypeError(`Cannot encode JSON: ${fault}`, { cause });
  }
  // What JSON loses, it writes as an object without members.
  const fault = text.includes("{}") ? faultIn(data) : undefined;
  if (fault === undefined) return text;
  throw new TypeError(`Cannot encode JSON: ${fault}`);
}

/** Finds what JSON cannot represent in a value, and says where; `above` has the path of each object around it. */
function faultIn(
  given: unknown,
  path = "$",
  above: Map<unknown, string> = new Map(),
): string | undefined {
  const value = hasToJson(given) ? given.toJSON() : given;
  const around = above.get(value);
  if (around !== undefined) {
    return `${path} is a circular reference to ${around}`;
  }
  if (typeof value === "bigint") return `${path} is a BigInt`;
  if (typeof value !== "object" || value === null) return undefined;
  if (!hasJson(value)) return `${path} is ${nameOf(value)}`;
  above.set(value, path);
  for (const [key, member] of Object.entries(value)) {
    if (typeof member === "function") continue;
    const fault = faultIn(member, path + memberPath(value, key), above);
    if (fault !== undefined) return fault;
  }
  above.delete(value);
}

/** Whether JSON can represent an object: anything but what has its content elsewhere than in its properties. */
export function hasJson(value: object): boolean {
  if (hasToJson(value)) return true;
  const tag = tagOf(value);
  return PLAIN_TAGS.includes(tag) && !("then" in value) &&
    (Array.isArray(value) || !(Symbol.iterator in value));
}

/** Objects of other classes than the language's own are plain, too. */
const PLAIN_TAGS = ["Object", "Array", "String", "Number", "Boolean"];

function hasToJson(value: unknown): value is { toJSON(): unknown } {
  return typeof value === "object" && value !== null && "toJSON" in value &&
    typeof value.toJSON === "function";
}

/** Names a value that JSON cannot represent. */
function nameOf(value: object): string {
  if ("then" in value) return "a promise: await it";
  const name = value.constructor?.name || tagOf(value);
  const article = /^[AEIO]/.test(name) ? "an" : "a";
  return `${article} ${name}: JSON cannot represent it`;
}

/** What the language calls an object: "Error", "RegExp", "String", or its `Symbol.toStringTag`. */
function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}

function memberPath(holder: unknown, key: string): string {
  if (Array.isArray(holder)) return `[${key}]`;
  const isName = /^[A-Za-z_$][\w$]*$/.test(key);
  return isName ? `.${key}` : `[${JSON.stringify(key)}]`;
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
