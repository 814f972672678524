/**
 * Owns the response of a request, from the first line that is written to the seal: status, headers and body.
 * `HttpResponse` is what applications see of it; `web_response.ts` makes a web `Response` of it.
 *
 * The body is a list of texts in the order of the calls. A list among them is a section: a place kept for output that
 * comes later, such as a render that nobody awaited.
 */

import { checkStatus } from "../errors.ts";
import { JSON_TYPE } from "../http.ts";
import {
  BYTE_HEADERS,
  checkHeader,
  cookieKey,
  type HeaderLines,
  type HeaderValue,
  isSealedWithBody,
  PAGE_HEADERS,
} from "./header.ts";
import { type BodyContent, discard } from "./stream.ts";

/** Texts in the order of the calls; a list among them is a section. */
export type Section = (string | Section)[];

/** The content that takes the place of the content so far. What is not given stays. */
export interface Content {
  readonly status?: number | undefined;
  readonly text?: string;
  /** The content type of the text, HTML by default. A JSON type that was set before stays. */
  readonly type?: string | undefined;
  /** By their names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

export class Reply {
  status = 200;
  /** The content type that came with the body; a header `content-type` takes precedence. */
  type: string | undefined = undefined;
  headers: HeaderLines | undefined = undefined;
  body: Section = [];
  /** Bytes, a stream or a web response, sent instead of the texts. */
  content: Exclude<BodyContent, string> | Response | undefined = undefined;
  /** What sealed the response, such as a call: status and body cannot be changed any more. */
  sealedBy: string | undefined = undefined;
  /** Whether a method that responds alone is under way: it will seal this reply, or release it. */
  isClaimed = false;
  /** Whether the web response was made: no header and no cookie can be added any more. */
  isMade = false;
  /** The status with which the page of an error began. */
  pageStatus: number | undefined = undefined;

  get isSealed(): boolean {
    return this.sealedBy !== undefined;
  }

  get isEmpty(): boolean {
    return this.content === undefined && this.body.length === 0;
  }

  /** The text of the body. */
  get text(): string {
    const { body } = this;
    const [first] = body;
    return body.length === 1 && typeof first === "string"
      ? first
      : joined(body);
  }

  /** Sets the status; throws `RangeError` unless it is from 200 to 599. */
  setStatus(code: number): void {
    checkStatus("respond", code, 200, 599);
    if (!this.isSealed) this.status = code;
  }

  /** The value of a header, several joined by a comma; null when it is not set. */
  header(name: string): string | null {
    const key = name.toLowerCase();
    const { content } = this;
    const isWeb = content !== undefined && content instanceof Response;
    const sent = isWeb ? content.headers.get(key) : null;
    if (sent !== null) return sent;
    const isType = key === "content-type";
    return this.headers?.get(key)?.join(", ") ?? (isType && this.type || null);
  }

  /**
   * Sets a header; a list sets several lines, null or an empty list removes it. After the seal, those that describe
   * the body or lead elsewhere stay. Throws `TypeError` for what cannot be sent.
   */
  setHeader(name: string, value: HeaderValue): void {
    const key = name.toLowerCase();
    let lines: readonly string[] = [];
    if (Array.isArray(value)) lines = [...value];
    else if (value !== null) lines = [`${value}`];
    for (const line of lines) checkHeader(name, line);
    if (this.isMade || this.isSealed && isSealedWithBody(key)) return;
    this.#putHeader(key, lines);
  }

  /** Sets the line of a cookie; it replaces that of the same cookie. */
  addCookie(line: string): void {
    if (this.isMade) return;
    const headers: HeaderLines = this.headers ??= new Map();
    const key = cookieKey(line);
    const others = headers.get("set-cookie")
      ?.filter((other) => cookieKey(other) !== key) ?? [];
    headers.set("set-cookie", [...others, line]);
  }

  /** Appends text to a section, by default the body. A sealed body takes none, but the sections in it still do. */
  write(text: string, section: Section = this.body): undefined {
    if (text === "") return;
    if (section === this.body && (this.isSealed || this.content)) return;
    section.push(text);
  }

  /** Keeps a place in a section for later output. */
  openSection(section: Section): Section {
    const opened: Section = [];
    if (!this.isSealed) section.push(opened);
    return opened;
  }

  /** Drops the body. */
  clearBody(): void {
    if (!this.isSealed) this.#replaceBody();
  }

  /** Resets everything: status 200, no headers, no cookies, no body. */
  clear(): void {
    if (this.isSealed) return;
    this.status = 200;
    this.headers?.clear();
    this.#replaceBody();
  }

  /** Drops the body with the headers that describe it or let clients store it, and begins with another status. */
  startPage(status: number): void {
    this.#replaceBody();
    this.status = this.pageStatus = status;
    this.#drop(PAGE_HEADERS);
  }

  /** Replaces the body. A web response seals the reply: it is sent with the collected headers and cookies. */
  setContent(
    content: Exclude<BodyContent, string> | Response,
    type?: string,
  ): undefined {
    if (this.isSealed) return discard(content);
    this.#replaceBody();
    this.content = content;
    this.#setType(type);
    if (!(content instanceof Response)) return;
    this.status = content.status;
    this.seal("a returned Response");
  }

  /** Replaces the body by a text, and what else is given. */
  replace({ status, text = "", type, headers }: Content): void {
    if (status !== undefined) checkStatus("respond", status, 200, 599);
    if (this.isSealed) return;
    this.status = status ?? this.status;
    this.#replaceBody();
    if (text !== "") this.body.push(text);
    this.#setType(type);
    this.#drop(BYTE_HEADERS);
    for (const name in headers) this.#putHeader(name, [headers[name]!]);
  }

  /** Seals status and body; the first seal wins. */
  seal(by: string): void {
    this.sealedBy ??= by;
  }

  /** Undoes the seal: what sealed the reply has failed. */
  reopen(): void {
    this.sealedBy = undefined;
    this.isClaimed = false;
  }

  // A method that responds alone: it claims the reply of its caller, writes to a successor, and in the end the caller's
  // reply adopts what that has.

  /** An empty reply with the same headers and cookies. */
  successor(): Reply {
    const successor = new Reply();
    successor.status = this.status;
    successor.headers = this.headers ??= new Map();
    return successor;
  }

  /** Seals the reply for a method that responds alone, until that is done, or has failed and reopens it. */
  claim(by: string): void {
    this.#drop(BYTE_HEADERS);
    this.seal(by);
    this.isClaimed = true;
  }

  /** Takes over the response of the method that has claimed this reply. */
  adopt(own: Reply, by: string): void {
    this.#replaceBody();
    const { status, type, body, content } = own;
    Object.assign(this, { status, type, body, content });
    this.sealedBy = by;
    this.isClaimed = false;
    own.seal(by);
  }

  #putHeader(name: string, lines: readonly string[]): void {
    if (name === "content-type") this.type = undefined;
    if (lines.length > 0) (this.headers ??= new Map()).set(name, lines);
    else this.headers?.delete(name);
  }

  #drop(names: readonly string[]): void {
    if (this.headers === undefined || this.headers.size === 0) return;
    for (const name of names) this.headers.delete(name);
  }

  #replaceBody(): void {
    if (this.content !== undefined) discard(this.content);
    this.content = undefined;
    this.type = undefined;
    if (this.body.length > 0) this.body.length = 0;
  }

  /** Sets the type of the body. It replaces that of the header, unless both are JSON. */
  #setType(type: string | undefined): void {
    this.type = type;
    const set = this.headers?.get("content-type");
    if (set === undefined || type === undefined) return;
    const areJson = JSON_TYPE.test(set[0]!) && JSON_TYPE.test(type);
    if (!areJson) this.headers!.delete("content-type");
  }
}

function joined(section: Section): string {
  let text = "";
  for (const part of section) {
    text += typeof part === "string" ? part : joined(part);
  }
  return text;
}
