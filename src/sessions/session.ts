/** Owns the session of one request: reading and changing it. How it is kept is in `stored_session.ts`. */

import { wrongKind } from "../errors.ts";
import { FRAMEWORK_OBJECT } from "../framework_object.ts";
import { isPlainRecord } from "../plain_record.ts";
import type { Content, Entries, StoredSession } from "./stored_session.ts";

/** The session during one request. */
export interface SessionState {
  id: string;
  /** The id under which the request found it; undefined for a new one. */
  readonly opened: string | undefined;
  started: number;
  /** When it was last used; Infinity for a new one. */
  readonly used: number;
  values: Map<string, unknown>;
  flashes: Map<string, unknown>;
  /** How many bytes of JSON it may have. */
  readonly maxBytes: number;
  /** What it was when the request began, to notice a change. */
  readonly before: string;
  /** Whether the request has asked for the session. */
  isUsed: boolean;
  /** Whether the request has ended the session that it found: what it has kept since is a new one. */
  isCleared: boolean;
}

/** The state of a session that was kept, or of a new one. */
export function stateOf(
  maxBytes: number,
  stored?: StoredSession,
): SessionState {
  const state = {
    id: stored?.id ?? crypto.randomUUID(),
    opened: stored?.id,
    started: stored?.started ?? Date.now() / 1000,
    used: stored?.used ?? Infinity,
    values: new Map(stored?.values),
    flashes: new Map(stored?.flashes),
    maxBytes,
    before: "",
    isUsed: false,
    isCleared: false,
  };
  return { ...state, before: textOf(state) };
}

/**
 * The session as JSON. Throws `TypeError` for a value that JSON cannot represent, and `RangeError` when the values
 * are too large.
 */
export function checkedTextOf(state: SessionState): string {
  const { values, flashes, maxBytes } = state;
  for (const [key, value] of [...values, ...flashes]) {
    if (isJson(value)) continue;
    const why = `JSON cannot represent ${Deno.inspect(value, { depth: 1 })}`;
    throw new TypeError(`Cannot keep "${key}" in the session: ${why}`);
  }
  const text = JSON.stringify([[...values], [...flashes]]);
  const { length } = new TextEncoder().encode(text);
  if (length <= maxBytes) return textOf(state);
  const why =
    `it takes ${length} bytes, but a cookie holds at most ${maxBytes}`;
  throw new RangeError(`Cannot keep the session: ${why}`);
}

/** What a request can change of a session. */
type Changeable = Pick<SessionState, "id" | "started" | "values" | "flashes">;

function textOf({ id, started, values, flashes }: Changeable): string {
  return JSON.stringify([id, started, [...values], [...flashes]]);
}

/** Undoes what the request has changed. */
export function restore(state: SessionState): void {
  const [id, started, values, flashes] = JSON.parse(state.before);
  Object.assign(state, { id, started, isCleared: false });
  state.values = new Map(values);
  state.flashes = new Map(flashes);
}

/**
 * What to keep of a session that is used now, as a copy; of one that others may have changed, with the keys that this
 * request has changed.
 */
export function storedOf(
  state: SessionState,
  others?: Content,
): StoredSession {
  const { id, started, values, flashes, before } = state;
  const copy: Content = JSON.parse(
    JSON.stringify({ values: [...values], flashes: [...flashes] }),
  );
  const stored = { id, started, used: Date.now() / 1000, ...copy };
  if (others === undefined) return stored;
  const [, , oldValues, oldFlashes] = JSON.parse(before);
  return {
    ...stored,
    values: merged(others.values, oldValues, copy.values),
    flashes: merged(others.flashes, oldFlashes, copy.flashes),
  };
}

/** Applies to other entries what has changed from `before` to `after`. */
function merged(others: Entries, before: Entries, after: Entries): Entries {
  const [result, old, current] = [others, before, after].map((list) =>
    new Map(list)
  ) as [Map<string, unknown>, Map<string, unknown>, Map<string, unknown>];
  for (const key of old.keys()) if (!current.has(key)) result.delete(key);
  for (const [key, value] of current) {
    const isSame = JSON.stringify(old.get(key)) === JSON.stringify(value);
    if (!isSame) result.set(key, value);
  }
  return [...result];
}

/** Whether JSON carries a value as it is; not where it contains itself, or one of the values around. */
function isJson(value: unknown, around: readonly unknown[] = []): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object") {
    return typeof value === "string" || typeof value === "boolean";
  }
  if (value === null) return true;
  const isList = Array.isArray(value);
  if (around.includes(value) || !isList && !isPlainRecord(value)) return false;
  const members: unknown[] = isList ? [...value] : Object.values(value); // a hole would become null
  const here = [...around, value];
  return members.every((member) =>
    !isList && member === undefined || isJson(member, here)
  );
}

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
  readonly #access: { readonly closed: string | undefined };

  /**
   * Sessions are made by the extension, one for each request.
   *
   * @ignore
   */
  constructor(
    state: SessionState,
    access: { readonly closed: string | undefined },
  ) {
    this.#state = state;
    this.#access = access;
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
   * Sets a value. Throws `TypeError` when JSON cannot represent it or the key is not a string and, without a store,
   * `RangeError` when the session would have more than 2,700 bytes of JSON.
   */
  set<Key extends keyof Values & string>(key: Key, value: Values[Key]): this {
    return this.#put("values", key, value);
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
    const state = this.#writable;
    state.values.clear();
    state.flashes.clear();
    if (state.opened === undefined) return;
    state.isCleared = true;
    this.renew();
  }

  /**
   * Gives the session a new id and restarts its `maxAge`. The values stay. Call it at each login:
   * with a store, nobody who knew the old cookie gets in with it.
   */
  renew(): this {
    this.#writable.id = crypto.randomUUID();
    this.#writable.started = Date.now() / 1000;
    return this;
  }

  /** Returns the flash of a key and deletes it. */
  flash<Value = unknown>(key: string): Value | undefined;
  /** Keeps a flash until it is read once, in this request or a later one. Throws as `set` does. */
  flash(key: string, value: unknown): this;
  flash(key: string, value?: unknown): unknown {
    if (arguments.length > 1) return this.#put("flashes", key, value);
    const flash = this.#state.flashes.get(key);
    if (flash !== undefined) this.#writable.flashes.delete(key);
    return flash;
  }

  #put(kind: "values" | "flashes", key: string, value: unknown): this {
    if (typeof key !== "string") {
      throw wrongKind("change the session", "the key must be a string", key);
    }
    const state = this.#writable;
    checkedTextOf({ ...state, [kind]: new Map(state[kind]).set(key, value) });
    state[kind].set(key, value);
    return this;
  }

  /** The state, to be changed; throws when it cannot be. */
  get #writable(): SessionState {
    const { closed } = this.#access;
    if (closed === undefined) return this.#state;
    throw new Error(`Cannot change the session: ${closed}`);
  }
}
