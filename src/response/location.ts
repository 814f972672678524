/**
 * Owns where the application lies: what of a path is below its base, and where a redirect leads.
 */

/** The schemes that make a client run code of whoever wrote the target. */
const CODE: ReadonlySet<string> = new Set(["javascript", "data", "vbscript"]);

/**
 * A target as it may stand in `Location`, encoded. One without a scheme stays on this site: it is put
 * under the base unless it lies there already, as what `getUrl` answers does.
 *
 * Throws `TypeError` for control characters, schemes that run code, and what is no URL.
 */
export function locationOf(url: string, base: string): string {
  const target = String(url).trim();
  const refused = `Cannot redirect to ${JSON.stringify(url)}`;
  // deno-lint-ignore no-control-regex -- control characters are what must be found
  if (/[\x00-\x1f\x7f]/.test(target)) {
    throw new TypeError(`${refused}: it has control characters`);
  }
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(target)?.[1]?.toLowerCase();
  if (scheme === undefined) return onThisSite(target, base);
  if (CODE.has(scheme)) {
    throw new TypeError(`${refused}: the scheme "${scheme}" runs code`);
  }
  if (URL.canParse(target)) return new URL(target).href;
  throw new TypeError(`${refused}: it is not a URL`);
}

function onThisSite(target: string, base: string): string {
  const site = "http://localhost";
  if (/^[?#]/.test(target)) {
    const { search, hash } = new URL(target, site);
    return search + hash || target;
  }
  const { pathname, search, hash } = new URL(`${site}/${target}`);
  // Clients take a second slash for the beginning of another host.
  const path = pathname.replace(/^\/+/, "/");
  const isRooted = /^[/\\]/.test(target);
  return (isRooted && isUnder(path, base) ? "" : base) + path + search + hash;
}

/** The path below the base; one that does not lie below it stays as it is. */
export function withoutBase(path: string, base: string): string {
  return isUnder(path, base) ? path.slice(base.length) || "/" : path;
}

/** Whether a path is the base or lies below it. */
function isUnder(path: string, base: string): boolean {
  return path === base || path.startsWith(`${base}/`);
}
