/**
 * Sessions in a sealed cookie: encrypted and signed by [iron](https://github.com/brc-dd/iron-webcrypto),
 * so that clients can neither read nor change them.
 *
 * Without a store, the cookie holds the session: any machine that has the secret can open it, the values
 * together take at most 2,700 bytes of JSON, and a copy of the cookie outlives the logout. With a `store`, the
 * cookie holds only the id: sessions can be large, and a logout ends every copy.
 *
 * A session expires after `maxAge` seconds, or `idle` seconds after its last use, at most a tenth earlier. Calling the
 * accessor is a use: call it before you return a stream that reads the session. A request that only reads records
 * its use in a second, small cookie, which is worth nothing by itself: reading never undoes the logout of another
 * request. A cookie that has expired, or that another secret has sealed, gives an empty session, and a line in the log
 * under `framework.debug`.
 *
 * Overlapping requests of one client all begin with the session as it was when they came in. Without a store,
 * when two of them change it, the response that arrives last wins. With a store, each request writes only the
 * keys that it has changed, and a change is dropped when the session has ended or got a new id in the meantime.
 * Two processes may still write and remove a row within the same milliseconds. A store closes that gap when its
 * `remove` keeps the id until it expires, and its `write` leaves such an id alone.
 *
 * An application that is mounted has sessions of its own: give their cookie another `name`. A second call for the same
 * application and `name` returns an accessor of the same session, which has the options of the first call.
 *
 * Values are what JSON can represent. The session is empty and cannot be changed in filters of `start` that were
 * added before `sessions`, and on the error page of a request that was refused before `start`. After a logout,
 * the back button may show an old page again: send pages of members with `Cache-Control: no-store`.
 *
 * Guide: [docs/sessions.md](./docs/sessions.md)
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
import { varyBy } from "../http.ts";
import { report } from "../report.ts";
import { SealedCookie } from "./cookie.ts";
import { type Rules, rulesOf, type SessionOptions } from "./options.ts";
import {
  checkValues,
  now,
  Session,
  sessionOf,
  SessionState,
  type StoredSession,
} from "./session.ts";
import { changeRow, type SessionStore } from "./store.ts";

export { Session, type SessionOptions, type SessionStore };

/**
 * Gives an application sessions. Returns the accessor of the current request's session, which throws outside
 * of a request.
 *
 * Throws `TypeError` when an option has an unknown name, a secret is too short, a time is not a number greater than 0,
 * `maxAge` is above 1,000,000,000,000, an attribute is not valid for a cookie, or the store lacks a method.
 */
export function sessions<Values extends object = Record<string, unknown>>(
  app: Engine | typeof Framework,
  options: SessionOptions,
): () => Session<Values> {
  const keeper = new Keeper(app, rulesOf(options));
  app.before("start", () => keeper.open());
  app.after("send", (_params, { value: sent }) => keeper.send(sent.headers));
  return () => new Session(keeper.use());
}

/** The open sessions of each request, by the names of their cookies. */
const open = new WeakMap<HttpRequest, Map<string, SessionState>>();

/** Opens and keeps the sessions of an application. */
class Keeper {
  /** Holds the session or, with a store, its id. */
  readonly #cookie: SealedCookie;
  /** Holds when the session was last used. */
  readonly #useCookie: SealedCookie;

  constructor(
    readonly app: Engine | typeof Framework,
    readonly rules: Rules,
  ) {
    this.#cookie = new SealedCookie(app, rules, rules.name);
    this.#useCookie = new SealedCookie(app, rules, `${rules.name}-used`);
  }

  /** Opens the session of the request's cookie. A request without one stays synchronous. */
  open(): Promise<void> | undefined {
    const request = this.app.request();
    const states: Map<string, SessionState> = open.get(request) ?? new Map();
    open.set(request, states);
    const { name, maxBytes } = this.rules;
    if (states.has(name)) return;
    if (!this.#cookie.isSent) {
      return void states.set(name, new SessionState(maxBytes));
    }
    return this.#find().then((stored) => {
      states.set(name, new SessionState(maxBytes, stored));
      if (stored !== undefined || !this.app.get("framework.debug")) return;
      report(
        `The cookie "${name}" was ignored: it has expired, or it was sealed with another secret`,
      );
    });
  }

  /** Returns the session for a handler. One that is not open is empty. */
  use(): SessionState {
    const why = "it is not open yet, or the request was refused";
    const state = this.#state ?? new SessionState(0, undefined, why);
    state.isUsed = true;
    return state;
  }

  /** Keeps the session, and adds its cookies to the headers of the response. */
  send(headers: Headers): Promise<void> | undefined {
    const state = this.#state;
    if (state === undefined || state.closed !== undefined) return;
    state.closed = "the response has already been made";
    if (!state.isUsed) return;
    headers.set("vary", varyBy("Cookie", headers.get("vary")));
    return state.text === state.before
      ? this.#renewUse(state, headers)
      : this.#save(state, headers);
  }

  get #state(): SessionState | undefined {
    return open.get(this.app.request())?.get(this.rules.name);
  }

  /** The session of the cookie; undefined when it has ended, or was sealed elsewhere. */
  async #find(): Promise<StoredSession | undefined> {
    const { store, maxAge, idle } = this.rules;
    const cookies = [this.#cookie.open(), this.#useCookie.open()];
    const [[id, kept] = [], use = []] = await Promise.all(cookies);
    if (typeof id !== "string") return;
    const stored = sessionOf(id, store ? await store.read(id) : kept);
    if (stored === undefined) return;
    const renewed = use[0] === id ? Number(use[1]) : 0;
    const used = Math.max(stored.used, renewed);
    const time = now();
    const isAlive = time - stored.started < maxAge && time - used < idle;
    if (isAlive) return { ...stored, used };
    await store?.remove(id);
  }

  /** Records a use, at most once in a tenth of `idle`. */
  #renewUse(state: SessionState, headers: Headers): Promise<void> | undefined {
    const { maxAge, idle } = this.rules;
    const time = now();
    if (time - state.used < idle / 10) return;
    const seconds = Math.min(state.started + maxAge - time, idle);
    return this.#useCookie.append(headers, [state.id, time], seconds);
  }

  /** Keeps a changed session. Throws what {@linkcode checkValues} throws. */
  async #save(state: SessionState, headers: Headers): Promise<void> {
    const { store, maxAge, maxBytes } = this.rules;
    const { id, found, started, values } = state;
    checkValues(values, maxBytes);
    const expires = started + maxAge;
    const outcome = store
      ? await changeRow(store, state, new Date(expires * 1000))
      : values.size > 0
      ? "kept"
      : "ended";
    if (outcome === "ended") {
      this.#cookie.remove(headers);
      this.#useCookie.remove(headers);
    }
    if (outcome !== "kept" || store && id === found) return;
    const content = store ? [id] : [id, state.row([...values])];
    await this.#cookie.append(headers, content, expires - now());
  }
}
