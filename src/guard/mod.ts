/**
 * Keeps other sites from acting in a visitor's name, and sets the usual security headers.
 *
 * A request that may change something, or that opens a WebSocket, is refused with 403 when the browser says
 * that it comes from another origin: when `Sec-Fetch-Site` is neither `same-origin` nor `none` or, without that
 * header, when `Origin` is not the host. A request with neither header does not come from a browser, carries no
 * visitor's cookies, and passes. Forms therefore need no tokens, but GET and HEAD must not change anything.
 *
 * Behind a proxy that changes the `Host`, set `framework.trust_proxy`. An origin that `cors` allows to write
 * must be `trusted` here too: `cors` says who may read responses, `guard` who may change something. Call `guard`
 * before you add filters of `start` or `send`: a filter that returns `false` ends the chain, here that of the headers.
 *
 * Every response gets these headers, error pages too, unless it has one of that name already:
 *
 * | header | value |
 * | --- | --- |
 * | `X-Content-Type-Options` | `nosniff` |
 * | `Referrer-Policy` | `strict-origin-when-cross-origin` |
 * | `Cross-Origin-Opener-Policy` | `same-origin` |
 * | `X-Frame-Options` | `SAMEORIGIN` |
 *
 * With `nonce: true`, a Content Security Policy allows the inline scripts and styles of the site's own templates: the
 * nonce of the request is in the header, and in every template, as in `<script nonce="{{ nonce }}">`.
 *
 * Guide: [docs/sessions.md](./docs/sessions.md)
 *
 * @example
 * ```ts
 * import { Engine } from "@framework/core";
 * import { guard } from "@framework/core/guard";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * guard(app, {
 *   trusted: ["https://accounts.example.com"],
 *   headers: { "content-security-policy": "default-src 'self'" },
 * });
 * app.route("POST /transfer", () => "done");
 *
 * const headers = { origin: "https://evil.example" };
 * const init = { method: "POST", headers };
 * const request = new Request("http://localhost/transfer", init);
 * const response = await app.fetch(request);
 * assertEquals(response.status, 403);
 * assertEquals(response.headers.get("x-content-type-options"), "nosniff");
 * ```
 *
 * @example A policy with a nonce
 * ```ts
 * import { Engine } from "@framework/core";
 * import { guard } from "@framework/core/guard";
 * import { assertMatch } from "@std/assert";
 *
 * const app = new Engine();
 * guard(app, {
 *   nonce: true,
 *   headers: { "content-security-policy": "default-src 'self'" },
 * });
 * app.route("/", () => `<script nonce="${app.view().get("nonce")}">…</script>`);
 *
 * const { headers } = await app.fetch("/");
 * const policy = headers.get("content-security-policy")!;
 * assertMatch(policy, /^default-src 'self' 'nonce-[\w-]+'$/);
 * ```
 *
 * @example An API with tokens for another site, beside pages with sessions
 * ```ts
 * import { Engine } from "@framework/core";
 * import { cors } from "@framework/core/cors";
 * import { guard } from "@framework/core/guard";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * const client = "https://client.example";
 * guard(app, {
 *   trusted: (origin) =>
 *     origin === client && app.request().url.startsWith("/api/"),
 * });
 * cors(app, { path: "/api", origins: [client] });
 * app.route("POST /api/notes", () => {
 *   const token = app.request().getHeader("authorization");
 *   return token === "Bearer secret" ? "written" : app.halt(401);
 * });
 * app.route("POST /account", () => "changed");
 *
 * const headers = { origin: client, authorization: "Bearer secret" };
 * const statusOf = async (path: string) =>
 *   (await app.fetch(
 *     new Request(`http://localhost${path}`, { method: "POST", headers }),
 *   )).status;
 * assertEquals(await statusOf("/api/notes"), 200);
 * assertEquals(await statusOf("/account"), 403);
 * ```
 *
 * @module
 */

import type { Engine, Framework, HttpRequest } from "../../mod.ts";
import { refusal, wrongKind } from "../errors.ts";
import { checkOrigin, SAFE_METHODS } from "../http.ts";
import { checkOptions, checkRecord } from "../options.ts";
import { report } from "../report.ts";

/** Decides whether an origin is trusted: only `true` means yes. */
export type TrustsOrigin = (origin: string) => boolean | Promise<boolean>;

/** The options of {@linkcode guard}. */
export interface GuardOptions {
  /**
   * Other origins whose pages may send forms here, such as `["https://example.com"]`: a list of origins and of
   * functions that decide about one, or a single function. A function may read `request()`.
   */
  readonly trusted?: TrustsOrigin | readonly (string | TrustsOrigin)[];
  /** Further headers for every response, or other values of the usual ones; null leaves one out. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /**
   * Whether each request has a nonce: in `view().get("nonce")`, and in the sources of scripts and styles of the
   * `content-security-policy` in `headers`, unless these allow `'unsafe-inline'`, which a nonce would switch off.
   * Without such a header, the policy is `script-src 'self' 'nonce-…'; object-src 'none'; base-uri 'none'`. False by
   * default.
   */
  readonly nonce?: boolean;
}

/** The headers that every response gets. */
const HEADERS: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "strict-origin-when-cross-origin",
  "cross-origin-opener-policy": "same-origin",
  "x-frame-options": "SAMEORIGIN",
};

const POLICY = "content-security-policy";

/** The policy of a nonce where none is given. */
const NONCE_POLICY = "script-src 'self'; object-src 'none'; base-uri 'none'";

/** The directives that take a nonce (CSP, section 6.1); `default-src` stands for those that are not named. */
const WITH_NONCE =
  /^\s*(?:default-src|(?:script|style)-src(?:-elem)?)(?![-\w])(?!.*'unsafe-inline')/i;

/** The `Sec-Fetch-Site` of requests by the site's own pages and by the visitor (Fetch Metadata, section 2.2). */
const THIS_SITE: ReadonlySet<string> = new Set(["same-origin", "none"]);

/**
 * Guards an application against requests from other sites, and sets security headers.
 *
 * Throws `TypeError` when an option has an unknown name, a trusted origin is malformed, a header cannot be sent, or
 * `nonce` is not a boolean.
 */
export function guard(
  app: Engine | typeof Framework,
  options: GuardOptions = {},
): void {
  checkGuard(options);
  const { nonce = false } = options;
  const trusted = [options.trusted ?? []].flat();
  const headers = [...guardHeaders(options)]; // a list, since reading Headers takes longer
  const nonces = new WeakMap<HttpRequest, string>();
  app.before("start", () => {
    const request = app.request();
    if (nonce) {
      const made = crypto.randomUUID();
      nonces.set(request, made);
      app.view().set("nonce", made);
    }
    if (!mayChange(request) || isFromThisSite(request)) return;
    return refuseUntrusted(app, trusted);
  });
  app.after("send", (_params, { value: sent }) => {
    for (const [name, value] of headers) {
      const takesNonce = nonce && name.startsWith(POLICY);
      // After a 304, a client shows the page that it has, with the nonce of that.
      if (sent.headers.has(name) || takesNonce && sent.status === 304) continue;
      const made = takesNonce && nonces.get(app.request());
      sent.headers.set(name, made ? withNonce(value, made) : value);
    }
  });
}

function checkGuard(options: GuardOptions): void {
  const action = "guard the application";
  checkOptions(action, options, ["trusted", "headers", "nonce"]);
  for (const origin of [options.trusted ?? []].flat()) {
    if (typeof origin !== "function") checkOrigin("trust", origin);
  }
  const { nonce = false } = options;
  if (typeof nonce === "boolean") return;
  throw wrongKind(action, '"nonce" must be true or false', nonce);
}

function guardHeaders({ headers: given = {}, nonce }: GuardOptions): Headers {
  const headers = new Headers(HEADERS);
  if (nonce) headers.set(POLICY, NONCE_POLICY);
  const rule = 'they must be a record such as { "x-frame-options": "DENY" }';
  checkRecord("set the headers of every response", rule, given);
  for (const [name, value] of Object.entries(given)) {
    if (value === null) headers.delete(name);
    else if (typeof value === "string") headers.set(name, value);
    else {
      const rule = "it must be text, or null to leave it out";
      throw wrongKind(`set the header "${name}"`, rule, value);
    }
  }
  return headers;
}

/** A policy whose sources of scripts and styles include a nonce. */
function withNonce(policy: string, nonce: string): string {
  return policy.split(";").map((directive) =>
    WITH_NONCE.test(directive) ? `${directive} 'nonce-${nonce}'` : directive
  ).join(";");
}

/** Whether a request may change something. A WebSocket begins with a GET, and may then send anything. */
function mayChange(request: HttpRequest): boolean {
  return !SAFE_METHODS.has(request.method) ||
    request.getHeader("upgrade") !== "";
}

/** Whether a request comes from this site's own pages, from the visitor, or not from a browser. */
function isFromThisSite(request: HttpRequest): boolean {
  const site = request.getHeader("sec-fetch-site");
  if (site !== "") return THIS_SITE.has(site);
  const sent = request.getHeader("origin");
  if (sent === "") return true;
  // Files have no host, and the scheme of an app may name any host: both could equal the host.
  const origin = /^https?:/.test(sent) ? URL.parse(sent) : null;
  // Behind a proxy that ends TLS, an https origin is right although the request came by http.
  if (origin === null || request.secure && origin.protocol !== "https:") {
    return false;
  }
  const asked = URL.parse(`${origin.protocol}//${request.host}`);
  return asked?.host === origin.host;
}

/** Throws the refusal of a request unless its origin is trusted; functions are asked one by one. */
async function refuseUntrusted(
  app: Engine | typeof Framework,
  trusted: readonly (string | TrustsOrigin)[],
): Promise<void> {
  const origin = app.request().getHeader("origin");
  for (const each of origin === "" ? [] : trusted) {
    const isTrusted = typeof each === "string"
      ? each === origin
      : await each(origin) === true;
    if (isTrusted) return;
  }
  if (app.get("framework.debug")) {
    report(
      `The guard refused a request from ${
        origin || "an unknown origin"
      }: to allow an origin to make changes, add it to "trusted"`,
    );
  }
  throw refusal(403, "Requests from other sites are refused here");
}
