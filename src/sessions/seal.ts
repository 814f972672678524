/** Owns the two sealed cookies of a session: making their lines, and opening them. */

import { defaults, seal, unseal } from "npm:iron-webcrypto@^2.0.0";
import type { HttpRequest } from "../../mod.ts";
import { basePath } from "../base.ts";

/** A path that an attribute of a cookie can carry (RFC 6265, section 4.1.1). */
export const COOKIE_PATH: RegExp = /^\/[!-:<-~]*$/;

/** How cookies are made. */
export interface CookieRules {
  /** The first seals, each can open. */
  readonly secrets: readonly string[];
  /** The name of the cookie of the session. */
  readonly name: string;
  /** The path below which clients send it; by default that of `framework.base_url`. */
  readonly path?: string;
  /** Reads `framework.base_url`. */
  readonly baseUrl: () => string | null | undefined;
}

/** The name of the cookie that keeps when a session was last used. */
export function nameOfUse({ name }: CookieRules): string {
  return `${name}-used`;
}

/** The path below which clients send the cookies. Throws `TypeError` for a base that no cookie can have. */
export function pathOf({ name, path, baseUrl }: CookieRules): string {
  if (path !== undefined) return path;
  if (name.startsWith("__Host-")) return "/"; // RFC 6265bis, section 4.1.3.2
  // Not the base of the request: a session goes on in an application that is mounted.
  const base = basePath(baseUrl()) || "/";
  if (COOKIE_PATH.test(base)) return base;
  const hint = 'pass the option "path", or choose another "framework.base_url"';
  throw new TypeError(
    `Cannot send the cookie of the session: "${base}" is not a valid cookie path; ${hint}`,
  );
}

/**
 * Appends a cookie to the headers of a response; without content, one that makes the client forget it. In `send`, where
 * the session is final, it is too late for `response().cookie()`.
 */
export async function appendCookie(
  headers: Headers,
  request: HttpRequest,
  rules: CookieRules,
  name: string,
  maxAge: number,
  content?: readonly unknown[],
): Promise<void> {
  // The name goes in, so that one cookie is not taken for another.
  const sealed = content === undefined
    ? ""
    : await seal([name, ...content], rules.secrets[0]!, defaults);
  const age = content === undefined ? 0 : Math.ceil(maxAge);
  const path = pathOf(rules);
  const secure = request.secure ? "; Secure" : "";
  headers.append(
    "set-cookie",
    `${name}=${sealed}; Max-Age=${age}; Path=${path}; HttpOnly; SameSite=Lax${secure}`,
  );
}

/** The content of a cookie of a request; undefined when there is none, or it was not sealed here. */
export async function openCookie(
  request: HttpRequest,
  { secrets }: CookieRules,
  name: string,
): Promise<unknown[] | undefined> {
  const cookie = request.cookies[name];
  if (cookie === undefined) return;
  for (const secret of secrets) {
    const content = await unseal(cookie, secret, defaults).catch(() => {});
    // Another program with the same secret may seal anything.
    if (Array.isArray(content) && content[0] === name) return content.slice(1);
  }
}
