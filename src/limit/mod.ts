/**
 * Limits how often a client may do something: log in, send a form, ask for a costly page.
 *
 * The limit is middleware for a route or a group. A request beyond it goes to `error` as a 429 with
 * `Retry-After`; JSON clients get problem details. The window of a key begins with its first request and ends
 * `seconds` later; refused requests do not extend it. Each run of the middleware counts. Routes that share a limit count
 * together: make one limit for each if you do not want that.
 *
 * By default the key is the client's `ip`. IPv6 addresses count by their /64, which usually belongs to one
 * household; an IPv4 address mapped to IPv6 counts as IPv4. Behind a proxy, set `framework.trust_proxy`, or all
 * clients count as one; set it on a mounted engine, too, if that has limits. Each process keeps the counts of up to
 * 10,000 keys in memory and drops the oldest first. Several workers or machines need a `store` that they share.
 *
 * Guide: [docs/reference.md](./docs/reference.md#limit)
 *
 * @example
 * ```ts
 * import { Engine } from "@framework/core";
 * import { limit } from "@framework/core/limit";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * const slow = limit(app, { requests: 2, seconds: 60 });
 * app.route("POST /login", () => "Wrong password").addMiddleware(slow);
 *
 * const login = () =>
 *   app.fetch(new Request("http://localhost/login", { method: "POST" }));
 * const responses = [await login(), await login(), await login()];
 * assertEquals(responses.map(({ status }) => status), [200, 200, 429]);
 * assertEquals(responses[2]!.headers.get("retry-after"), "60");
 * ```
 *
 * @module
 */

import type { Engine, Framework, MaybePromise } from "../../mod.ts";
import { refusal, wrongKind } from "../errors.ts";
import { TRACK } from "../extension_keys.ts";
import { checkOptions, MAX_SECONDS } from "../options.ts";
import { run, type Steps } from "../waiting.ts";

/** The options of {@linkcode limit}. */
export interface LimitOptions {
  /** How many requests a key may make in a window. */
  readonly requests: number;
  /** How long a window is, from the first request of a key. */
  readonly seconds: number;
  /**
   * Returns whom or what the current request counts for; the client's address by default. Anything but a string,
   * such as a list that a client sent instead of a name, is an error.
   */
  readonly key?: () => MaybePromise<string>;
  /** Where requests are counted; in the memory of this process by default. */
  readonly store?: LimitStore;
}

/** Where requests are counted, for all workers and machines that share it. */
export interface LimitStore {
  /**
   * Counts a request of a key, in one step for all that share the store: in the window of the key, or in a new one of
   * that many seconds when there is none, or it is over. Limits that share a store need different keys.
   */
  add(key: string, seconds: number): MaybePromise<LimitCount>;
}

/** The state of a window. */
export interface LimitCount {
  /** How many requests the window has, this one included. */
  readonly count: number;
  /** When the window is over. */
  readonly resets: Date;
}

/** How many keys are kept in memory. */
const MAX_KEYS = 10_000;

/** In characters: a longer key is hashed. */
const MAX_KEY_LENGTH = 256;

/**
 * Makes middleware that refuses further requests of a key. A handler may call it, too, such as for each message of a
 * WebSocket. Without `await`, it lets nobody in either: it throws at once, unless its `key` or `store` returns a
 * promise, or the key is long; then it returns a promise, for which the request waits. A callback has run by then, and
 * what it has sealed, as by `json()`, is sent: await it there.
 *
 * Throws `TypeError` for an unknown option, a `key` that is no function and a `store` without `add`, and `RangeError`
 * when `requests` is not a whole number, or below 1, or `seconds` is below 0.001 or above 1,000,000,000,000. A store
 * that returns something else than a count and a date is an error, a 500.
 */
export function limit(
  app: Engine | typeof Framework,
  options: LimitOptions,
): () => MaybePromise<void> {
  checkLimit(options);
  const { requests, seconds, store = memoryStore() } = options;
  const { key = () => networkOf(app.request().ip) } = options;
  const check = function* (): Steps<void> {
    const counted: string = yield countedKey(yield key());
    const window = checkedCount(yield store.add(counted, seconds));
    if (window.count > requests) throw tooMany(window);
  };
  return () => {
    const request = app.request();
    const checking = run(check());
    if (checking instanceof Promise) return request[TRACK]("limit", checking);
  };
}

function tooMany({ resets }: LimitCount): Error {
  const left = Math.ceil((resets.getTime() - Date.now()) / 1000);
  const wait = String(Math.max(left, 1));
  const headers = { "retry-after": wait };
  const message = `Too many requests: try again in ${wait} s`;
  return refusal(429, message, { headers });
}

/** The key under which a request is counted: the hash of a long one, which a client may have chosen. */
function countedKey(key: unknown): MaybePromise<string> {
  if (typeof key !== "string") {
    throw wrongKind("limit requests", "the key must be text", key);
  }
  return key.length <= MAX_KEY_LENGTH ? key : hashOf(key);
}

async function hashOf(text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return hash.toHex();
}

function checkLimit(options: LimitOptions): void {
  const action = "limit requests";
  checkOptions(action, options, ["requests", "seconds", "key", "store"]);
  const { requests, seconds, key, store } = options;
  if (key !== undefined && typeof key !== "function") {
    throw wrongKind(action, "the key must be a function", key);
  }
  if (store !== undefined && typeof store.add !== "function") {
    throw wrongKind(action, 'the store must have a method "add"', store);
  }
  const why = !(Number.isInteger(requests) && requests > 0)
    ? `"requests" must be a whole number, at least 1, got "${requests}"`
    : !(seconds >= 0.001 && seconds <= MAX_SECONDS) &&
      `"seconds" must be from 0.001 to ${MAX_SECONDS}, got "${seconds}"`;
  if (why) throw new RangeError(`Cannot limit requests: ${why}`);
}

/** What a store returned. Throws `TypeError` unless that is a window: compared with a limit, it would admit anybody. */
function checkedCount(window: LimitCount): LimitCount {
  const { count, resets } = Object(window);
  const isDate = resets instanceof Date && !Number.isNaN(resets.getTime());
  if (Number.isInteger(count) && count >= 1 && isDate) return window;
  const rule =
    "the store must return { count, resets }: a whole number, at least 1, and a valid Date";
  throw wrongKind("limit requests", rule, window);
}

/** A store in the memory of this process, for windows of one length: the first in the map is the first to end. */
function memoryStore(): LimitStore {
  const windows = new Map<string, { count: number; resets: Date }>();
  return {
    add(key, seconds) {
      const now = Date.now();
      for (const [known, { resets }] of windows) {
        if (resets.getTime() > now) break;
        windows.delete(known);
      }
      const known = windows.get(key);
      if (known !== undefined) return { ...known, count: ++known.count };
      const [oldest] = windows.keys();
      if (windows.size >= MAX_KEYS) windows.delete(oldest!);
      const window = { count: 1, resets: new Date(now + seconds * 1000) };
      windows.set(key, window);
      return window;
    },
  };
}

/** The /64 of an IPv6 address, the IPv4 address that is mapped to one; any other text as it is. */
function networkOf(ip: string): string {
  // The URL standard writes an address in one way (section 3.5).
  const address = URL.parse(`http://[${ip}]`)?.hostname.slice(1, -1);
  if (address === undefined) return ip;
  const [head = [], tail = []] = address.split("::")
    .map((part) => part.split(":").filter((group) => group !== ""));
  const zeros = Array<string>(8 - head.length - tail.length).fill("0");
  const groups = [...head, ...zeros, ...tail];
  const isMapped = groups.slice(0, 6).join(":") === "0:0:0:0:0:ffff";
  if (!isMapped) return `${groups.slice(0, 4).join(":")}::/64`;
  return groups.slice(6).map((group) => parseInt(group, 16))
    .flatMap((number) => [number >> 8, number & 255]).join(".");
}
