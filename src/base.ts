/** Owns the base: the place of an application on its site, which `framework.base_url` sets. */

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

/** The path below the base; a path that does not begin with the base stays as it is. */
export function withoutBase(path: string, base: string): string {
  return isWithinBase(path, base) ? path.slice(base.length) || "/" : path;
}

/** Whether a path is the base or lies below it. */
export function isWithinBase(path: string, base: string): boolean {
  return path === base || path.startsWith(`${base}/`);
}
