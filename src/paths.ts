/**
 * Owns paths: the base, where an application is on its site; the decoding of path segments; and the check that a file
 * lies in a folder.
 */

/** The path of a base, which is a path or a whole URL: encoded, without a slash at its end; "" for the whole site. */
export function basePath(baseUrl: string | null | undefined): string {
  const path = `http://localhost/${baseUrl ?? ""}`;
  const { pathname } = URL.parse(baseUrl ?? "") ?? new URL(path);
  return pathname.replace(/\/+$/, "").replace(/^\/*(?=.)/, "/");
}

/** The scheme and host of a base; "" where it is a path. */
export function baseOrigin(baseUrl: string): string {
  const url = URL.parse(baseUrl);
  return url && /^https?:$/.test(url.protocol) ? url.origin : "";
}

/** A path below a base; one that does not begin with the base stays as it is. */
export function withoutBase(path: string, base: string): string {
  return isWithinBase(path, base) ? path.slice(base.length) || "/" : path;
}

/** Whether a path is the base or lies below it. */
export function isWithinBase(path: string, base: string): boolean {
  return path === base || path.startsWith(`${base}/`);
}

/** Undoes percent-escapes; undefined where one is malformed, or not of UTF-8. */
export function decodeEscapes(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** A text as matching without case compares it. */
export function foldText(text: string): string {
  return text.toLowerCase();
}

/** A file in a folder, or the folder itself. */
export interface Inside {
  /** The real path: without links and `..`. */
  readonly path: string;
  /** The part of the real path below the folder; "" for the folder itself. */
  readonly below: string;
}

const SEPARATOR = Deno.build.os === "windows" ? "\\" : "/";

/**
 * Finds a file or folder in a folder; returns undefined when a link or `..` leads out of it. Deno's permissions
 * do not check where a link points. Rejects as `Deno.realPath()` does when one of them is missing.
 */
export async function inside(
  folder: string | URL,
  path: string,
): Promise<Inside | undefined> {
  return insideOf(await Deno.realPath(folder), await Deno.realPath(path));
}

/** The synchronous `inside()`. */
export function insideSync(
  folder: string | URL,
  path: string,
): Inside | undefined {
  return insideOf(Deno.realPathSync(folder), Deno.realPathSync(path));
}

/** Compares two real paths. Only the root of a file system ends with a separator. */
function insideOf(folder: string, path: string): Inside | undefined {
  if (path === folder) return { path, below: "" };
  const prefix = folder.endsWith(SEPARATOR) ? folder : folder + SEPARATOR;
  if (!path.startsWith(prefix)) return undefined;
  return { path, below: path.slice(prefix.length) };
}

let listener: ((file: string) => void) | undefined;

/** Reports that a file was used, or looked for and not found. */
export function noteFile(file: string): void {
  listener?.(file);
}

/** Calls back with each used file from now on. */
export function onUsedFile(callback: (file: string) => void): void {
  listener = callback;
}
