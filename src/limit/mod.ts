/**
 * Limits how often a client may do something: log in, send a form, ask for a costly page.
 *
 * The limit is middleware for a route or a group. A request beyond it goes to `error` as a 429 with
 * `Retry-After`; JSON clients get problem details. The window of a key begins with its first request and ends
 * `seconds` later; refused requests do not extend it. Routes that share a limit count together: make one limit
 * for each if you do not want that.
 *
 * By default the key is the client's `ip`. IPv6 addresses count by their /64, which usually belongs to one
 * household; an IPv4 address mapped to IPv6 counts as IPv4. Behind a proxy, set `framework.trust_proxy`, or all
 * clients count as one; set it on a mounted engine, too, if that has limits. Each process keeps the counts of up to
 * 10,000 keys in memory and drops the oldest first. Several workers or machines need a `store` that they share.
 *
 * Guide: [docs/extensions.md](./docs/extensions.md)
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

import type {
  Engine,
  Framework,
  HttpRequest,
  MaybePromise,
} from "../../mod.ts";
import { refusal, wrongKind } from "../errors.ts";
import { TRACK } from "../extension_keys.ts";
import { checkOptions, MAX_SECONDS } from "../options.ts";
import { isThenable, run, type Steps } from "../steps.ts";

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

const OPTIONS: readonly (keyof LimitOptions)[] = [
  "requests",
  "seconds",
  "key",
  "store",
];

/** How many keys are kept in memory. */
const MAX_KEYS = 10_000;

/** The shortest window: a date has milliseconds. */
const MIN_SECONDS = 0.001;

/** In characters: a longer key is hashed. */
const MAX_KEY_LENGTH = 256;

/**
 * Makes middleware that refuses further requests of a key. Routes with the same middleware count together; a request
 * that meets it several times, as in a group and on a route of it, counts once for each key. Once it has its response,
 * each call counts, as for the messages of a WebSocket.
 *
 * Middleware and filters that call it without `await` let nobody in either: it throws at once, unless its `key` or
 * `store` returns a promise, or the key is long; then it returns a promise, for which the request waits. A callback has
 * run by then, and what it has sealed, as by `json()`, is sent: await it there.
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
  const windows = new WeakMap<HttpRequest, Windows>();
  const check = function* (request?: HttpRequest): Steps<void> {
    const counted: string = yield countedKey(yield key());
    // Behind the response, such as for each message of a WebSocket, a call counts by itself.
    const known = request && !app.response().sent
      ? windowsOf(request, windows)
      : undefined;
    const counting = known?.get(counted) ??
      windowIn(store.add(counted, seconds));
    known?.set(counted, counting);
    const window: LimitCount = yield counting;
    if (window.count > requests) throw tooMany(window);
  };
  return () => {
    const request = requestOf(app);
    const checking = run(check(request));
    if (!(checking instanceof Promise)) return;
    return request?.[TRACK]("limit", checking) ?? checking;
  };
}

/**
 * The current request. Undefined outside of requests, where a `key` that needs none still counts, and where a mapped
 * `request` returns something else.
 */
function requestOf(app: Engine | typeof Framework): HttpRequest | undefined {
  try {
    const request = app.request();
    return TRACK in request ? request : undefined;
  } catch {
    return undefined;
  }
}

/** What the store has returned for the keys of a request, which may meet a limit again. */
type Windows = Map<string, MaybePromise<LimitCount>>;

function windowsOf(
  request: HttpRequest,
  windows: WeakMap<HttpRequest, Windows>,
): Windows {
  const known: Windows = windows.get(request) ?? new Map();
  windows.set(request, known);
  return known;
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
  checkOptions(action, options, OPTIONS);
  const { requests, seconds, key, store } = { ...options };
  if (key !== undefined && typeof key !== "function") {
    throw wrongKind(action, "the key must be a function", key);
  }
  if (store !== undefined && typeof store?.add !== "function") {
    throw wrongKind(action, 'the store must have a method "add"', store);
  }
  const why = !(Number.isInteger(requests) && requests > 0)
    ? `"requests" must be a whole number, at least 1, got "${requests}"`
    : !(Number.isFinite(seconds) && seconds >= MIN_SECONDS &&
      seconds <= MAX_SECONDS) &&
      `"seconds" must be from ${MIN_SECONDS} to ${MAX_SECONDS}, got "${seconds}"`;
  if (why) throw new RangeError(`Cannot limit requests: ${why}`);
}

/** The window that a store has returned: a copy, since the store may go on counting in its own. */
function windowIn(added: MaybePromise<LimitCount>): MaybePromise<LimitCount> {
  if (!isThenable(added)) return { ...checkedCount(added) };
  return Promise.resolve(added).then((window) => ({ ...checkedCount(window) }));
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

/** A store in the memory of this process, for windows of one length. */
function memoryStore(): LimitStore {
  const counts = new Map<string, { count: number; resets: Date }>();
  return {
    add(key, seconds) {
      const now = Date.now();
      const end = now + seconds * 1000;
      // A window that ends later than one that begins now is from before the clock was put back.
      const isOver = ({ resets }: LimitCount): boolean =>
        resets.getTime() <= now || resets.getTime() > end;
      // Windows are as long as each other, so the first in the map is the first to end.
      for (const [known, window] of counts) {
        if (!isOver(window)) break;
        counts.delete(known);
      }
      const known = counts.get(key);
      // After the clock was put back, a window that is over may stand behind another.
      if (known !== undefined && !isOver(known)) {
        return { ...known, count: ++known.count };
      }
      counts.delete(key);
      const [oldest] = counts.keys();
      if (counts.size >= MAX_KEYS) counts.delete(oldest!);
      const window = { count: 1, resets: new Date(end) };
      counts.set(key, window);
      return { ...window };
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
