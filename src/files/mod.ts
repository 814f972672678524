/**
 * Serves a folder of static files by `@std/http/file-server`: with media types, `ETag` and `Last-Modified`,
 * conditional requests, ranges and HEAD. The file server is loaded with the first file.
 *
 * A request for a file that is not there goes to the next route, as does any method but GET and HEAD: a second folder
 * or a fallback may stand behind the first, also at `/`. A range beyond the end of a file goes to `error`, as a 416.
 *
 * It never serves dot files or anything outside the folder, whether the path has `..`, an encoded slash or a
 * symbolic link: for `/.well-known/`, add a route. It needs permission to read the folder and the targets of links in
 * it.
 *
 * The `ETag` is strong, of the size and the time of the file, so that clients resume downloads. Those that accept it get
 * `style.css.br` or `style.css.gz` instead of `style.css`, unless the compressed file is older. Compressed files have an
 * `ETag` of their own. Ranges are always those of the file itself, so a resumed download never mixes two forms.
 *
 * Guide: [docs/reference.md](./docs/reference.md#files)
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
 * assertEquals(caching, "max-age=31536000, immutable");
 * await response.body?.cancel();
 * ```
 *
 * @example A single-page application: every path that is no file gets its page
 * ```ts
 * import { Engine } from "@framework/core";
 * import { files } from "@framework/core/files";
 * import { assertEquals } from "@std/assert";
 *
 * const folder = await Deno.makeTempDir();
 * await Deno.writeTextFile(`${folder}/index.html`, "<div id=app></div>");
 *
 * const app = new Engine();
 * app.route("GET /api/now", () => ({ now: Date.now() }));
 * files(app, "/", folder);
 * app.route("GET *", () => Deno.readTextFile(`${folder}/index.html`));
 *
 * const response = await app.fetch("/settings/profile");
 * assertEquals(await response.text(), "<div id=app></div>");
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
 * files(app, "/public", folder, { cacheControl: "max-age=600" });
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

import type { Engine, Framework, Route } from "../../mod.ts";
import { fromFileUrl } from "@std/path/from-file-url";
import { wrongKind } from "../errors.ts";
import {
  fileResponse,
  fileTag,
  type FoundFile,
  isHeaderText,
  rangeOf,
  varyBy,
} from "../http.ts";
import { checkOptions } from "../options.ts";
import { compressedForms, preferredForm } from "./compressed.ts";
import { Versions } from "./versions.ts";
import { HIDDEN, visibleFile, visibleFileSync } from "./visible_file.ts";

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

type App = Engine | typeof Framework;

/** A path that matches itself alone as a pattern. */
const PLAIN = /^[^@()*+?[\]{}|\\:\s]*$/;

/** A slash or backslash inside a name: as a separator, it would give one file two addresses. */
const INNER_SLASH = /%2f|%5c/i;

/**
 * Serves the files of a folder under a prefix, by a route that passes on what it does not have. Returns a function that
 * makes the URL of a file: with the base, the prefixes of groups, and a version that changes with the content. A
 * request for the current version gets a file that clients keep for a year. The URL of a missing file has no version.
 *
 * Throws `TypeError` when the prefix is no plain path, the folder is neither a path nor a URL, an option has an unknown
 * name, `cacheControl` cannot be sent, or `index` is a dot file. A folder that is missing when a file is asked for is an
 * error, a 500.
 */
export function files(
  app: Engine | typeof Framework,
  prefix: string,
  folder: string | URL,
  options: FilesOptions = {},
): (name: string) => string {
  checkFiles(prefix, folder, options);
  const server = new FileServer(app, folder, options);
  const path = prefix.replace(/\/+$/, "");
  app.route(
    `${path}/*`,
    (route: Route) => server.serve(route),
    true,
    server.alias,
  );
  return (name) => server.urlOf(name.replace(/^\//, ""));
}

function checkFiles(
  prefix: string,
  folder: string | URL,
  options: FilesOptions,
): void {
  const action = "serve files";
  if (typeof prefix !== "string" || !PLAIN.test(prefix)) {
    const rule =
      "the prefix must be a path without methods, parameters and expressions";
    throw wrongKind(action, rule, prefix);
  }
  if (typeof folder !== "string" && !(folder instanceof URL)) {
    const rule = "the folder must be a path or a file: URL";
    throw wrongKind(action, rule, folder);
  }
  checkOptions(action, options, ["cacheControl", "index"]);
  const { cacheControl = "", index = "index.html" } = options;
  if (typeof cacheControl !== "string" || !isHeaderText(cacheControl)) {
    const rule = '"cacheControl" must be text that a header can contain';
    throw wrongKind(action, rule, cacheControl);
  }
  if (typeof index !== "string" || index === "" || HIDDEN.test(index)) {
    const rule =
      '"index" must be the name of a file such as "index.html", and dot files are not served';
    throw wrongKind(action, rule, index);
  }
}

/** Serves the files of one folder. */
class FileServer {
  /** The alias of its route. */
  readonly alias: string = crypto.randomUUID();
  readonly #app: App;
  readonly #folder: string;
  readonly #cacheControl: string;
  readonly #index: string | undefined;
  readonly #versions = new Versions();

  constructor(app: App, folder: string | URL, options: FilesOptions) {
    this.#app = app;
    this.#folder = folder instanceof URL ? fromFileUrl(folder) : folder;
    this.#cacheControl = options.cacheControl ?? "no-cache";
    this.#index = options.index;
  }

  /** The URL of a file, with its version. */
  urlOf(name: string): string {
    const found = visibleFileSync(this.#folder, name);
    const query = found ? { v: this.#versions.of(found) } : {};
    return this.#app.getUrl(this.alias, { "*": name }, query);
  }

  /** Responds with the file that a request asks for; `true`, to pass on, when there is none. */
  async serve(route: Route): Promise<unknown> {
    const app = this.#app;
    const { method, url } = app.request();
    if (method !== "GET" && method !== "HEAD") return true;
    const [path = ""] = url.split("?", 1);
    if (INNER_SLASH.test(path)) return true;
    const { splat } = route;
    const isFolder = path.endsWith("/");
    const file = isFolder ? undefined : await this.#find(splat);
    if (file !== undefined) return await this.#send(splat, file);
    const folder = splat.replace(/(?<=.)\/?$/, "/");
    const name = folder + this.#index;
    const page = this.#index && await this.#find(name);
    if (!page) {
      await checkFolder(this.#folder);
      return true;
    }
    if (isFolder) return await this.#send(name, page);
    // Relative addresses on the page need the slash.
    const target = app.getUrl(this.alias, { "*": splat }).replace(/\/?$/, "/");
    return app.redirect(target + url.slice(path.length), 301);
  }

  #find(name: string): Promise<FoundFile | undefined> {
    return visibleFile(this.#folder, name);
  }

  /** Responds with a file or its compressed form. Ranges are those of the file itself. */
  async #send(name: string, file: FoundFile): Promise<Response> {
    const request = this.#app.request();
    const response = this.#app.response();
    const forms = await compressedForms(this.#folder, name, file);
    if (forms.length > 0) {
      const vary = varyBy("Accept-Encoding", response.header("vary"));
      response.header("vary", vary);
    }
    if (response.header("cache-control") === null) {
      response.header("cache-control", this.#cachingOf(file));
    }
    const { info } = file;
    const date = forms.length > 0 ? undefined : info.mtime;
    const range = rangeOf(request, fileTag(info), date);
    const accepted = request.getHeader("accept-encoding");
    const form = range === undefined
      ? preferredForm(forms, accepted)
      : undefined;
    const sent = form ?? file;
    this.#app.etag(fileTag(sent.info, form?.coding), "strong");
    if (info.mtime) this.#app.lastModified(info.mtime.getTime() / 1000);
    const made = await fileResponse(sent, request.method, range);
    if (form === undefined) return made;
    const { headers } = await fileResponse(file, "HEAD"); // with the type of the file
    made.headers.set("content-type", headers.get("content-type")!);
    made.headers.set("content-encoding", form.coding);
    made.headers.delete("accept-ranges");
    return made;
  }

  /** The `Cache-Control` of a file: long where the URL names its version, except where nobody may store it. */
  #cachingOf(file: FoundFile): string {
    const caching = this.#cacheControl;
    const { v } = this.#app.request().query;
    if (typeof v !== "string" || /\bno-store\b/i.test(caching)) return caching;
    if (v !== this.#versions.of(file)) return caching;
    const audience = /\bprivate\b/i.test(caching) ? "private, " : "";
    return `${audience}max-age=31536000, immutable`;
  }
}

/** Throws when a folder is missing: that is a mistake, for which nothing would ever be found. */
async function checkFolder(folder: string): Promise<void> {
  const info = await Deno.stat(folder).catch(() => undefined);
  if (info?.isDirectory) return;
  throw new Deno.errors.NotFound(
    `Cannot serve files from "${folder}": there is no such folder; a relative path starts where the process was started, and new URL("folder/", import.meta.url) next to the module`,
  );
}
