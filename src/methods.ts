/**
 * Owns what the extensible methods do by default. The engine maps each of them through the same door
 * as a user's method, so each can be replaced and filtered by its name.
 */

import {
  entityTag,
  matchesStrongly,
  namesTag,
  unmodifiedSince,
} from "./caching.ts";
import { HttpError, reportError, throwStop, toError } from "./errors.ts";
import { encodeJson } from "./json.ts";
import { page } from "./pages.ts";
import type { HttpRequest } from "./request.ts";
import { CONTENT_HEADERS, type HttpResponse } from "./response.ts";
import type { Match, Router } from "./router.ts";
import type { Scope } from "./scope.ts";
import type { Settings } from "./settings.ts";
import { run, type Steps } from "./steps.ts";
import { markup, type View } from "./view.ts";

/** What the default methods need of the engine. */
export interface Application {
  /** The scope of the current request; throws outside one, naming the call. */
  scope(call: string): Scope;
  /** Runs `start` with its filters for the current request. */
  start(): unknown;
  /** Keeps work that outlives its request known, for the server to wait for. */
  background(work: Promise<unknown>): void;
  /** Calls an extensible method with its filters. */
  call(name: string, ...params: unknown[]): unknown;
  /** Invokes the callback of a matched route. */
  invoke(match: Match): unknown;
  /** The value of a setting. */
  setting<Key extends keyof Settings>(key: Key): Settings[Key];
  /** The base path, without a slash at its end. */
  base(): string;
  request(): HttpRequest;
  response(): HttpResponse;
  router(): Router;
  view(): View;
}

/** A default method; the engine is bound as its first parameter. */
// deno-lint-ignore no-explicit-any -- each method has parameters of its own
export type DefaultMethod = (app: Application, ...params: any[]) => unknown;

/** The default of every extensible method. */
export const defaultMethods: Readonly<Record<string, DefaultMethod>> = {
  start,
  stop,
  halt,
  redirect,
  render,
  error,
  notFound,
  etag,
  lastModified,
  json,
  jsonp,
  getUrl: (app, alias, params) =>
    app.base() + app.router().getUrl(alias, params),
  route: (app, ...params) =>
    app.router().route(...params as Parameters<Router["route"]>),
  group: (app, ...params) =>
    app.router().group(...params as Parameters<Router["group"]>),
  post: (app, ...params) =>
    app.router().post(...params as Parameters<Router["post"]>),
  put: (app, ...params) =>
    app.router().put(...params as Parameters<Router["put"]>),
  patch: (app, ...params) =>
    app.router().patch(...params as Parameters<Router["patch"]>),
  delete: (app, ...params) =>
    app.router().delete(...params as Parameters<Router["delete"]>),
  defer,
};

/** Answers the current request: the first matching route, and the next one while they pass. */
function start(app: Application): unknown {
  const { target } = app.scope("start()").visit;
  const path = withoutBase(target.path, app.base());
  const caseSensitive = app.setting("framework.case_sensitive");
  const match = app.router().match(target.method, path, caseSensitive);
  if (match !== undefined) return run(follow(app, match));
  return unmatched(app, target.method, path, caseSensitive);
}

function* follow(app: Application, first: Match): Steps<unknown> {
  let match: Match | undefined = first;
  while (match !== undefined) {
    app.scope("start()").root.match = match;
    const outcome = yield app.invoke(match);
    if (outcome !== true) return answer(app, outcome);
    match = app.router().next(match);
  }
  return yield app.call("notFound");
}

/** What a path without a route for the method answers: the allowed methods, or nothing is found. */
function unmatched(
  app: Application,
  method: string,
  path: string,
  caseSensitive: boolean,
): unknown {
  const allowed = app.router().allowed(path, caseSensitive);
  if (allowed.length === 0) return app.call("notFound");
  const response = app.response().header("allow", allowed.join(", "));
  if (method === "OPTIONS") {
    response.answer("the answer to OPTIONS", 204);
    return;
  }
  if (app.setting("framework.method_not_allowed")) throw new HttpError(405);
  return app.call("notFound");
}

/** Sends what a callback returned; incidental values, such as an object's own chain, are no answer. */
export function answer(app: Application, outcome: unknown): unknown {
  if (
    outcome === undefined || outcome === null || typeof outcome === "boolean"
  ) return;
  if (typeof outcome === "string") return void app.response().write(outcome);
  if (typeof outcome !== "object") return;
  if (outcome instanceof Response) return app.response().send(outcome);
  if (isPlain(outcome)) return app.call("json", outcome);
  if (outcome instanceof ReadableStream || isBytes(outcome)) {
    return void app.response().body(outcome);
  }
  if (Symbol.asyncIterator in outcome) {
    return void app.response().body(
      ReadableStream.from(outcome as AsyncIterable<unknown>),
    );
  }
}

function defer(app: Application, work: () => unknown): void {
  if (typeof work !== "function") {
    throw new TypeError(
      `Cannot defer ${Deno.inspect(work)}: it is no function`,
    );
  }
  const { root } = app.scope("defer()");
  root.defer(work);
}

function stop(app: Application, code?: number): never {
  const response = app.response();
  if (code !== undefined) response.status(code);
  response.seal("stop()");
  throwStop();
}

function halt(app: Application, code = 200, message = ""): never {
  app.response().answer("halt()", code, message);
  throwStop();
}

function redirect(app: Application, url: string, code = 303): void {
  if (!Number.isInteger(code) || code < 300 || code > 399) {
    throw new RangeError(
      `Cannot redirect: the status must be 300 to 399, got "${code}"`,
    );
  }
  app.response().answer("redirect()", code, "", {
    location: location(url, app.base()),
  });
}

function json(
  app: Application,
  data: unknown,
  code?: number,
  encode = true,
  charset = "utf8",
  option = 0,
): void {
  const text = encode ? encodeJson(data, option) : String(data);
  const response = app.response();
  response.answer("json()", code ?? response.status(), text, {
    "content-type": `application/json; charset=${charsetName(charset)}`,
  });
}

function jsonp(
  app: Application,
  data: unknown,
  param = "jsonp",
  code?: number,
  encode = true,
  charset = "utf8",
  option = 0,
): void {
  const callback = app.request().query[param];
  if (
    typeof callback !== "string" || callback.length > 128 ||
    !CALLBACK.test(callback)
  ) {
    throw new HttpError(
      400,
      `The query parameter "${param}" must name a JavaScript function`,
    );
  }
  const text = (encode ? encodeJson(data, option) : String(data))
    .replace(
      /[<\u2028\u2029]/g,
      (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  const response = app.response();
  response.answer(
    "jsonp()",
    code ?? response.status(),
    `${callback}(${text});`,
    {
      "content-type": `application/javascript; charset=${charsetName(charset)}`,
      "x-content-type-options": "nosniff",
    },
  );
}

/** Sets the validator; ends with 304 when the client's is current (RFC 9110, section 13.1.2). */
function etag(app: Application, id: string, type = "string"): void {
  const tag = entityTag(id, type);
  const response = app.response().header("etag", tag);
  const { headers, method } = app.request().raw;
  const match = headers.get("if-match");
  if (match !== null && !matchesStrongly(match, tag)) {
    return fails(response, "etag()");
  }
  const noneMatch = headers.get("if-none-match");
  if (noneMatch === null || !namesTag(noneMatch, tag)) return;
  if (method === "GET" || method === "HEAD") notModified(response, "etag()");
  fails(response, "etag()");
}

/** Sets the date; ends with 304 when the client's copy is as new (RFC 9110, section 13.1.3). */
function lastModified(app: Application, time: number): void {
  const date = new Date(Math.floor(time) * 1000);
  if (typeof time !== "number" || Number.isNaN(date.getTime())) {
    throw new RangeError(
      `Cannot set Last-Modified: it must be a UNIX timestamp, got "${time}"`,
    );
  }
  const response = app.response().header("last-modified", date.toUTCString());
  const { headers, method } = app.request().raw;
  const since = headers.get("if-modified-since");
  if (since === null || headers.has("if-none-match")) return;
  if (method !== "GET" && method !== "HEAD") return;
  if (unmodifiedSince(since, Math.floor(time))) {
    notModified(response, "lastModified()");
  }
}

function notModified(response: HttpResponse, by: string): never {
  if (!response.sent) {
    for (const name of CONTENT_HEADERS) response.header(name, null);
  }
  response.answer(by, 304);
  throwStop();
}

function fails(response: HttpResponse, by: string): never {
  response.answer(by, 412);
  throwStop();
}

function notFound(app: Application): void {
  const { type, text } = page(app.request().raw, 404, "");
  app.response().answer("notFound()", 404, text, { "content-type": type });
}

function error(app: Application, thrown: unknown): void {
  const failure = toError(thrown);
  if (app.setting("framework.log_errors")) {
    reportError(failure, "while handling a request");
  }
  const known = failure instanceof HttpError ? failure : undefined;
  const status = known?.status ?? 500;
  const message = known?.message ?? "The server could not answer this request";
  const { type, text } = page(app.request().raw, status, message);
  const headers = {
    ...Object.fromEntries(known?.headers ?? []),
    "content-type": type,
  };
  const response = app.response();
  if (!response.sent) {
    for (const name of STORED_HEADERS) response.header(name, null);
  }
  response.answer("error()", status, text, headers);
}

/** What would let a client keep an error in place of the page. */
const STORED_HEADERS = [
  ...CONTENT_HEADERS,
  "etag",
  "last-modified",
  "cache-control",
  "expires",
];

/** Marks what is still being stored under a key: later renders of the request wait for it. */
const STORING = {};

/** Renders a template into the body, at the place of the call, or under a key for later templates. */
function render(
  app: Application,
  file: string,
  data: Record<string, unknown> = {},
  key?: string,
): Promise<void> {
  const scope = app.scope("render()");
  const view = app.view();
  const section = key === undefined ? app.response().section() : undefined;
  const storing = scope.layer(STORING) as Promise<unknown> | undefined;
  const html = storing
    ? storing.then(() => view.fetch(file, data))
    : view.fetch(file, data);
  const rendered = html.then((text) => {
    if (section) section.write(text);
    else view.set(key as string, markup(text));
  });
  if (key !== undefined) {
    scope.setLayer(STORING, rendered.then(() => {}, () => {}));
  }
  return rendered;
}

const CALLBACK =
  /^[\p{ID_Start}$_][\p{ID_Continue}$]*(?:\.[\p{ID_Start}$_][\p{ID_Continue}$]*)*$/u;

/** A target as it may stand in `Location`: encoded, relative ones on this site and under the base. */
function location(url: string, base: string): string {
  const target = String(url).trim();
  // deno-lint-ignore no-control-regex -- control characters are what must be found
  if (/[\x00-\x1f\x7f]/.test(target)) {
    throw new TypeError(
      `Cannot redirect to ${JSON.stringify(url)}: it has control characters`,
    );
  }
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(target)?.[1]?.toLowerCase();
  if (scheme === "javascript" || scheme === "data" || scheme === "vbscript") {
    throw new TypeError(
      `Cannot redirect to "${url}": the scheme "${scheme}" runs code`,
    );
  }
  if (scheme !== undefined) {
    if (URL.canParse(target)) return new URL(target).href;
    throw new TypeError(`Cannot redirect to "${url}": it is not a URL`);
  }
  if (/^[?#]/.test(target)) return encodeURI(target).replaceAll("%25", "%");
  const path = `${base}/${target.replace(/^[/\\]+/, "")}`;
  const { pathname, search, hash } = new URL(path, "http://localhost");
  return pathname.replace(/^\/+/, "/") + search + hash;
}

/** The path below the base; one that does not lie below it stays as it is. */
function withoutBase(path: string, base: string): string {
  if (base === "" || !path.startsWith(base)) return path;
  const rest = path.slice(base.length);
  return rest === "" || rest.startsWith("/") ? rest || "/" : path;
}

function charsetName(charset: string): string {
  return /^utf-?8$/i.test(charset) ? "utf-8" : charset;
}

function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function isBytes(value: object): value is Uint8Array | ArrayBuffer | Blob {
  return value instanceof Uint8Array || value instanceof ArrayBuffer ||
    value instanceof Blob;
}
