/**
 * Owns the canonical target of a request: the one path that routing, groups, middleware and file
 * serving read, and which hosts are served.
 *
 * `request.url` cannot be it: the runtime puts it together from the unchecked `Host` header, so that
 * a header could choose the route. The path is taken from the request target as it was sent, and
 * made what the URL standard makes of it, so that whoever parses the URL again sees the same path.
 */

import { HttpError } from "../errors.ts";
import { headerOf } from "../runtime.ts";

/** What a request asks for. */
export interface Target {
  readonly method: string;
  /** The path, still encoded: it begins with a slash and has no dot segments. */
  readonly path: string;
  /** The query with its question mark, still encoded, or nothing. */
  readonly search: string;
}

/** The target that stands for a request whose own is malformed. */
export const NO_TARGET: Target = { method: "GET", path: "/", search: "" };

/**
 * A host with its port. RFC 3986 (section 3.2.2) allows more characters than any name has; quotes
 * and the like would only reach applications that build links of the host.
 */
const HOST = /^(?:[\w-]+(?:\.[\w-]+)*\.?|\[[\da-f:.]+\])(?::\d*)?$/i;

/** The port of a host; an IPv6 address ends with a bracket. */
const PORT = /:\d*$/;

/** A URL whose authority has to be looked at; the runtime names a Unix socket in the scheme. */
const ABSOLUTE = /^https?(\+unix)?:\/\/([^/?#\\]*)([^]*)$/i;

/** What a target has that is no plain path: a query, an escape, or what the URL standard would change. */
const NOT_PLAIN = /[^!$&-;=@-[\]_a-z|~]|\/\./;

/** What the URL standard would change in a path: some characters, and what may be a dot segment. */
const ODD_PATH = /[^!$-;=@-[\]_a-z|~]|\/(?:\.|%2[eE])/;

/** What the URL standard would change in a query. */
const ODD_SEARCH = /[^!$-&(-;=?-~]/;

// deno-lint-ignore no-control-regex -- control characters are what must be found
const MALFORMED = /^[^?]*[\\\x00-\x20\x7f]|[#\x00-\x20\x7f]/;

/**
 * Takes the target from a request, the same whichever way it is spelled. A foreign absolute-form is
 * its own path: routes do not depend on hosts (RFC 9112, section 3.2.2).
 *
 * Throws {@linkcode HttpError} 400 when the target or a host is malformed, also for an escape that
 * is no UTF-8, and for a NUL, at which a file system would end the path.
 */
export function targetOf(request: Request): Target {
  const { url, method } = request;
  const sent = originForm(url, headerOf(request, "host") ?? "");
  if (!NOT_PLAIN.test(sent)) return { method, path: sent, search: "" };
  const question = sent.indexOf("?");
  const path = question === -1 ? sent : sent.slice(0, question);
  const search = question === -1 ? "" : sent.slice(question);
  if (path.includes("%")) checkEscapes(path);
  const isOdd = path === "" || ODD_PATH.test(path) ||
    search !== "" && ODD_SEARCH.test(search);
  return isOdd
    ? { method, ...canonical(path, search) }
    : { method, path, search };
}

/**
 * Throws {@linkcode HttpError} 421 when a request names a host that is not allowed; with null every
 * host is. An allowed host without a port stands for all its ports. Of an absolute-form, which can
 * differ from the `Host` header, both must be allowed: nobody knows which one the application reads.
 */
export function checkHost(
  request: Request,
  allowed: readonly string[] | null,
): void {
  if (allowed === null) return;
  const [authority = ""] = request.url.split("://", 2)[1]?.split(/[/?]/, 1) ??
    [];
  const host = headerOf(request, "host") || authority;
  for (const named of host === authority ? [host] : [host, authority]) {
    if (!allowed.some((name) => isNamed(named, name))) {
      throw new HttpError(421, `The host "${named}" is not served here`);
    }
  }
}

/** Whether a text is a host, with or without a port, as a `Host` header may name it. */
export function isHost(text: unknown): boolean {
  return typeof text === "string" && HOST.test(text) &&
    URL.canParse(`http://${text}`);
}

/** The last host that was in order, and how a URL of it begins: most requests name the same one. */
let usual = { host: "", origin: " " };

/** The target without its authority. */
function originForm(url: string, host: string): string {
  if (host === usual.host && url.startsWith(usual.origin)) {
    return url.slice(usual.origin.length - 1);
  }
  if (host === "") return withoutAuthority(url);
  check(host, "Host header", host);
  const origin = `${url.startsWith("https:") ? "https" : "http"}://${host}/`;
  if (!url.startsWith(origin)) return withoutAuthority(url);
  usual = { host, origin };
  return url.slice(origin.length - 1);
}

/** An authority without a path, which only CONNECT sends, asks for a proxy: there is none here. */
function withoutAuthority(url: string): string {
  const [, socket, host = "", sent = ""] = ABSOLUTE.exec(url) ?? [];
  if (!/^[/?]/.test(sent)) throw malformed("request target", url);
  if (socket === undefined) check(host, "request target", url);
  return sent;
}

function check(host: string, place: string, text: string): void {
  if (!isHost(host)) throw malformed(place, text);
}

/** Escapes must be UTF-8, as nothing else is a path's text, and no NUL. */
function checkEscapes(path: string): void {
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    throw malformed("request target", path);
  }
  if (decoded.includes("\0")) throw malformed("request target", path);
}

/** What the URL standard makes of a target that is well-formed. */
function canonical(
  path: string,
  search: string,
): { path: string; search: string } {
  const sent = path + search;
  if (MALFORMED.test(sent)) throw malformed("request target", sent);
  const url = new URL(`http://localhost${sent}`);
  return { path: url.pathname, search: url.search };
}

function malformed(what: string, text: string): HttpError {
  const shown = text.length > 100 ? `${text.slice(0, 100)}…` : text;
  return new HttpError(
    400,
    `The ${what} is malformed: ${JSON.stringify(shown)}`,
  );
}

/** Whether a host is the named one; names have no case, and a dot at the end changes nothing. */
function isNamed(host: string, name: string): boolean {
  if (host === name) return true;
  const hasPort = PORT.test(name);
  return plain(hasPort ? host : host.replace(PORT, "")) === plain(name);
}

function plain(host: string): string {
  return host.toLowerCase().replace(/\.(?=:|$)/, "");
}
