/**
 * Owns the base: where an application is on its site. It has two sides, which differ for a mounted application:
 *
 * - `Plan.strippedBase` is taken off the path of a request (`Exchange.pathBelowBase`). It is that of
 *   `framework.base_url`: what is in front of a mounted application was taken off by `mount`.
 * - `Exchange.base` is put in front of the URLs that clients get. It is that of the setting, too, or else the mount
 *   point; without a request, only the setting is known.
 */

import { decodeEscapes } from "./path_text.ts";

/** The path of a base, which is a path or a whole URL: encoded, without a slash at its end; "" for the whole site. */
export function basePath(baseUrl: string | null | undefined): string {
  const path = `http://localhost/${baseUrl ?? ""}`;
  const { pathname } = URL.parse(baseUrl ?? "") ?? new URL(path);
  return pathname.replace(/\/+$/, "").replace(/^\/*(?=.)/, "/");
}

/** The scheme and host of a base; "" where it is a path. */
export function baseOrigin(baseUrl: string | null): string {
  const url = URL.parse(baseUrl ?? "");
  return url && /^https?:$/.test(url.protocol) ? url.origin : "";
}

/** A path below a base; one that does not begin with the base stays as it is. */
export function withoutBase(path: string, base: string): string {
  const length = lengthOfBase(path, base);
  return length === undefined ? path : path.slice(length) || "/";
}

/** Whether a path is the base or lies below it. */
export function isWithinBase(path: string, base: string): boolean {
  return lengthOfBase(path, base) !== undefined;
}

/** How long the base at the start of a path is, however it is encoded; undefined where it is not there. */
function lengthOfBase(path: string, base: string): number | undefined {
  if (path === base || path.startsWith(`${base}/`)) return base.length;
  if (!path.includes("%")) return undefined;
  const { length } = base.split("/");
  const start = path.split("/").slice(0, length).join("/");
  const isBase = decodeEscapes(start) === (decodeEscapes(base) ?? base);
  return isBase ? start.length : undefined;
}

/** What tells the base and the URL of a request: an `Engine` or `Framework`. */
interface Based {
  has(name: "framework.base_url"): boolean;
  request(): { readonly base: string; readonly url: string };
}

/**
 * The path and query of the current request below `framework.base_url`. Without that setting, the base of a mounted
 * application is its prefix, which its `url` does not have: a path that begins alike stays as it is.
 */
export function urlBelowBase(app: Based): string {
  const { base, url } = app.request();
  if (base === "/" || !app.has("framework.base_url")) return url;
  const [path = ""] = url.split("?", 1);
  return withoutBase(path, base) + url.slice(path.length);
}
