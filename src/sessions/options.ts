/** Owns the options of sessions: their defaults and checks. */

import { checkOptions, MAX_SECONDS } from "../options.ts";
import type { SessionStore } from "./store.ts";

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
  /** The host that gets the cookie, and its subdomains; this host alone by default. */
  readonly domain?: string;
  /** Which requests from other sites carry the cookie; `Lax`, for links only, by default. `None` needs TLS. */
  readonly sameSite?: "Strict" | "Lax" | "None";
  /** Whether the cookie is sent over TLS only; true on https by default. */
  readonly secure?: boolean;
  /** False has clients forget the cookie when the browser is closed; true by default. */
  readonly persistent?: boolean;
  /** Where sessions are kept; in the cookie itself by default. */
  readonly store?: SessionStore;
}

/** The options with their defaults. */
export type Rules = SessionOptions & typeof DEFAULTS & {
  readonly secrets: readonly string[];
  /** How many bytes the JSON of a session may have. */
  readonly maxBytes: number;
};

const DEFAULTS = {
  maxAge: 604_800,
  idle: 86_400,
  name: "session",
  sameSite: "Lax" as NonNullable<SessionOptions["sameSite"]>,
  persistent: true,
};

const OPTIONS: readonly string[] =
  "secret maxAge idle name path domain sameSite secure persistent store"
    .split(" ");

/** How many bytes of JSON fit a cookie of 4,096 bytes (RFC 6265, section 6.1). */
const MAX_COOKIE_BYTES = 2_700;

const COOKIE_NAME = /^[!#$%&'*+.^`|~\w-]{1,64}$/;

/** A path that an attribute of a cookie can carry (RFC 6265, section 4.1.1). */
const COOKIE_PATH = /^\/[!-:<-~]*$/;

const DOMAIN = /^\.?[\w-]+(?:\.[\w-]+)*$/;

const SAME_SITE = ["Strict", "Lax", "None"];

/** Checks the options. Throws `TypeError` when one is wrong. */
export function rulesOf(options: SessionOptions): Rules {
  checkOptions("keep sessions", options, OPTIONS);
  const secrets = [options.secret].flat();
  const maxBytes = options.store === undefined ? MAX_COOKIE_BYTES : Infinity;
  const rules = { ...DEFAULTS, ...options, secrets, maxBytes };
  const why = problemOf(rules);
  if (why) throw new TypeError(`Cannot keep sessions: ${why}`);
  return rules;
}

function problemOf(rules: Rules): string | undefined {
  const { secrets, name, path = "/", domain = "a", sameSite, store } = rules;
  if (secrets.some((secret) => secret === undefined)) {
    return "the secret is undefined: is its environment variable set?";
  }
  if (!secrets.length || secrets.some(({ length }) => length < 32)) {
    return "each secret must have at least 32 characters";
  }
  const times = [rules.maxAge, rules.idle];
  if (!times.every((time) => time > 0)) {
    return `"maxAge" and "idle" must be greater than 0 seconds, got ${times}`;
  }
  if (rules.maxAge > MAX_SECONDS) {
    return `"maxAge" must be at most ${MAX_SECONDS} seconds`;
  }
  if (!COOKIE_NAME.test(name)) return `"${name}" is not a valid cookie name`;
  if (!COOKIE_PATH.test(path)) return `"${path}" is not a valid cookie path`;
  if (!DOMAIN.test(domain)) return `"${domain}" is not a valid cookie domain`;
  if (!SAME_SITE.includes(sameSite)) {
    return `"sameSite" must be Strict, Lax or None, got "${sameSite}"`;
  }
  if (name.startsWith("__Host-") && (path !== "/" || rules.domain)) {
    return `the path of the cookie "${name}" must be "/", without a domain`;
  }
  const missing = (["read", "write", "remove"] as const)
    .find((method) => store && typeof store[method] !== "function");
  if (missing) return `the store has no method "${missing}"`;
}
