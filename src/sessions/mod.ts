/**
 * Sessions in a sealed cookie: encrypted and signed by [iron](https://github.com/brc-dd/iron-webcrypto),
 * so that clients can neither read nor change them.
 *
 * Without a store, the cookie holds the session: any machine that has the secret can open it, the values
 * together take at most 2,700 bytes of JSON, and a copy of the cookie outlives the logout. With a `store`, the
 * cookie holds only the id: sessions can be large, and a logout ends every copy.
 *
 * A session expires after `maxAge` seconds, or `idle` seconds after its last use, give or take a minute.
 * Calling the accessor is a use, and so is the response of a stream, which may call it later, unless the stream is
 * that of a `Response`. A request that only reads records its use in a second, small cookie, which is
 * worth nothing by itself: reading never undoes the logout of another request. A cookie that has expired, or
 * that another secret has sealed, gives an empty session, and a line in the log under `framework.debug`.
 *
 * Overlapping requests of one client all begin with the session as it was when they came in. Without a store,
 * when two of them change it, the response that arrives last wins. With a store, each request writes only the
 * keys that it has changed; when two change the same key, the one that ends last wins. A change is dropped when
 * the session has ended or got a new id in the meantime. A logout also ends a session that got a new id in the
 * meantime, in the same process. Two processes may still write and remove a row within the same milliseconds. A
 * store closes that gap when its `remove` keeps the id until it expires, and its `write` leaves such an id alone.
 *
 * An application that is mounted in another one shares its session, where both have the same options, so that neither
 * undoes what the other has changed.
 *
 * Values are what JSON can represent. The session is empty and cannot be changed in filters of `start` that were
 * added before `sessions`, and on the error page of a request that was refused before `start`. After a logout,
 * the back button may show an old page again: send pages of members with `Cache-Control: no-store`.
 *
 * Guide: [docs/forms_and_sessions.md](./docs/forms_and_sessions.md)
 *
 * @example
 * ```ts
 * import { Engine } from "@framework/core";
 * import { sessions } from "@framework/core/sessions";
 * import { Visitor } from "@framework/core/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * const secret = "read it from the environment: 32 characters or more";
 * const session = sessions<{ user: string }>(app, { secret });
 *
 * app.route("POST /login", () => {
 *   session().renew().set("user", "Ada").flash("notice", "Welcome");
 *   app.redirect("/");
 * });
 * app.route("GET /", () => {
 *   const user = session().get("user") ?? "stranger";
 *   return `${session().flash("notice") ?? "Hello"}, ${user}!`;
 * });
 *
 * const visitor = new Visitor(app);
 * assertEquals((await visitor.visit("/")).text, "Hello, stranger!");
 * const home = await visitor.visit("/login", { method: "POST" });
 * assertEquals(home.text, "Welcome, Ada!");
 * assertEquals((await visitor.visit("/")).text, "Hello, Ada!");
 * ```
 *
 * @example A store in memory, for a single process
 * ```ts
 * import { Engine } from "@framework/core";
 * import { sessions } from "@framework/core/sessions";
 * import { Visitor } from "@framework/core/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const rows = new Map<string, { values: Record<string, unknown>; expires: Date }>();
 * const app = new Engine();
 * const session = sessions<{ draft: string }>(app, {
 *   secret: "read it from the environment: 32 characters or more",
 *   store: {
 *     read: (id) => rows.get(id)?.values,
 *     write: (id, values, expires) => void rows.set(id, { values, expires }),
 *     remove: (id) => void rows.delete(id),
 *   },
 * });
 * app.route("/write", () => void session().set("draft", "word ".repeat(10_000)));
 * app.route("/read", () => `${session().get("draft")?.length}`);
 * app.route("/logout", () => session().clear());
 *
 * const visitor = new Visitor(app);
 * await visitor.visit("/write");
 * assertEquals((await visitor.visit("/read")).text, "50000");
 * await visitor.visit("/logout");
 * assertEquals(rows.size, 0);
 * ```
 *
 * @module
 */

import type { Engine, Framework, HttpRequest } from "../../mod.ts";
import { checkDeclaring, DECLARATION, IS_STREAM } from "../extension_keys.ts";
import { checkOptions, MAX_SECONDS } from "../options.ts";
import { report } from "../report.ts";
import { varyBy } from "../vary.ts";
import { Access, isOneSession, type Rules, share } from "./access.ts";
import { appendCookie, COOKIE_PATH, nameOfUse, openCookie } from "./seal.ts";
import {
  checkedTextOf,
  restore,
  Session,
  type SessionState,
  stateOf,
  storedOf,
} from "./session.ts";
import {
  changeSession,
  readSession,
  removeSession,
  type SessionStore,
} from "./store.ts";
import {
  cookieOf,
  isEmpty,
  sessionOfCookie,
  type StoredSession,
} from "./stored_session.ts";

export { Session, type SessionStore };

/** The options of {@linkcode sessions}. */
export interface SessionOptions {
  /**
   * At least 32 random characters, or a list of such secrets: the first seals cookies, each can open them. Keep an old
   * one for `maxAge` seconds: a session is sealed again only when it changes.
   */
  readonly secret: string | readonly string[];
  /** A session expires after this many seconds; a week by default. */
  readonly maxAge?: number;
  /** An unused session expires after this many seconds; a day by default. */
  readonly idle?: number;
  /** The name of the cookie, `session` by default; one that begins with `__Host-` needs TLS. */
  readonly name?: string;
  /** The path below which clients send the cookie; by default that of `framework.base_url`, or "/". */
  readonly path?: string;
  /** Where sessions are kept; in the cookie itself by default. */
  readonly store?: SessionStore;
}

const OPTIONS: readonly (keyof SessionOptions)[] = [
  "secret",
  "maxAge",
  "idle",
  "name",
  "path",
  "store",
];

/** How many bytes the JSON of a session may have, for a cookie of 4,096 bytes (RFC 6265, section 6.1). */
const MAX_BYTES = 2_700;

const COOKIE_NAME = /^[!#$%&'*+.^`|~\w-]{1,64}$/;

/** A directive of `Cache-Control`; a quoted value may have commas (RFC 9111, section 5.2). */
const DIRECTIVE = /(?:[^,"]|"(?:[^"\\]|\\.)*")+/g;

/** The sessions of each application, by what `init()` replaces when it drops their filters. */
const declared = new WeakMap<object, CurrentSession[]>();

/** Why a session cannot be changed in a stream, or in deferred work. */
const RESPONDED = "the response has already been made";

/**
 * Gives an application sessions. Returns the accessor of the current request's session, which throws outside
 * of a request. A second call with the same options returns an accessor of the same session.
 *
 * Throws `TypeError` when an option has an unknown name, a secret is too short, a time is not a number
 * greater than 0, `maxAge` is above 1,000,000,000,000, the name or the path is not valid for a cookie, the store
 * lacks a method, the application has sessions with other options under the name, or one of two sessions has the
 * name of the other's second cookie, such as `session-used`; and `Error` in a request of the application, unless it was
 * called before with these options. So does the accessor of an application that `init()` has reset since.
 */
export function sessions<Values extends object = Record<string, unknown>>(
  app: Engine | typeof Framework,
  options: SessionOptions,
): () => Session<Values> {
  const rules = rulesOf(app, options);
  const others = declared.get(app[DECLARATION]) ?? [];
  const same = others.find((each) => each.isOf(rules));
  if (same !== undefined) return () => same.use();
  checkDeclaring(app, "sessions");
  const current = new CurrentSession(app, rules);
  app.before("start", () => current.open());
  app.after("start", () => current.check());
  app.after("send", (_params, { value: sent }) => current.send(sent.headers));
  declared.set(app[DECLARATION], [...others, current]);
  return () => current.use();
}

/** The session of the current request, from its cookie to that of the response. */
class CurrentSession {
  readonly #app: Engine | typeof Framework;
  readonly #rules: Rules;
  readonly #maxBytes: number;
  readonly #accesses = new WeakMap<HttpRequest, Access>();

  constructor(app: Engine | typeof Framework, rules: Rules) {
    this.#app = app;
    this.#rules = rules;
    this.#maxBytes = rules.store === undefined ? MAX_BYTES : Infinity;
  }

  /**
   * Whether it is the session of the rules. Throws `TypeError` when only the name of the cookie is the same, or when one
   * has the name of the other's second cookie.
   */
  isOf(rules: Rules): boolean {
    const { name } = this.#rules;
    checkSecondCookie(rules, this.#rules);
    checkSecondCookie(this.#rules, rules);
    if (rules.name !== name) return false;
    if (isOneSession(rules, this.#rules)) return true;
    throw new TypeError(
      `Cannot keep sessions: the application keeps some in the cookie "${name}" with other options; ` +
        'pass the same ones, the same store among them, or another "name"',
    );
  }

  /** Opens the session of the cookie. A request without one stays synchronous. */
  open(): Promise<void> | undefined {
    const request = this.#app.request();
    const { name } = this.#rules;
    const hasCookie = request.cookies[name] !== undefined;
    // A filter before this one may have used the session. That of a cookie was not open to it.
    if (hasCookie) this.#accesses.delete(request);
    const access = this.#accessOf(request);
    share(request, access);
    if (!hasCookie || access.outer !== undefined) return;
    return findSession(request, this.#rules).then((stored) => {
      access.state = stateOf(this.#maxBytes, stored);
      if (stored !== undefined) return;
      this.#report(
        `The cookie "${name}" was ignored: it has expired, or it was sealed with another secret`,
      );
    });
  }

  /** Returns the session for a handler: that of the cookie, or a new one. */
  use<Values extends object>(): Session<Values> {
    const request = this.#app.request();
    if (!declared.get(this.#app[DECLARATION])?.includes(this)) {
      throw new Error(
        "Cannot use the session: the application was reset since; call sessions() again",
      );
    }
    const access = this.#accessOf(request);
    const hasCookie = this.#rules.name in request.cookies;
    const isShut = access.state === undefined && hasCookie;
    if (isShut && access.closed === undefined) {
      access.close("it is not open yet, or the request was refused");
    }
    const state = access.state ??= stateOf(this.#maxBytes);
    // In a filter of `send` that runs later. A stream has counted as a use, unless there is no session to tell.
    const isFirstUse = !state.isUsed;
    if (hasCookie && isFirstUse && access.headers) varyByCookie(access.headers);
    state.isUsed = true;
    return new Session(state, access);
  }

  /**
   * Counts a stream as a use: it may read the session when the headers have been sent. Throws what `set` throws when a
   * value was changed in place; the changes of the request are undone then.
   */
  check(): void {
    const { state } = this.#accessOf(this.#app.request());
    if (state === undefined) return;
    state.isUsed ||= this.#isStream();
    if (!state.isUsed) return;
    try {
      checkedTextOf(state);
    } catch (error) {
      restore(state);
      throw error;
    }
  }

  /** What a mapped `response` returns in place of the response knows of no stream. */
  #isStream(): boolean {
    const response: object = this.#app.response();
    return IS_STREAM in response && response[IS_STREAM] === true;
  }

  /** Keeps the session, unless the application around does, and adds its cookies to the headers of the response. */
  send(headers: Headers): Promise<void> | undefined {
    const request = this.#app.request();
    const access = this.#accessOf(request);
    access.close(RESPONDED);
    access.headers = headers;
    const { state, outer } = access;
    if (state === undefined) return;
    state.isUsed ||= this.#isStream(); // after `stop()`, no filter of `start` has run
    if (!state.isUsed) return;
    varyByCookie(headers);
    if (outer !== undefined) return;
    const isChanged = checkedTextOf(state) !== state.before;
    if (!isChanged) return renewUse(state, request, this.#rules, headers);
    return save(state, request, this.#rules, headers).then((isSaved) => {
      if (!isSaved) {
        this.#report("The session has ended: the change was dropped");
      }
    });
  }

  /** What the application has of the session of a request. */
  #accessOf(request: HttpRequest): Access {
    const known = this.#accesses.get(request);
    if (known !== undefined) return known;
    const access = new Access(request, this.#rules);
    this.#accesses.set(request, access);
    return access;
  }

  #report(line: string): void {
    if (this.#app.get("framework.debug")) report(line);
  }
}

/** Says that a response depends on the session. */
function varyByCookie(headers: Headers): void {
  headers.set("vary", varyBy("Cookie", headers.get("vary")));
}

/** Throws `TypeError` when the cookie of a session would be the second one of another session. */
function checkSecondCookie({ name }: Rules, other: Rules): void {
  if (name !== nameOfUse(other)) return;
  throw new TypeError(
    `Cannot keep sessions: the cookie "${name}" keeps when those in "${other.name}" were last used; pass another "name"`,
  );
}

function rulesOf(
  app: Engine | typeof Framework,
  options: SessionOptions,
): Rules {
  checkOptions("keep sessions", options, OPTIONS);
  const {
    secret,
    maxAge = 604_800,
    idle = 86_400,
    name = "session",
    ...others
  } = { ...options };
  const secrets = [secret].flat();
  const baseUrl = () => app.get("framework.base_url");
  const rules = { ...others, maxAge, idle, name, secrets, baseUrl };
  const why = problemOf(rules);
  if (why) throw new TypeError(`Cannot keep sessions: ${why}`);
  return rules;
}

function problemOf(rules: Rules): string | undefined {
  const { secrets, maxAge, idle, name, path = "/", store } = rules;
  if (typeof name !== "string") return "the name must be text";
  if (!secrets.length || secrets.some((text) => !(text?.length > 31))) {
    const isMissing = secrets.some((text) => text === undefined);
    const hint = ", but one is undefined: is its environment variable set?";
    return `each secret must have at least 32 characters${
      isMissing ? hint : ""
    }`;
  }
  const wrong = Object.entries({ maxAge, idle })
    .find(([, time]) => typeof time !== "number" || !(time > 0));
  if (wrong) {
    const got = Deno.inspect(wrong[1]);
    return `"maxAge" and "idle" must be greater than 0 seconds, got ${got}`;
  }
  if (maxAge > MAX_SECONDS) {
    return `"maxAge" must be at most ${MAX_SECONDS} seconds, got ${maxAge}`;
  }
  if (!COOKIE_NAME.test(name)) return `"${name}" is not a valid cookie name`;
  if (!COOKIE_PATH.test(path)) return `"${path}" is not a valid cookie path`;
  if (name.startsWith("__Host-") && path !== "/") {
    return `the path of the cookie "${name}" must be "/", got "${path}"`;
  }
  if (store === undefined) return;
  const missing = (["read", "write", "remove"] as const)
    .find((method) => typeof store[method] !== "function");
  if (missing) return `the store has no method "${missing}"`;
}

/** The session of a request's cookie; undefined when it has ended, or was sealed elsewhere. */
async function findSession(
  request: HttpRequest,
  rules: Rules,
): Promise<StoredSession | undefined> {
  const { store, maxAge, idle, name } = rules;
  const content = await openCookie(request, rules, name);
  if (typeof content?.[0] !== "string") return;
  const stored = store === undefined
    ? sessionOfCookie(content)
    : await readSession(store, content[0]);
  if (stored === undefined) return;
  const use = await openCookie(request, rules, nameOfUse(rules));
  const renewed = use?.[0] === stored.id ? Number(use[1]) || 0 : 0;
  const last = Math.max(stored.used, renewed);
  const now = Date.now() / 1000;
  const isYoung = now - stored.started < maxAge && now - last < idle;
  if (isYoung) return { ...stored, used: last };
  if (store !== undefined) await removeSession(store, stored.id);
}

/** Notes a use in the second cookie when the last one was a minute or a tenth of `idle` ago. */
function renewUse(
  { id, started, used }: SessionState,
  request: HttpRequest,
  rules: Rules,
  headers: Headers,
): Promise<void> | undefined {
  const now = Date.now() / 1000;
  if (now - used < Math.min(60, rules.idle / 10)) return;
  const age = Math.min(started + rules.maxAge - now, rules.idle);
  const name = nameOfUse(rules);
  forbidSharing(headers);
  return appendCookie(headers, request, rules, name, age, [id, now]);
}

/** Keeps a changed session, and adds its cookie; returns false when the session has ended since. */
async function save(
  state: SessionState,
  request: HttpRequest,
  rules: Rules,
  headers: Headers,
): Promise<boolean> {
  const { id, opened, started } = state;
  const { store, maxAge, name } = rules;
  const now = Date.now() / 1000;
  const add = (content: readonly unknown[]): Promise<void> => {
    forbidSharing(headers);
    const age = started + maxAge - now;
    return appendCookie(headers, request, rules, name, age, content);
  };
  if (store === undefined) {
    const stored = storedOf(state);
    if (isEmpty(stored)) await removeCookies(request, rules, headers);
    else await add(cookieOf(stored));
    return true;
  }
  const expires = new Date((started + maxAge) * 1000);
  const outcome = await changeSession(store, state, expires);
  if (outcome === "kept" && id !== opened) await add([id]);
  if (outcome === "ended") await removeCookies(request, rules, headers);
  return outcome !== "dropped";
}

/** Removes the session's cookies from the client. */
async function removeCookies(
  request: HttpRequest,
  rules: Rules,
  headers: Headers,
): Promise<void> {
  for (const name of [rules.name, nameOfUse(rules)]) {
    if (request.cookies[name] === undefined) continue;
    forbidSharing(headers);
    await appendCookie(headers, request, rules, name, 0);
  }
}

/** Keeps shared caches from storing the cookie. */
function forbidSharing(headers: Headers): void {
  const directives = headers.get("cache-control")?.match(DIRECTIVE)
    ?.map((each) => each.trim()) ?? [];
  if (directives.some((each) => /^private$/i.test(each))) return;
  // One for some headers only would leave the others to shared caches.
  const others = directives.filter((each) =>
    !/^(?:public|private\s*=.*)?$/is.test(each)
  );
  headers.set("cache-control", [...others, "private"].join(", "));
}
