/** Owns the targets of redirects. */

import { isWithinBase } from "../base.ts";
import { wrongKind } from "../errors.ts";

/** The schemes that make a client run the code in a target. */
const CODE = /^(?:javascript|data|vbscript):$/;

/**
 * The target of a redirect for the header `Location`, encoded. A target without a scheme stays on this site: it
 * gets the origin and the base in front, unless it begins with the base, as the URLs of `getUrl` do.
 *
 * Throws `TypeError` for what is not a string, control characters, schemes that run code, and malformed URLs.
 */
export function locationOf(url: string, base: string, origin: string): string {
  if (typeof url !== "string") {
    throw wrongKind("redirect", "the target must be a string", url);
  }
  const target = url.trim();
  // deno-lint-ignore no-control-regex -- control characters are what must be found
  const hasControls = /[\x00-\x1f\x7f]/.test(target);
  if (hasControls) throw refused(url, "it has control characters");
  const hasScheme = /^[a-z][a-z0-9+.-]*:/i.test(target);
  if (!hasScheme) return onThisSite(target, base, origin);
  const parsed = URL.parse(target);
  if (parsed === null) throw refused(url, "it is not a URL");
  if (CODE.test(parsed.protocol)) throw refused(url, "it would run code");
  // The slash that a URL gets after its host changes nothing.
  return parsed.href === `${target}/` ? target : parsed.href;
}

function refused(url: string, why: string): TypeError {
  return new TypeError(`Cannot redirect to ${JSON.stringify(url)}: ${why}`);
}

function onThisSite(target: string, base: string, origin: string): string {
  const site = "http://localhost";
  if (/^[?#]/.test(target)) {
    const { search, hash } = new URL(target, site);
    return search + hash || target;
  }
  const { pathname, search, hash } = new URL(`${site}/${target}`);
  // Clients read a second slash as the beginning of another host.
  const path = pathname.replace(/^\/+/, "/");
  const isRooted = /^[/\\]/.test(target);
  const prefix = isRooted && isWithinBase(path, base) ? "" : base;
  return origin + prefix + path + search + hash;
}
