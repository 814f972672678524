/**
 * Serves a folder of static files by `@std/http/file-server`: with media types, `ETag` and `Last-Modified`,
 * conditional requests, ranges and HEAD. The file server is loaded with the first file.
 *
 * It never serves dot files or anything outside the folder, whether the path has `..`, an encoded slash or a
 * symbolic link. A missing file goes to `notFound`, and a range beyond the end of a file to `error`, as a 416.
 * It needs permission to read the folder and the targets of links in it.
 *
 * Clients that accept it get `style.css.br` or `style.css.gz` instead of `style.css`, unless the compressed file
 * is older. Compressed files have an `ETag` of their own. Ranges are always those of the
 * file itself, so a resumed download never mixes two forms.
 *
 * Guide: [docs/extensions.md](./docs/extensions.md)
 *
 * @example The URL of a file changes with its content, so clients may keep it for a year
 * ```ts
 * import { Engine } from "@framework/core";
 * import { files } from "@framework/core/files";
 * import { assertEquals, assertMatch } from "@std/assert";
 *
 * const folder = await Deno.makeTempDir();
 * await Deno.writeTextFile(`${folder}/style.css`, "body { margin: 0 }");
 *
 * const app = new Engine();
 * const asset = files(app, "/public", folder);
 * app.view().set("asset", asset); // {{ asset("style.css") }} in every template
 *
 * assertMatch(asset("style.css"), /^\/public\/style\.css\?v=\w+$/);
 * assertEquals(asset("missing.css"), "/public/missing.css");
 * const response = await app.fetch(asset("style.css"));
 * const caching = response.headers.get("cache-control");
 * assertEquals(caching, "public, max-age=31536000, immutable");
 * await response.body?.cancel();
 * ```
 *
 * @example A range
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
import type { Engine, Framework, HttpRequest, Route } from "../../mod.ts";
import { fromFileUrl } from "@std/path/from-file-url";
import { urlBelowBase } from "../base.ts";
import { type Compressed, compressedForms, preferred } from "./compressed.ts";
import {
  HIDDEN,
  type VisibleFile,
  visibleFile,
  visibleFileSync,
} from "./visible_file.ts";
import { OUTER_REQUEST } from "../extension_keys.ts";
import { noteFile } from "../used_files.ts";
import { refusal, wrongKind } from "../errors.ts";
import { isHeaderText } from "../header_text.ts";
import { checkOptions } from "../options.ts";
import { varyBy } from "../vary.ts";
import { withoutRequest } from "../without_request.ts";
import { isPlainPattern } from "../route_patterns.ts";
import { Versions } from "./versions.ts";

/** The options of {@linkcode files}. */
export interface FilesOptions {
  /**
   * The `Cache-Control` of each file; `no-cache` by default, so that clients ask whether it has changed. URLs that name
   * the current version have it too where it contains `no-store`, and are `private` where it contains that. A
   * `Cache-Control` that the application has set for the request stays.
   */
  readonly cacheControl?: string;
  /** The file that is served for its folder, such as `index.html`; by default, folders are not found. */
  readonly index?: string;
}

const OPTIONS: readonly (keyof FilesOptions)[] = ["cacheControl", "index"];

/** How many times to start over when a file changes while it is opened. */
const ATTEMPTS = 5;

type ServeFile = typeof serveFile;

type App = Engine | typeof Framework;

/** A slash or backslash inside a name: as a separator, it would give one file two addresses. */
const INNER_SLASH = /%2f|%5c/i;

/** One range of bytes, the only kind that is served; its unit is written in any case (RFC 9110, section 14.1). */
const RANGE = /^bytes=(\d+-\d*|-\d+)$/i;

/**
 * Serves the files of a folder under a prefix, by a route for GET and HEAD. Returns a function that makes the
 * URL of a file: with the base, the prefixes of groups, and a version that changes with the content. A request
 * for the current version gets a file that clients keep for a year. The URL of a missing file has no version.
 *
 * Throws `TypeError` when the prefix has methods, parameters, optional parts or expressions, the folder is no path, an
 * option has an unknown name or is no text, `cacheControl` cannot be sent, or `index` is a dot file. A folder that is
 * missing when a file is asked for is an error, a 500.
 */
export function files(
  app: Engine | typeof Framework,
  prefix: string,
  folder: string | URL,
  options: FilesOptions = {},
): (name: string) => string {
  if (typeof prefix !== "string" || !isPlainPattern(prefix)) {
    const rule =
      'the prefix must be a path without parameters, optional parts and expressions (a plus is written "\\\\+")';
    throw wrongKind("serve files", rule, prefix);
  }
  if (/^[A-Z|]+ /i.test(prefix)) {
    throw wrongKind("serve files", "the prefix must name no method", prefix);
  }
  if (typeof folder !== "string" && !(folder instanceof URL)) {
    const rule = "the folder must be a path or a file: URL";
    throw wrongKind("serve files", rule, folder);
  }
  checkFilesOptions(options);
  const server = new FolderServer(app, folder, options);
  const pattern = `GET ${prefix.replace(/\/+$/, "")}/*`;
  const alias = crypto.randomUUID(); // for `getUrl()`, which knows the base and the groups
  const serve = (route: Route): Promise<unknown> => server.serve(route);
  app.route(pattern, serve, true, alias);
  return (name) => {
    const path = name.replace(/^\//, "");
    const version = server.versionOf(path);
    const url = app.getUrl(alias, { "*": path });
    return version === undefined ? url : `${url}?v=${version}`;
  };
}

function checkFilesOptions(options: FilesOptions): void {
  const action = "serve files";
  checkOptions(action, options, OPTIONS);
  for (const name of OPTIONS) {
    const value = options[name];
    if (value === undefined || typeof value === "string") continue;
    throw wrongKind(action, `"${name}" must be text`, value);
  }
  const { cacheControl = "", index } = options;
  if (!isHeaderText(cacheControl)) {
    const rule = '"cacheControl" must be text that a header can contain';
    throw wrongKind(action, rule, cacheControl);
  }
  if (index === "" || index !== undefined && HIDDEN.test(index)) {
    const rule =
      '"index" must be the name of a file such as "index.html", and dot files are not served';
    throw wrongKind(action, rule, index);
  }
}

/** The `Cache-Control` of URLs that name the current version: long, except where nobody may store the file. */
function cachingOfVersions(cacheControl: string): string {
  if (/\bno-store\b/i.test(cacheControl)) return cacheControl;
  const audience = /\bprivate\b/i.test(cacheControl) ? "private" : "public";
  return `${audience}, max-age=31536000, immutable`;
}

/** Serves the files of one folder. */
class FolderServer {
  readonly #app: App;
  readonly #folder: string;
  readonly #options: FilesOptions;
  /** The `Cache-Control` of URLs without a version, and of those that name the current one. */
  readonly #caching: readonly [other: string, current: string];
  readonly #versions = new Versions();
  readonly #load = loader();

  constructor(app: App, folder: string | URL, options: FilesOptions) {
    this.#app = app;
    this.#folder = folder instanceof URL ? fromFileUrl(folder) : folder;
    this.#options = options;
    const { cacheControl = "no-cache" } = options;
    this.#caching = [cacheControl, cachingOfVersions(cacheControl)];
  }

  /** Responds with the file that a request asks for. */
  async serve({ splat }: Route): Promise<unknown> {
    const app = this.#app;
    const given = app.response().header("cache-control");
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const found = await this.#find(splat);
      if (found === undefined) return app.notFound();
      if (!found.fileInfo.isFile) return this.#redirectToFolder();
      const response = await this.#respond(found);
      if (response !== undefined) return response;
      app.response().header("cache-control", given); // what this attempt set is not the application's
    }
    const message = "The file keeps changing while it is being read";
    throw refusal(503, message, { headers: { "retry-after": "1" } });
  }

  #redirectToFolder(): unknown {
    const app = this.#app;
    // Relative addresses on the page of a folder need the slash.
    const url = urlBelowBase(app).replace(/\/?(\?|$)/, "/$1");
    return app.redirect(app.request().base.replace(/\/$/, "") + url, 301);
  }

  /** The version of a file; undefined when it is missing or hidden. */
  versionOf(name: string): string | undefined {
    noteFile(`${this.#folder}/${name}`);
    const found = visibleFileSync(this.#folder, name);
    return found?.fileInfo.isFile ? this.#versions.of(found) : undefined;
  }

  /** The file or folder that a request asks for; undefined when it is missing or hidden. */
  async #find(splat: string): Promise<VisibleFile | undefined> {
    const { index } = this.#options;
    const request = this.#app.request();
    const path = pathOf(request);
    // Of the root of a mount, the application sees the slash in any case.
    const isFolder = path.endsWith("/") &&
      pathOf(outermost(request)).endsWith("/");
    if (isFolder && index === undefined || INNER_SLASH.test(path)) return;
    const parent = splat.replace(/\/?$/, "/").replace(/^\/$/, "");
    const name = isFolder ? parent + index : splat;
    noteFile(`${this.#folder}/${name}`);
    const found = await visibleFile(this.#folder, name);
    if (found === undefined) await checkFolder(this.#folder);
    const isRedirect = found?.fileInfo.isDirectory && !isFolder && index;
    return found?.fileInfo.isFile || isRedirect ? found : undefined;
  }

  /**
   * Responds with a file or its compressed form: sets the headers and checks the conditions as a handler does,
   * and lets the file server send the bytes. Returns undefined when the file has changed meanwhile.
   */
  async #respond(file: VisibleFile): Promise<Response | undefined> {
    const { path, fileInfo } = file;
    const { method } = this.#app.request();
    const serveFile = await this.#load();
    const [head, forms] = await Promise.all([
      serveFile(fileRequest("HEAD"), path, { fileInfo }),
      compressedForms(this.#folder, file),
    ]);
    if (forms.length > 0) {
      const response = this.#app.response();
      const vary = response.header("vary");
      response.header("vary", varyBy("Accept-Encoding", vary));
    }
    const range = this.#range(fileInfo, forms.length > 0);
    const accepted = this.#app.request().getHeader("accept-encoding");
    const form = range === undefined ? preferred(forms, accepted) : undefined;
    this.#setHead(file, head.headers.get("etag"), form);

    const sent = form ?? file;
    const request = fileRequest(method, range);
    const response = await serveFile(request, sent.path, sent)
      .catch(ignoreDeleted);
    if (response === undefined) return undefined;
    if (method !== "HEAD" && !await isUnchanged(sent)) {
      await response.body?.cancel();
      return undefined;
    }
    if (response.status === 416) return await refuseRange(response);
    describeBody(response.headers, head.headers.get("content-type"), form);
    return response;
  }

  /** Sets the caching and the validators of a file. Ends the request when the client's copy is current. */
  #setHead(
    file: VisibleFile,
    etag: string | null,
    form: Compressed | undefined,
  ): void {
    const app = this.#app;
    const { v } = app.request().query;
    const isCurrent = typeof v === "string" &&
      v === this.#versions.of(file);
    const [other, current] = this.#caching;
    const response = app.response();
    if (response.header("cache-control") === null) {
      response.header("cache-control", isCurrent ? current : other);
    }
    const [, id] = /"(.*)"/.exec(etag ?? "") ?? [];
    if (id !== undefined) app.etag(form ? `${id}-${form.coding}` : id, "weak");
    const { mtime } = file.fileInfo;
    if (mtime !== null) app.lastModified(mtime.getTime() / 1000);
  }

  /**
   * The range that a request asks for; undefined when it must not count (RFC 9110, sections 13.1.5 and 14.2).
   * Under `If-Range`, a weak tag never counts, and a date only where the file has no other forms.
   */
  #range({ mtime }: Deno.FileInfo, hasForms: boolean): string | undefined {
    const request = this.#app.request();
    const range = request.getHeader("range").trim();
    const condition = request.getHeader("if-range");
    if (request.method !== "GET" || !RANGE.test(range)) return undefined;
    const isSame = !hasForms && condition === mtime?.toUTCString();
    return condition === "" || isSame ? range.toLowerCase() : undefined;
  }
}

/**
 * Whether a file is still the one that was found, once the file server has opened it by its path: the bytes of
 * another one would go out under the length, the ETag and the version of this one.
 */
async function isUnchanged({ path, fileInfo }: VisibleFile): Promise<boolean> {
  const now = await Deno.stat(path).catch(ignoreDeleted);
  return now?.ino === fileInfo.ino && now?.size === fileInfo.size &&
    Number(now?.mtime) === Number(fileInfo.mtime);
}

/** Throws when a folder is missing or a file: that is a mistake, for which nothing would ever be found. */
async function checkFolder(folder: string): Promise<void> {
  const info = await Deno.stat(folder).catch(ignoreDeleted);
  if (info?.isDirectory) return;
  const action = `Cannot serve files from "${folder}"`;
  if (info) throw new Deno.errors.NotADirectory(`${action}: it is a file`);
  const hint = /^(?:[/\\]|[A-Za-z]:)/.test(folder)
    ? ""
    : ` where the process was started; for a folder next to the module, use new URL("${folder}", import.meta.url)`;
  throw new Deno.errors.NotFound(`${action}: there is no such folder${hint}`);
}

/** Treats a deleted file as one that has changed. */
function ignoreDeleted(error: unknown): undefined {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}

/** The path of a request, without the query. */
function pathOf({ url }: HttpRequest): string {
  return url.split("?", 1)[0]!;
}

/** The request of the application around all others, which has the path that the client has sent. */
function outermost(request: HttpRequest): HttpRequest {
  const outer = request[OUTER_REQUEST];
  return outer === undefined ? request : outermost(outer);
}

/** The request for the file server, which checks no conditions. */
function fileRequest(method: string, range?: string): Request {
  const headers: HeadersInit = range === undefined ? {} : { range };
  return new Request("http://localhost/", { method, headers });
}

/**
 * Gives a response of the file server the type of the file and the coding of its form. Its validators go: the
 * reply has those of this extension.
 */
function describeBody(
  headers: Headers,
  type: string | null,
  form: Compressed | undefined,
): void {
  for (const name of ["server", "etag", "last-modified"]) headers.delete(name);
  headers.set("content-type", type ?? "application/octet-stream");
  if (form === undefined) return;
  headers.delete("accept-ranges");
  headers.set("content-encoding", form.coding);
}

/** Lets `error` respond to a range that the file does not have. */
async function refuseRange({ headers, body }: Response): Promise<never> {
  await body?.cancel();
  const range = headers.get("content-range") ?? "";
  const message = `The file does not have the requested range: ${range}`;
  throw refusal(416, message, { headers: { "content-range": range } });
}

/** Returns a function that loads the file server on its first call. */
function loader(): () => Promise<ServeFile> {
  let loading: Promise<ServeFile> | undefined;
  const load = async () => {
    const { serveFile } = await withoutRequest(() =>
      import("@std/http/file-server")
    );
    return serveFile;
  };
  return () => loading ??= load();
}
