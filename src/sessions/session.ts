/** Owns the session of one request: reading and changing it. */

import { FRAMEWORK_OBJECT } from "../extension_keys.ts";
import { isPlainRecord } from "../options.ts";

/** Keys with their values: a list, since a client may have chosen a key such as `__proto__`. */
export type Entries = [key: string, value: unknown][];

/** The seconds since 1970. */
export function now(): number {
  return Date.now() / 1000;
}

/** A session between requests. Times are in seconds since 1970. */
export interface StoredSession {
  readonly id: string;
  /** When it began, or was renewed. */
  readonly started: number;
  /** When it was last used. */
  readonly used: number;
  readonly values: Entries;
}

/**
 * The session that a cookie or a store holds under an id; undefined when it holds none. Throws `TypeError` for anything
 * else.
 */
export function sessionOf(id: string, row: unknown): StoredSession | undefined {
  if (row === undefined || row === null) return;
  // A copy: a store in memory may return the very object that other requests get.
  const { started, used, values } = structuredClone(Object(row));
  const isRow = [started, used].every(Number.isFinite) && Array.isArray(values);
  if (isRow) return { id, started, used, values };
  throw new TypeError(
    `Cannot read the session: the store must return what "write" was given, got another ${typeof row}`,
  );
}

/** The session during one request. */
export class SessionState {
  id: string;
  /** The id under which the request found it; undefined for a new one. */
  readonly found: string | undefined;
  started: number;
  /** When it was last used; Infinity for a new one. */
  readonly used: number;
  readonly values: Map<string, unknown>;
  /** The text when the request began. */
  readonly before: string;
  /** Whether the request has asked for the session. */
  isUsed = false;
  /** Whether the request has ended the session that it found: what it has set since is in a new one. */
  isCleared = false;

  /** The state of a session that was kept, or of a new one. */
  constructor(
    readonly maxBytes: number,
    stored?: StoredSession,
    /** Why it cannot be changed; undefined while it can. */
    public closed?: string,
  ) {
    this.found = stored?.id;
    this.id = stored?.id ?? crypto.randomUUID();
    this.started = stored?.started ?? now();
    this.used = stored?.used ?? Infinity;
    this.values = new Map(stored?.values);
    this.before = this.text;
  }

  /** What to keep of it with these values. */
  row(values: Entries): Omit<StoredSession, "id"> {
    return { started: this.started, used: now(), values };
  }

  /** Everything that a request can change, as JSON. */
  get text(): string {
    return JSON.stringify([this.id, this.started, [...this.values]]);
  }

  /** Applies what the request has changed to the values that other requests have left. */
  mergedInto(others: Entries): Entries {
    const result = new Map(others);
    const before: Map<string, unknown> = new Map(JSON.parse(this.before)[2]);
    for (const key of before.keys()) {
      if (!this.values.has(key)) result.delete(key);
    }
    for (const [key, value] of this.values) {
      const isSame = JSON.stringify(before.get(key)) === JSON.stringify(value);
      if (!isSame) result.set(key, value);
    }
    return [...result];
  }
}

/** Throws `TypeError` for a value that JSON cannot represent, and `RangeError` when all take too many bytes. */
export function checkValues(
  values: ReadonlyMap<string, unknown>,
  maxBytes: number,
): void {
  const text = JSON.stringify([...values]); // throws for a value that contains itself
  for (const [key, value] of values) {
    if (isJson(value)) continue;
    const why = `JSON cannot represent ${Deno.inspect(value, { depth: 1 })}`;
    throw new TypeError(`Cannot keep "${key}" in the session: ${why}`);
  }
  const { length } = new TextEncoder().encode(text);
  if (length <= maxBytes) return;
  throw new RangeError(
    `Cannot keep the session: it takes ${length} bytes, but a cookie holds at most ${maxBytes}`,
  );
}

/** Whether JSON carries a value as it is. */
function isJson(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value === "string" || typeof value === "boolean") return true;
  if (Array.isArray(value)) return [...value].every(isJson); // a hole would become null
  if (typeof value !== "object") return false;
  return value === null || isPlainRecord(value) && Object.values(value)
        .every((member) => member === undefined || isJson(member));
}

/** Begins the keys of flashes. */
const FLASH = "flash:";

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
  readonly #state: SessionState;

  /**
   * Sessions are made by the extension, one for each request.
   *
   * @ignore
   */
  constructor(state: SessionState) {
    this.#state = state;
  }

  /** @ignore */
  get [FRAMEWORK_OBJECT](): true {
    return true;
  }

  /** The value of a key, or undefined. */
  get<Key extends keyof Values & string>(key: Key): Values[Key] | undefined {
    return this.#state.values.get(key) as Values[Key] | undefined;
  }

  /** Whether a key has a value. */
  has(key: keyof Values & string): boolean {
    return this.#state.values.has(key);
  }

  /**
   * Sets a value. Throws `TypeError` when JSON cannot represent it and, without a store,
   * `RangeError` when the session would have more than 2,700 bytes of JSON.
   */
  set<Key extends keyof Values & string>(key: Key, value: Values[Key]): this {
    return this.#put(key, value);
  }

  /** Deletes a value; returns whether there was one. */
  delete(key: keyof Values & string): boolean {
    return this.#writable.values.delete(key);
  }

  /**
   * Ends the session, as at a logout: all values and flashes are deleted, and the client loses its cookie. What is
   * set afterwards is in a new session.
   */
  clear(): void {
    this.#writable.values.clear();
    this.#state.isCleared = true;
    this.renew();
  }

  /**
   * Gives the session a new id and restarts its `maxAge`. The values stay. Call it at each login:
   * with a store, nobody who knew the old cookie gets in with it.
   */
  renew(): this {
    this.#writable.id = crypto.randomUUID();
    this.#writable.started = now();
    return this;
  }

  /** Returns the flash of a key and deletes it. A flash is the value of the key with `flash:` in front. */
  flash<Value = unknown>(key: string): Value | undefined;
  /** Keeps a flash until it is read once, in this request or a later one. Throws as `set` does. */
  flash(key: string, value: unknown): this;
  flash(key: string, value?: unknown): unknown {
    const name = FLASH + key;
    if (arguments.length > 1) return this.#put(name, value);
    const flash = this.#state.values.get(name);
    if (flash !== undefined) this.#writable.values.delete(name);
    return flash;
  }

  #put(key: string, value: unknown): this {
    const { values, maxBytes } = this.#writable;
    checkValues(new Map(values).set(key, value), maxBytes);
    values.set(key, value);
    return this;
  }

  /** The state, to be changed; throws when it cannot be. */
  get #writable(): SessionState {
    const { closed } = this.#state;
    if (closed === undefined) return this.#state;
    throw new Error(`Cannot change the session: ${closed}`);
  }
}
