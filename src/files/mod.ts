/**
 * Serves a folder of static files by `@std/http/file-server`: with media types, `ETag` and
 * `Last-Modified`, conditional requests, ranges and HEAD. The file server is loaded with the first file.
 *
 * Nothing outside of the folder is served, and no file or folder whose name begins with a dot, neither by
 * `..` nor by an encoded slash or a symbolic link. A missing file goes to `notFound`. Needs permission to read
 * the folder and the targets of links in it.
 *
 * @example
 * ```ts
 * import { Engine } from "@framework/core";
 * import { files } from "@framework/core/files";
 * import { assertEquals } from "@std/assert";
 *
 * const folder = await Deno.makeTempDir();
 * await Deno.writeTextFile(`${folder}/style.css`, "body { margin: 0 }");
 *
 * const app = new Engine();
 * files(app, "/public", folder, { cacheControl: "public, max-age=600" });
 *
 * const headers = { range: "bytes=0-3" };
 * const url = "http://localhost/public/style.css";
 * const response = await app.fetch(new Request(url, { headers }));
 * assertEquals(response.status, 206);
 * assertEquals(await response.text(), "body");
 * const type = response.headers.get("content-type");
 * assertEquals(type, "text/css; charset=UTF-8");
 * ```
 *
 * @module
 */

import type { serveFile } from "@std/http/file-server";
import type { Engine, Framework, Route } from "../../mod.ts";

/** The options of {@linkcode files}. */
export interface FilesOptions {
  /** The `Cache-Control` of each file; `no-cache` when not given, so that clients ask whether it has changed. */
  readonly cacheControl?: string;
  /** The file that is served for its folder, such as `index.html`; when not given, folders are not found. */
  readonly index?: string;
}

type ServeFile = typeof serveFile;

/** A file or folder below the folder that is served. */
interface Found {
  /** The path, without links. */
  readonly path: string;
  readonly fileInfo: Deno.FileInfo;
}

/** A slash or backslash inside a name: as a separator, it would give one file two addresses. */
const INNER_SLASH = /%2f|%5c/i;

/** A name that begins with a dot, or an empty one in front of another. */
const HIDDEN = /(?:^|[/\\])[./\\]/;

/**
 * Serves the files of a folder under a prefix, by a route for GET and HEAD.
 *
 * Throws `TypeError` when the prefix has parameters or optional parts.
 */
export function files(
  app: Engine | typeof Framework,
  prefix: string,
  folder: string | URL,
  options: FilesOptions = {},
): void {
  if (typeof prefix !== "string" || /[@(*]/.test(prefix)) {
    const got = Deno.inspect(prefix);
    throw new TypeError(
      `Cannot serve files: the prefix must be a path without parameters, got ${got}`,
    );
  }
  const load = loader();
  const pattern = `GET ${prefix.replace(/\/+$/, "")}/*`;
  const serve = async (route: Route): Promise<Response | void> => {
    const found = await find(app, route, folder, options.index);
    if (found === undefined) return app.notFound();
    if (found.fileInfo.isFile) {
      return respond(await load(), app.request().raw, found, options);
    }
    // Relative addresses on the page of a folder need the slash.
    return app.redirect(app.request().url.replace(/\?|$/, "/$&"), 301);
  };
  app.route(pattern, serve, true);
}

/**
 * Returns a function that loads the file server on its first call. Deno leaks the context of an import into
 * what runs next, so the import runs in the context of the declaration, not in that of a request.
 */
function loader(): () => Promise<ServeFile> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const loaded = promise.then(async () => {
    const { serveFile } = await import("@std/http/file-server");
    return serveFile;
  });
  return () => {
    resolve();
    return loaded;
  };
}

/** The file or folder that a request asks for; undefined when it is missing or hidden. */
async function find(
  app: Engine | typeof Framework,
  { splat }: Route,
  folder: string | URL,
  index: string | undefined,
): Promise<Found | undefined> {
  const [path = ""] = app.request().url.split("?", 1);
  const isFolder = path.endsWith("/");
  if (isFolder && index === undefined) return undefined;
  const parent = splat.replace(/\/?$/, "/").replace(/^\/$/, "");
  const name = isFolder ? parent + index : splat;
  if (HIDDEN.test(name) || INNER_SLASH.test(path)) return undefined;
  const found = await inside(await Deno.realPath(folder), name);
  const isRedirect = found?.fileInfo.isDirectory && !isFolder && index;
  return found?.fileInfo.isFile || isRedirect ? found : undefined;
}

/** The file or folder of that name below a folder, unless a link leads outside or to a hidden one. */
async function inside(
  folder: string,
  name: string,
): Promise<Found | undefined> {
  try {
    const path = await Deno.realPath(`${folder}/${name}`);
    const below = path.slice(folder.length);
    const isInside = path === folder ||
      path.startsWith(folder) && /^[/\\]/.test(below);
    if (!isInside || HIDDEN.test(below.slice(1))) return undefined;
    return { path, fileInfo: await Deno.stat(path) };
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return undefined; // missing, or a name that is too long
  }
}

async function respond(
  serveFile: ServeFile,
  request: Request,
  { path, fileInfo }: Found,
  { cacheControl = "no-cache" }: FilesOptions,
): Promise<Response> {
  const asked = withoutRange(request, fileInfo) ?? request;
  const response = await serveFile(asked, path, { fileInfo });
  const { headers } = response;
  headers.delete("server");
  headers.set("cache-control", cacheControl);
  if (!headers.has("content-type")) {
    headers.set("content-type", "application/octet-stream");
  }
  return response;
}

/**
 * The request without its range, when the range must not count, else undefined: the file server ignores
 * `If-Range` (RFC 9110, section 13.1.5), and a range counts for GET only (section 14.2).
 */
function withoutRange(
  { method, headers }: Request,
  { mtime }: Deno.FileInfo,
): Request | undefined {
  const isHead = method === "HEAD";
  const condition = headers.get("if-range");
  const counts = condition === null || condition === mtime?.toUTCString();
  if (!isHead && counts) return undefined;
  const others = [...headers].filter(([name]) => name !== "range");
  return new Request("http://localhost/", { headers: others });
}
