/** Owns the default `json` and `jsonp`. */

import type { Application } from "../application/application.ts";
import { refusal, wrongKind } from "../errors.ts";
import { JSON_UTF8 } from "../media_type.ts";
import { checkHeader } from "../response/header.ts";

/** What the language calls the objects that JSON sends as the value in them, such as `Markup`. */
const VALUES: ReadonlySet<string> = new Set(["String", "Number", "Boolean"]);

/** The content type of JSONP. */
export const SCRIPT = "application/javascript; charset=utf-8";

export function json(
  app: Application,
  data: unknown,
  code?: number,
  encode = true,
  charset = "utf8",
  option = 0,
): void {
  const { reply } = app.context("json()");
  const text = jsonText(data, encode, charset, option);
  const type = typeIn(charset, JSON_UTF8);
  reply.respond("json()", { status: code, text, type });
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
  const { reply } = app.context("jsonp()");
  const callback = app.request().query[param];
  if (typeof callback !== "string" || !isFunctionName(callback)) {
    const rule = "must name a JavaScript function";
    throw refusal(400, `The query parameter "${param}" ${rule}`);
  }
  // Neither a line nor the script element around it may end inside the text.
  const unsafe = /[<\u2028\u2029]/g;
  const text = escapeJson(jsonText(data, encode, charset, option), unsafe);
  reply.respond("jsonp()", {
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
  return isUtf8(charset) ? text : escapeJson(text, /[\u0080-\uffff]/g);
}

/** Encodes a value. Throws `TypeError` naming the place of what JSON cannot represent. */
export function encoded(data: unknown, indentation = 0): string {
  let text: string;
  try {
    // With any indentation, even 0, the runtime encodes slower.
    text = JSON.stringify(data, undefined, indentation || undefined) ?? "null";
  } catch (cause) {
    throw faultIn(data, { cause }) ?? cause;
  }
  // What JSON cannot see into becomes `{}`: most texts have none.
  const isSuspect = isContainer(data) ||
    text.includes("{}") && mayBeLost(data);
  const fault = isSuspect ? faultIn(data) : undefined;
  if (fault !== undefined) throw fault;
  return text;
}

/** Whether JSON can represent an object, apart from its members: errors, maps, requests and the like have no JSON. */
export function hasJson(value: object): boolean {
  if ("toJSON" in value && typeof value.toJSON === "function") return true;
  return whyUnsendable(value) === undefined;
}

/** Whether something in a value may become `{}`: faster than finding what and where. The client chooses the depth. */
function mayBeLost(data: unknown): boolean {
  const values = [data];
  while (values.length > 0) {
    const value = values.pop();
    if (typeof value !== "object" || value === null) continue;
    const isList = Array.isArray(value);
    if (!isList && "toJSON" in value && !(value instanceof Date)) return true;
    if (Error.isError(value)) return true;
    const members: unknown[] = isList ? value : shownMembers(value);
    if (members.length === 0 && whyUnsendable(value) !== undefined) return true;
    for (const member of members) values.push(member);
  }
  return false;
}

/** Finds what JSON cannot represent, among the values that it asks for. */
function faultIn(data: unknown, options?: ErrorOptions): Error | undefined {
  let fault: string | undefined;
  /** The objects around a value, from the outermost, with the path of each. */
  const above: [holder: unknown, path: string][] = [];
  const visit = function (this: unknown, key: string, value: unknown): unknown {
    while (above.length > 0 && above.at(-1)![0] !== this) above.pop();
    const around = above.at(-1)?.[1];
    const path = around === undefined ? "$" : around + memberPath(this, key);
    const known = above.find(([holder]) => holder === value)?.[1];
    const why = known === undefined
      ? whyUnsendable(value)
      : `a circular reference to ${known}`;
    if (why !== undefined) fault ??= `${path} is ${why}`;
    if (fault !== undefined) return undefined;
    if (typeof value === "object") above.push([value, path]);
    return value;
  };
  JSON.stringify(data, visit);
  if (fault === undefined) return undefined;
  return new TypeError(`Cannot encode JSON: ${fault}`, options);
}

/** The name of a class that begins with a vowel as it is spoken, such as `HttpError` or `UploadedFile`. */
const SPOKEN_AS_VOWEL = /^(?:[AEIO]|U[bdglmnp][a-hj-z]|Http|[FHLMNRSX][A-Z])/;

/** Says what a value is that JSON cannot represent; undefined for any other. */
function whyUnsendable(value: unknown): string | undefined {
  if (typeof value === "bigint") return "a BigInt";
  if (typeof value !== "object" || value === null) return undefined;
  const isSeen = Array.isArray(value) || shownMembers(value).length > 0;
  if (isSeen && !isContainer(value)) return undefined;
  if ("then" in value && typeof value.then === "function") {
    return "a promise: await it";
  }
  if (!isOpaque(value)) return undefined;
  const name = value.constructor?.name || tagOf(value);
  const article = SPOKEN_AS_VOWEL.test(name) ? "an" : "a";
  return `${article} ${name}: JSON cannot represent it`;
}

/** Whether the content of a value is none of its properties, whichever it has besides. */
function isContainer(value: unknown): boolean {
  return Error.isError(value) || value instanceof Map || value instanceof Set;
}

/** The members of an object that JSON shows: a promise of a library may have methods of its own. */
function shownMembers(value: object): unknown[] {
  return Object.values(value).filter((member) =>
    member !== undefined && typeof member !== "function" &&
    typeof member !== "symbol"
  );
}

/** Whether the content of an object without properties is elsewhere, where JSON does not look for it. */
function isOpaque(value: object): boolean {
  const tag = tagOf(value);
  if (VALUES.has(tag)) return false;
  if (tag !== "Object") return true;
  if (Symbol.iterator in value || Symbol.asyncIterator in value) return true;
  for (
    let type: object | null = value;
    type !== null && type !== Object.prototype;
    type = Object.getPrototypeOf(type)
  ) {
    const members = Object.values(Object.getOwnPropertyDescriptors(type));
    const isOwn = type === value; // JSON.stringify has already called own getters
    const isHidden = ({ get, enumerable }: PropertyDescriptor): boolean =>
      get !== undefined && !(isOwn && enumerable);
    if (members.some(isHidden)) return true;
  }
  return false;
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
  // The first comparison only saves the expression for the default.
  return charset === "utf8" || /^utf-?8$/i.test(charset);
}
