/**
 * Owns a registry with the shape of JSR, on 127.0.0.1: what `deno publish` sends to it or a task adds to it,
 * `deno add` and the compiler find there, where `JSR_URL` is its address.
 */

/** One version of a package. */
export interface Release {
  /** Scope and name, such as `@std/path`. */
  readonly name: string;
  readonly version: string;
  /** The module of each export, by its path in the package: `{ ".": "./mod.ts" }`. */
  readonly exports: Readonly<Record<string, string>>;
  /** The contents by path, such as `/mod.ts`. */
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

type Groups = Readonly<Record<string, string | undefined>>;

const API = "/api/scopes/:scope/packages/:name";

/** A running registry. */
export class Registry implements AsyncDisposable {
  readonly #releases = new Map<string, Release>();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  /** What it responds to, by method and path; the first that matches counts. */
  readonly #routes: [
    method: string,
    pattern: URLPattern,
    respond: (groups: Groups, request: Request) => unknown,
  ][] = [
    ["GET", path(API), () => ({})],
    ["GET", path(`${API}/versions/:version`), (groups) => this.#find(groups)],
    [
      "POST",
      path(`${API}/versions/:version`),
      (groups, request) => this.#publish(groups, request),
    ],
    ["GET", path("/@:scope/:name/meta.json"), (groups) => this.#meta(groups)],
    [
      "GET",
      path("/@:scope/:name/:version([^/]+)_meta.json"),
      (groups) => this.#manifest(groups),
    ],
    [
      "GET",
      path("/@:scope/:name/:version/*"),
      (groups) => this.#find(groups)?.files.get(`/${groups["0"]}`),
    ],
  ];

  /** Listens on a free port. */
  constructor() {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => this.#respond(request),
    );
  }

  /** Its address, for `JSR_URL`. */
  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}/`;
  }

  /** Adds a release, as if it had been published. */
  add(release: Release): void {
    this.#releases.set(`${release.name}@${release.version}`, release);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  async #respond(request: Request): Promise<Response> {
    for (const [method, pattern, respond] of this.#routes) {
      const match = pattern.exec(request.url);
      if (match === null || method !== request.method) continue;
      const found = await respond(match.pathname.groups, request);
      if (found === undefined) break;
      return found instanceof Uint8Array
        ? new Response(found as Uint8Array<ArrayBuffer>)
        : Response.json(found);
    }
    await request.body?.cancel();
    return Response.json({ code: "notFound" }, { status: 404 });
  }

  #find({ scope, name, version }: Groups): Release | undefined {
    return this.#releases.get(`@${scope}/${name}@${version}`);
  }

  /** Takes the archive that `deno publish` sends. */
  async #publish(
    { scope, name, version }: Groups,
    request: Request,
  ): Promise<unknown> {
    const files = unpack(
      await new Response(
        request.body!.pipeThrough(new DecompressionStream("gzip")),
      ).bytes(),
    );
    const { exports } = JSON.parse(text(files.get("/deno.json")!));
    this.add({
      name: `@${scope}/${name}`,
      version: version!,
      exports: typeof exports === "string" ? { ".": exports } : exports,
      files,
    });
    return { id: "1", status: "success", error: null };
  }

  #meta({ scope, name }: Groups): unknown {
    const versions = [...this.#releases.values()].filter((release) =>
      release.name === `@${scope}/${name}`
    ).map(({ version }) => version);
    if (versions.length === 0) return undefined;
    return {
      scope,
      name,
      latest: versions.at(-1),
      versions: Object.fromEntries(versions.map((version) => [version, {}])),
    };
  }

  async #manifest(groups: Groups): Promise<unknown> {
    const release = this.#find(groups);
    if (release === undefined) return undefined;
    const manifest: Record<string, unknown> = {};
    for (const [file, content] of release.files) {
      const digest = await crypto.subtle.digest("SHA-256", content);
      manifest[file] = {
        size: content.length,
        checksum: `sha256-${new Uint8Array(digest).toHex()}`,
      };
    }
    return { exports: release.exports, manifest };
  }
}

function path(pathname: string): URLPattern {
  return new URLPattern({ pathname });
}

/** The files of a tar archive, by their paths from its root. */
function unpack(
  archive: Uint8Array<ArrayBuffer>,
): Map<string, Uint8Array<ArrayBuffer>> {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  for (let at = 0; at + 512 <= archive.length;) {
    const name = field(archive, at, 100);
    const size = parseInt(field(archive, at + 124, 12) || "0", 8);
    const content = archive.slice(at + 512, at + 512 + size);
    if (name !== "") files.set(name.replace(/^(\.?\/)?/, "/"), content);
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

/** A text in the head of a file in a tar archive. */
function field(archive: Uint8Array, at: number, length: number): string {
  return text(archive.subarray(at, at + length)).replace(/\0.*$/s, "").trim();
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
