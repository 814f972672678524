/**
 * Sessions in a sealed cookie: encrypted and signed by [iron](https://github.com/brc-dd/iron-webcrypto),
 * so that clients can neither read nor change them. There is no store: any machine that has the secret
 * can open a session, and none can end one that was copied.
 *
 * A session ends `maxAge` seconds after its start, and `idle` seconds after its last use, give or take a
 * minute; calling the accessor is a use. A cookie that is too old, or was sealed elsewhere, gives an empty
 * session, and under `framework.debug` a line in the log. Concurrent requests of one client all begin with the
 * values of the cookie: the response that the client gets last wins.
 *
 * Values are what JSON can carry, and all of them together take at most 2,700 bytes of JSON. The session is
 * empty, and cannot be changed, in filters of `start` that were added before `sessions`, and on the page of a
 * request that was refused before `start`. After a logout, the back button may show an old page again: send
 * pages of members with `Cache-Control: no-store`.
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
 * @module
 */

import { defaults, seal, unseal } from "npm:iron-webcrypto@^2.0.0";
import type { Engine, Framework, HttpRequest } from "../../mod.ts";

/** The options of {@linkcode sessions}. */
export interface SessionOptions {
  /** At least 32 random characters, or a list of such secrets: the first seals cookies, each can open them. */
  readonly secret: string | readonly string[];
  /** How many seconds after its start a session ends, a week when not given. */
  readonly maxAge?: number;
  /** How many seconds after its last use a session ends, a day when not given. */
  readonly idle?: number;
  /** The name of the cookie, `session` when not given; one that begins with `__Host-` needs TLS. */
  readonly name?: string;
}

/** The sealed value: the cookie's name, so that another cookie is not taken for it, and the session. */
type Content = [string, started: number, used: number, Entries, Entries];
type Entries = [key: string, value: unknown][];

/** The session during one request. Times are in seconds since 1970. */
interface State {
  readonly request: HttpRequest;
  started: number;
  /** When it was last used, by the cookie; Infinity for a new session. */
  readonly used: number;
  readonly values: Map<string, unknown>;
  readonly flashes: Map<string, unknown>;
  /** The session as JSON when the request began, to notice a change. */
  readonly before: string;
  /** Whether the request has asked for the session. */
  isUsed?: boolean;
  /** Why the session cannot be changed; undefined while it can. */
  closed?: string;
}

/** How many bytes the JSON of a session may have, for a cookie of 4,096 bytes (RFC 6265, section 6.1). */
const MAX_BYTES = 2_700;

const COOKIE_NAME = /^[!#$%&'*+.^`|~\w-]{1,64}$/;

const DEFAULTS = { maxAge: 604_800, idle: 86_400, name: "session" };

/**
 * The session of one client during one request, returned by the accessor that {@linkcode sessions} returns.
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
 * const session = sessions<{ visits: number }>(app, { secret });
 * app.route("/", () => {
 *   const visits = (session().get("visits") ?? 0) + 1;
 *   session().set("visits", visits);
 *   return `Visit ${visits}`;
 * });
 *
 * const visitor = new Visitor(app);
 * assertEquals((await visitor.visit("/")).text, "Visit 1");
 * assertEquals((await visitor.visit("/")).text, "Visit 2");
 * assertEquals((await new Visitor(app).visit("/")).text, "Visit 1");
 * ```
 */
export class Session<Values extends object = Record<string, unknown>> {
  readonly #state: State;

  /**
   * Sessions are made by the extension, one for each request.
   *
   * @ignore
   */
  constructor(state: State) {
    this.#state = state;
  }

  /** The value of a key, or undefined. */
  get<Key extends keyof Values & string>(key: Key): Values[Key] | undefined {
    return this.#state.values.get(key) as Values[Key] | undefined;
  }

  /** Whether a key has a value. */
  has(key: keyof Values & string): boolean {
    return this.#state.values.has(key);
  }

  /** Sets a value. Throws `RangeError` when the session would have more than 2,700 bytes of JSON. */
  set<Key extends keyof Values & string>(key: Key, value: Values[Key]): this {
    return this.#put("values", key, value);
  }

  /** Deletes a value; returns whether there was one. */
  delete(key: keyof Values & string): boolean {
    return this.#writable.values.delete(key);
  }

  /** Deletes all values and flashes; the client loses its cookie. */
  clear(): void {
    this.#writable.values.clear();
    this.#writable.flashes.clear();
  }

  /** Starts the time of `maxAge` anew, as after a login. The values stay. */
  renew(): this {
    this.#writable.started = Date.now() / 1000;
    return this;
  }

  /** Returns the flash of a key and deletes it. */
  flash<Value = unknown>(key: string): Value | undefined;
  /** Keeps a flash until it is read once, in this request or a later one. Throws as `set` does. */
  flash(key: string, value: unknown): this;
  flash(key: string, value?: unknown): unknown {
    if (value !== undefined) return this.#put("flashes", key, value);
    const kept = this.#state.flashes.get(key);
    if (kept !== undefined) this.#writable.flashes.delete(key);
    return kept;
  }

  #put(kind: "values" | "flashes", key: string, value: unknown): this {
    const state = this.#writable;
    // Throws when the session would be too large.
    jsonOf({ ...state, [kind]: new Map(state[kind]).set(key, value) });
    state[kind].set(key, value);
    return this;
  }

  /** The state, to be changed; throws when it cannot be. */
  get #writable(): State {
    if (this.#state.closed === undefined) return this.#state;
    throw new Error(`Cannot change the session: ${this.#state.closed}`);
  }
}

/**
 * Gives an application sessions. Returns the accessor of the current request's session, which throws outside
 * of a request.
 *
 * Throws `TypeError` when a secret is too short, a time is not above 0, or no cookie can have the name.
 */
export function sessions<Values extends object = Record<string, unknown>>(
  app: Engine | typeof Framework,
  options: SessionOptions,
): () => Session<Values> {
  const rules = rulesOf(options);
  const states = new WeakMap<HttpRequest, State>();
  app.before("start", () => {
    const request = app.request();
    const cookie = request.cookies[rules.name];
    if (cookie === undefined) return; // a request without the cookie stays synchronous
    return open(request, cookie, rules).then((state) => {
      states.set(request, state ?? stateOf(request));
      if (state !== undefined || !app.get("framework.debug")) return;
      const line = `The cookie "${rules.name}" is too old, or not sealed here`;
      // deno-lint-ignore no-console -- this is the error log
      console.error(`${new Date().toISOString()} ${line}`);
    });
  });
  app.after("send", (_params, { value: sent }) => {
    const state = states.get(app.request());
    if (!state?.isUsed) return;
    state.closed = "the response is made";
    sent.headers.append("vary", "Cookie");
    return save(state, rules, sent.headers);
  });
  return () => {
    const request = app.request();
    const isShut = !states.has(request) && rules.name in request.cookies;
    const state = states.get(request) ?? stateOf(request);
    if (isShut) state.closed = "it is not open yet, or the request was refused";
    states.set(request, state);
    state.isUsed = true;
    return new Session(state);
  };
}

type Rules = ReturnType<typeof rulesOf>;

function rulesOf(options: SessionOptions) {
  const secrets = [options.secret].flat();
  const rules = { ...DEFAULTS, ...options, secrets };
  const why = !secrets.length || secrets.some((text) => !(text?.length > 31))
    ? "each secret must have at least 32 characters"
    : !(rules.maxAge > 0 && rules.idle > 0)
    ? '"maxAge" and "idle" must be seconds above 0'
    : !COOKIE_NAME.test(rules.name) && `no cookie is named "${rules.name}"`;
  if (why) throw new TypeError(`Cannot keep sessions: ${why}`);
  return rules;
}

/** Opens a cookie by the first secret that fits; undefined when it is too old, or was sealed elsewhere. */
async function open(request: HttpRequest, cookie: string, rules: Rules) {
  const now = Date.now() / 1000;
  for (const secret of rules.secrets) {
    const content = await unseal(cookie, secret, defaults).catch(() => []);
    const [name, started, used] = content as Content;
    const isYoung = now - started < rules.maxAge && now - used < rules.idle;
    if (name !== rules.name || !isYoung) continue;
    return stateOf(request, content as Content);
  }
}

function stateOf(request: HttpRequest, content: Partial<Content> = []): State {
  const [, started = Date.now() / 1000, used = Infinity, ...maps] = content;
  const kept = { started, values: new Map(maps[0]), flashes: new Map(maps[1]) };
  return { request, used, ...kept, before: jsonOf(kept) };
}

/**
 * Adds the cookie to headers when the session has changed, or its last use was a minute or a tenth of `idle`
 * ago: not every use sends the cookie.
 */
function save(state: State, rules: Rules, headers: Headers): unknown {
  const { started, used, values, flashes, before } = state;
  const { secrets, maxAge, idle, name } = rules;
  const now = Date.now() / 1000;
  if (now - used < Math.min(60, idle / 10) && before === jsonOf(state)) return;
  const isEmpty = values.size + flashes.size === 0;
  const age = isEmpty ? 0 : Math.ceil(Math.min(started + maxAge - now, idle));
  const content: Content = [name, started, now, [...values], [...flashes]];
  return seal(content, secrets[0]!, defaults).then((sealed) => {
    const cookie = `${name}=${isEmpty ? "" : sealed}; Max-Age=${age}; Path=/`;
    const secure = state.request.secure ? "; Secure" : "";
    headers.append("set-cookie", `${cookie}; HttpOnly; SameSite=Lax${secure}`);
    headers.append("cache-control", "private"); // no cache may share the cookie
  });
}

/** The session as JSON; throws `RangeError` when it is too large for a cookie. */
function jsonOf({ started, values, flashes }: Partial<State>): string {
  const text = JSON.stringify([started, [...values!], [...flashes!]]);
  const { length } = new TextEncoder().encode(text);
  if (length <= MAX_BYTES) return text;
  const why = `it has ${length} bytes, and a cookie holds ${MAX_BYTES}`;
  throw new RangeError(`Cannot keep the session: ${why}`);
}
