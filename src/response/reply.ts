/**
 * Owns the response of a request, from the first line that is written to the web `Response`: status, headers,
 * body and seal. `HttpResponse` is what applications see of it.
 *
 * The body is a list of texts in the order of the calls. A list among them is a section: a place kept for
 * output that comes later, such as a render that nobody awaited. Clearing the body drops its sections
 * too: what is written to a dropped section is never sent.
 *
 * What code of an application writes goes through `HttpResponse` or its `Context`, which note that it has written
 * (`Context.noteWrite`): a mapped `json` that has written has responded.
 */

import { checkStatus } from "../errors.ts";
import { JSON_TYPE } from "../media_type.ts";
import {
  BYTE_HEADERS,
  checkHeader,
  type HeaderLines,
  type HeaderValue,
  isSealedWithBody,
  PAGE_HEADERS,
} from "./header.ts";
import { type BodyContent, checkUnread, discard } from "./stream.ts";
import { bytesIn, type Delivery, webResponse } from "./web_response.ts";

/** Texts in the order of the calls; a list among them is a section. */
export type Section = (string | Section)[];

/** The content that `respond()` puts in place of the content so far. A status or header that is not given stays. */
export interface ReplyInit {
  readonly status?: number | undefined;
  readonly text?: string;
  /** The content type of the text, HTML by default. A JSON type that was set before stays. */
  readonly type?: string | undefined;
  /** By their names in lower case, unchecked: each replaces a header of the same name. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Whether replies of exactly this object are sent as copies of one web response, whichever request and application they
   * are of: for short pages that are the same each time. A changed copy of the object has a response of its own.
   */
  readonly isShared?: boolean;
}

/** The reason of the seal by a response that a callback has returned. */
export const RETURNED = "a returned Response";

export class Reply {
  status = 200;
  /** The content type that came with the body; a header `content-type` takes precedence. */
  type: string | undefined = undefined;
  /** The headers, once one was set. */
  headers: HeaderLines | undefined = undefined;
  /** Bytes, a stream or a web response, sent instead of the texts. */
  content: Exclude<BodyContent, string> | Response | undefined = undefined;
  /** What sealed the response, such as a call: status and body cannot be changed any more. */
  sealedBy: string | undefined = undefined;
  /** Whether the web response was made: no header and no cookie can be added any more. */
  isMade = false;
  /**
   * Whether the seal, or a body that takes no text, has kept a response or a part of one from being written: when the
   * filtered method that has sealed the reply fails, `mapped_response.ts` makes that an error. Set without `ignore()`
   * where something else is logged, or the method says itself what it ignores.
   */
  hasIgnored = false;
  /** What the last `respond()` was given; a header may have been set since. */
  #init: ReplyInit | undefined = undefined;
  /** The page or the copy that is sent in place of this reply. */
  #successor: Reply | undefined = undefined;
  /** The texts; a list once a section was opened. */
  #text: string | Section = "";
  /** The section whose code has sealed the reply, and which takes no further text. */
  #sealedSection: Section | undefined = undefined;
  /** Of a copy: the content that is still that of the other reply, too. */
  #shared: Reply["content"] = undefined;

  /** Whether the status and the body cannot be changed any more. */
  get isSealed(): boolean {
    return this.sealedBy !== undefined;
  }

  /** Whether nothing was written, and no section was opened for later output. */
  get isEmpty(): boolean {
    return this.content === undefined && this.#text === "";
  }

  /**
   * This reply, or the one that is sent in its place: its status, headers and body go out. Whether code may still change
   * the response, `isSealed` of this one says: the other one is open for as long as its method takes.
   */
  get final(): Reply {
    return this.#successor?.final ?? this;
  }

  get body(): BodyContent | Response {
    if (this.content !== undefined) return this.content;
    return typeof this.#text === "string" ? this.#text : joined(this.#text);
  }

  /** How many bytes the body has by now; undefined for a stream. */
  get length(): number | undefined {
    return bytesIn(this.body);
  }

  /** Whether the body is a stream, other than that of a web response. */
  get isStream(): boolean {
    return this.content instanceof ReadableStream;
  }

  /**
   * What the last `respond()` was given, where its web response is shared and is that of this reply: all that a reply
   * sends has to be as `respond()` made it.
   */
  get sharedInit(): ReplyInit | undefined {
    const init = this.#init;
    if (!init?.isShared) return undefined;
    const { text, status, type, headers } = init;
    if (this.body !== text || this.status !== status || this.type !== type) {
      return undefined;
    }
    let others = this.headers?.size ?? 0;
    for (const name in headers) {
      const lines = this.headers?.get(name);
      if (lines?.length !== 1 || lines[0] !== headers[name]) return undefined;
      others -= 1;
    }
    return others === 0 ? init : undefined;
  }

  /** Sets the status; throws `RangeError` unless it is from 200 to 599. */
  setStatus(code: number): void {
    checkStatus("respond", code, 200, 599);
    if (this.isSealed) return this.ignore("status()");
    this.status = code;
  }

  /**
   * The value of a header, several joined by a comma; null when it is not set. When the body is a web response, its
   * headers take precedence, as they do when it is sent.
   */
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
   * the body or lead elsewhere stay; once the web response was made, all do. Throws `TypeError` for what cannot be
   * sent.
   */
  setHeader(name: string, value: HeaderValue): void {
    const key = name.toLowerCase();
    const lines = Array.isArray(value)
      ? [...value]
      : value === null
      ? []
      : [`${value}`];
    for (const line of lines) checkHeader(name, line);
    const isTooLate = this.isMade || this.isSealed && isSealedWithBody(key);
    if (isTooLate) this.ignore(`header("${name}")`);
    else this.#putHeader(key, lines);
  }

  /** Sets the line of a cookie; it replaces those of the same name. */
  addCookie(line: string): void {
    const [name] = line.split("=", 1);
    if (this.isMade) return this.ignore(`cookie("${name}")`);
    const headers: HeaderLines = this.headers ??= new Map();
    const others = headers.get("set-cookie")
      ?.filter((other) => !other.startsWith(`${name}=`)) ?? [];
    headers.set("set-cookie", [...others, line]);
  }

  /**
   * Appends text to the body, or to a section of it. Bytes and streams take no further text, and neither does a sealed
   * reply, but for the sections that were opened before: it waits for their output.
   */
  write(text: string, section?: Section): void {
    if (!this.#takes(section)) return this.ignore("write()");
    if (section !== undefined) section.push(text);
    else if (typeof this.#text === "string") this.#text += text;
    else this.#text.push(text);
  }

  /** Keeps a place in the body, or in a section of it, for later output. */
  openSection(section?: Section): Section {
    const opened: Section = [];
    if (!this.#takes(section)) {
      this.ignore("render()");
      return opened;
    }
    if (section !== undefined) section.push(opened);
    else if (Array.isArray(this.#text)) this.#text.push(opened);
    else this.#text = [this.#text, opened];
    return opened;
  }

  #takes(section: Section | undefined): boolean {
    return section === undefined
      ? !this.isSealed && this.content === undefined
      : section !== this.#sealedSection;
  }

  /** Drops the body, but not the given section, which is only emptied. */
  clearBody(section?: Section): void {
    if (this.isSealed) return this.ignore("clearBody()");
    this.#replaceBody("");
    if (section === undefined) return;
    section.length = 0;
    this.#text = [section];
  }

  /** Resets everything: status 200, no headers, no cookies, no body. */
  clear(section?: Section): void {
    if (this.isSealed) return this.ignore("clear()");
    this.status = 200;
    this.headers?.clear();
    this.clearBody(section);
  }

  /**
   * Replaces the body by text, bytes or a stream, perhaps of a media type; a JSON type that was set before
   * stays. A web response seals this one: it is sent as it is, with the collected headers and cookies added.
   * Throws `TypeError` for a body that was read or is being read.
   */
  setBody(content: BodyContent | Response, type?: string): void {
    checkUnread(content);
    if (this.isSealed) {
      discard(content);
      return this.ignore("body()");
    }
    this.#replaceBody(content, type);
    if (!(content instanceof Response)) return;
    this.status = content.status;
    this.seal(RETURNED);
  }

  /** Drops the body with the headers that describe it or let clients store it, whether or not it is sealed. */
  clearPage(): void {
    this.#replaceBody("");
    if (this.headers === undefined) return;
    for (const name of PAGE_HEADERS) this.headers.delete(name);
  }

  /** The headers that are true of exactly the bytes so far, for `dropByteHeaders()`. */
  byteHeaders(): HeaderLines {
    const found: HeaderLines = new Map();
    for (const name of BYTE_HEADERS) {
      const lines = this.headers?.get(name);
      if (lines !== undefined) found.set(name, lines);
    }
    return found;
  }

  /**
   * Drops the headers that are true of exactly the bytes which another body has replaced, sealed or not, unless they
   * were set anew for that one. `setBody()` and `write()` keep them: an application sets them before the body, too.
   */
  dropByteHeaders(replaced: HeaderLines): void {
    for (const [name, lines] of replaced) {
      if (this.headers?.get(name) === lines) this.headers.delete(name);
    }
  }

  /** Replaces the body and what else is given, and seals the response; when it is sealed, notes what is ignored. */
  respond(by: string, init: ReplyInit): void {
    const { status, text = "", type, headers } = init;
    if (status !== undefined) checkStatus("respond", status, 200, 599);
    if (!this.seal(by)) return;
    this.#init = init;
    this.status = status ?? this.status;
    this.#replaceBody(text, type);
    if (this.headers !== undefined) this.dropByteHeaders(this.byteHeaders());
    for (const name in headers) this.#putHeader(name, [headers[name]!]);
  }

  /**
   * Seals status and body as they are, with the section of the code that does it; returns false when they are sealed
   * already.
   */
  seal(by: string, section?: Section): boolean {
    if (this.isSealed) {
      this.ignore(by);
      return false;
    }
    this.sealedBy = by;
    this.#sealedSection = section;
    return true;
  }

  /** A new, empty one, for a page that is sent in place of this one. Both have the same map of headers. */
  empty(): Reply {
    // Of the same class: `src/debug/` extends it.
    const empty = new (this.constructor as new () => Reply)();
    empty.headers = this.headers ??= new Map();
    return empty;
  }

  /**
   * A copy, for the method that responds in place of the call which `giveWay()` names: it shares the headers. What
   * lands in the sections of this reply lands in the copy, too; other content of the copy is its own.
   */
  copy(): Reply {
    const copy = this.empty();
    const { status, type, content } = this;
    Object.assign(copy, { status, type, content });
    copy.#shared = content;
    copy.#text = typeof this.#text === "string" ? this.#text : [this.#text];
    return copy;
  }

  /**
   * Seals this reply by a call, with the section of the code that makes it, and has another one sent in its place.
   * It must not be sealed yet. Who fails to make that response calls `takeBack()` or `reopen()`: it counts as made
   * otherwise.
   */
  giveWay(other: Reply, by: string, section?: Section): void {
    this.seal(by, section);
    this.#successor = other;
  }

  /** Removes the seal, and the copy in place of this reply, whose own content so far stays. */
  takeBack(): void {
    const { content } = this.final;
    if (content !== undefined && content !== this.content) discard(content);
    this.sealedBy = this.#successor = this.#sealedSection = undefined;
    this.hasIgnored = false;
  }

  /**
   * Removes the seal, what is sent in place of this reply, and the body: making the response, or a page, has failed. The
   * status and the headers stay.
   */
  reopen(): void {
    this.takeBack();
    this.isMade = false;
    this.#replaceBody("");
  }

  /**
   * Seals the reply and makes the web response of it, without a body for HEAD. Its headers may be fixed, as those of a
   * response of `fetch()`: set headers on what `mutable()` returns for it. When that fails, the reply is open again.
   */
  toResponse(delivery: Delivery): Response {
    const final = this.#close();
    try {
      return webResponse(final, delivery);
    } catch (error) {
      this.reopen();
      throw error;
    }
  }

  /** Seals this reply and the one that is sent in its place, headers and all; returns what is sent. */
  #close(): Reply {
    this.sealedBy ??= "the end of the request";
    this.isMade = true;
    if (this.#successor === undefined) return this;
    const sent = this.#successor.#close();
    const { content } = this;
    if (content !== undefined && content !== sent.content) discard(content);
    return sent;
  }

  /** Takes the web response that `send` puts in place of the made one: it is what the status and the length are of. */
  replaceMade(response: Response): void {
    const { final } = this;
    final.content = response;
    final.status = response.status;
  }

  /** Called instead of a change after the seal; `src/debug/` reports the ignored call. */
  ignore(_call: string): void {
    this.hasIgnored = true;
  }

  /** Sets a header by its name in lower case, or removes it. */
  #putHeader(name: string, lines: readonly string[]): void {
    if (name === "content-type") this.type = undefined;
    if (lines.length > 0) (this.headers ??= new Map()).set(name, lines);
    else this.headers?.delete(name);
  }

  /** Replaces the body. A type replaces that of the header, unless both are JSON. */
  #replaceBody(content: BodyContent | Response, type?: string): void {
    const isText = typeof content === "string";
    const { content: before } = this;
    if (before !== undefined && before !== this.#shared) discard(before);
    this.content = isText ? undefined : content;
    this.#text = isText ? content : "";
    this.type = type;
    if (type === undefined || this.headers === undefined) return;
    const [set = ""] = this.headers.get("content-type") ?? [];
    const isJson = JSON_TYPE.test(set) && JSON_TYPE.test(type);
    if (!isJson) this.headers.delete("content-type");
  }
}

function joined(section: Section): string {
  return section.map((each) => typeof each === "string" ? each : joined(each))
    .join("");
}
