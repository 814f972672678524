/** Tests `files`: which files are served under which address, and with which headers. */

import { Engine } from "@framework/core";
import { files, type FilesOptions } from "@framework/core/files";
import {
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { visit } from "../support/forms.ts";

const CSS = "body { margin: 0 }";
const LONG = "a".repeat(300);

/** What the served folder has, by path; a text is a file's, a link begins with an arrow. */
const TREE: Readonly<Record<string, string>> = {
  "public/style.css": CSS,
  "public/empty.txt": "",
  "public/no-extension": "bytes",
  "public/a b/ü+1.txt": "odd name",
  "public/back\\slash.txt": "a name with a backslash",
  "public/docs/index.html": "<h1>Docs</h1>",
  "public/bare/readme.txt": "no index",
  "public/.env": "secret",
  "public/.git/config": "secret",
  "public/docs/.hidden.html": "secret",
  "public-too/secret.txt": "secret",
  "secret.txt": "secret",
  "public/inside.css": "→ style.css",
  "public/outside.txt": "→ ../secret.txt",
  "public/sibling": "→ ../public-too",
  "public/up": "→ ..",
  "public/visible.txt": "→ .env",
  "public/nowhere.txt": "→ missing.txt",
};

/** The tree in a temporary folder. */
class Tree implements AsyncDisposable {
  readonly root = Deno.realPathSync(Deno.makeTempDirSync());

  constructor() {
    for (const [path, content] of Object.entries(TREE)) {
      const file = `${this.root}/${path}`;
      Deno.mkdirSync(file.replace(/\/[^/]*$/, ""), { recursive: true });
      const [, target] = /^→ (.+)/.exec(content) ?? [];
      if (target) Deno.symlinkSync(target, file);
      else Deno.writeTextFileSync(file, content);
    }
  }

  /** An application that serves its folder, with a page of its own for what is not found. */
  serve(options?: FilesOptions): Engine {
    const app = new Engine();
    files(app, "/public", this.folder, options);
    app.map("notFound", () => "nothing here");
    return app;
  }

  /** The folder that is served. */
  get folder(): string {
    return `${this.root}/public`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.root, { recursive: true });
  }
}

/** Requests the style sheet with headers; the body is unread. */
async function styleSheet(
  app: Engine,
  headers: Record<string, string> = {},
  method = "GET",
): Promise<Response> {
  return await unread(app, "/public/style.css", { headers, method });
}

/** Requests a path and leaves the body unread. */
async function unread(
  app: Engine,
  path: string,
  init?: RequestInit,
): Promise<Response> {
  const response = await visit(app, path, init);
  await response.body?.cancel();
  return response;
}

/** Paths, and the status that each gets. */
const STATUSES: Readonly<Record<string, number>> = {
  "/public/style.css": 200,
  "/public/a%20b/%C3%BC%2B1.txt": 200,
  "/public/inside.css": 200,
  "/public/up/public/style.css": 200,
  "/public": 404,
  "/public/": 404,
  "/public/docs/": 404,
  "/public/missing.css": 404,
  "/public/.env": 404,
  "/public/docs/.hidden.html": 404,
  "/public/docs%2Findex.html": 404,
  "/public/back%5Cslash.txt": 404,
  "/public/outside.txt": 404,
  "/public/sibling/secret.txt": 404,
  "/public/up/secret.txt": 404,
  "/public/visible.txt": 404,
  "/public-too/secret.txt": 404,
  [`/public/${LONG}`]: 404,
  [`/public/${`${LONG.slice(100)}/`.repeat(40)}x`]: 404,
  "/public/..%2Fsecret.txt": 404,
  "/public/..%5Csecret.txt": 404,
  "/public/a%00.css": 400,
  "/public/%zz": 400,
};

Deno.test("`files()` serves what is in the folder, and nothing outside of it or hidden", async () => {
  await using tree = new Tree();
  const app = tree.serve();
  for (const [path, status] of Object.entries(STATUSES)) {
    const response = await visit(app, path);
    const text = await response.text();
    assertEquals(response.status, status, path);
    assertEquals(text.includes("secret"), false, path);
    if (status === 404) assertEquals(text, "nothing here", path);
  }
});

Deno.test("a missing file passes on to the next route, also at the root", async () => {
  await using tree = new Tree();
  const app = new Engine();
  files(app, "/", tree.folder);
  app.route("GET /*", () => "the fallback");
  for (const path of ["/", "/missing.css", "/docs", "/.env"]) {
    const response = await visit(app, path);
    const text = await response.text();
    assertEquals([response.status, text], [200, "the fallback"], path);
  }
  assertEquals(await (await visit(app, "/style.css")).text(), CSS);
});

Deno.test("`files()` at the root leaves other methods, escaped slashes and OPTIONS to the routes behind it", async () => {
  await using tree = new Tree();
  const app = new Engine();
  app.set("framework.method_not_allowed", true);
  files(app, "/", tree.folder);
  app.route("POST /login", () => "in");
  app.route("GET /notes/@name", (name) => name);
  const post = await unread(app, "/nowhere", { method: "POST" });
  assertEquals(post.status, 404);
  const options = await unread(app, "/login", { method: "OPTIONS" });
  assertEquals(options.headers.get("allow"), "POST, OPTIONS");
  const note = await visit(app, "/notes/..%2Fa");
  assertEquals(await note.text(), "../a");
});

Deno.test("`files()` sends the type, the validators, the length and the caching", async () => {
  await using tree = new Tree();
  const { headers } = await styleSheet(tree.serve());
  const { mtime } = await Deno.stat(`${tree.folder}/style.css`);
  assertEquals(headers.get("content-length"), `${CSS.length}`);
  assertEquals(headers.get("cache-control"), "no-cache");
  assertEquals(headers.get("last-modified"), mtime!.toUTCString());
  assertMatch(headers.get("content-type")!, /^text\/css; charset=utf-8$/i);
  const app = tree.serve({ cacheControl: "public, max-age=600" });
  const other = await unread(app, "/public/no-extension");
  assertEquals(other.headers.get("content-type"), "application/octet-stream");
  assertEquals(other.headers.get("cache-control"), "public, max-age=600");
});

Deno.test("the ETag of a file is strong, and changes with its size and its time", async () => {
  await using tree = new Tree();
  const app = tree.serve();
  const path = `${tree.folder}/style.css`;
  const tags = new Set<string>();
  for (const [text, time] of [["a{}", 1], ["a{}", 2], ["a{ }", 2]] as const) {
    await Deno.writeTextFile(path, text);
    await Deno.utime(path, time, time);
    const { headers } = await styleSheet(app);
    assertMatch(headers.get("etag")!, /^"[^"]+"$/);
    tags.add(headers.get("etag")!);
  }
  assertEquals(tags.size, 3);
});

Deno.test("`files()` responds to conditions on the copy of a client", async () => {
  await using tree = new Tree();
  const app = tree.serve();
  const { headers: first } = await styleSheet(app);
  const [etag, modified] = [first.get("etag")!, first.get("last-modified")!];
  const before = new Date(Date.parse(modified) - 2_000).toUTCString();
  const cases: [Record<string, string>, number][] = [
    [{ "if-none-match": etag }, 304],
    [{ "if-none-match": `"other", ${etag}` }, 304],
    [{ "if-modified-since": modified }, 304],
    [{ "if-modified-since": before }, 200],
    [{ "if-match": etag }, 200],
    [{ "if-match": `"other"` }, 412],
    [{ "if-unmodified-since": modified }, 200],
    [{ "if-unmodified-since": before }, 412],
  ];
  for (const method of ["GET", "HEAD"]) {
    for (const [headers, status] of cases) {
      const response = await styleSheet(app, headers, method);
      assertEquals(response.status, status, JSON.stringify(headers));
    }
  }
});

Deno.test("`files()` sends the range that is asked for", async () => {
  await using tree = new Tree();
  const app = tree.serve();
  const size = CSS.length;
  const cases: [string, number, string, string | null][] = [
    ["bytes=0-3", 206, "body", `bytes 0-3/${size}`],
    ["bytes=5-", 206, CSS.slice(5), `bytes 5-${size - 1}/${size}`],
    ["bytes=-3", 206, CSS.slice(-3), `bytes ${size - 3}-${size - 1}/${size}`],
    ["bytes=0-1,3-4", 200, CSS, null],
    ["lines=0-1", 200, CSS, null],
  ];
  for (const [range, status, text, content] of cases) {
    const init = { headers: { range } };
    const response = await visit(app, "/public/style.css", init);
    const sent = [response.status, await response.text()];
    assertEquals(sent, [status, text], range);
    assertEquals(response.headers.get("content-range"), content, range);
  }
});

Deno.test("a download resumes under `If-Range` only from the copy that the client has", async () => {
  await using tree = new Tree();
  const app = tree.serve();
  const { headers: first } = await styleSheet(app);
  const modified = first.get("last-modified")!;
  const cases: [string, number][] = [
    [first.get("etag")!, 206],
    [modified, 206],
    [new Date(Date.parse(modified) - 1_000).toUTCString(), 200],
    [`"other"`, 200],
  ];
  for (const [condition, status] of cases) {
    const headers = { range: "bytes=0-3", "if-range": condition };
    assertEquals((await styleSheet(app, headers)).status, status, condition);
  }
});

Deno.test("`files()` with an index serves it for its folder, under an address that ends with a slash", async () => {
  await using tree = new Tree();
  const app = tree.serve({ index: "index.html" });
  const folder = await visit(app, "/public/docs/");
  assertEquals(await folder.text(), "<h1>Docs</h1>");
  const { status, headers } = await unread(app, "/public/docs?a=b?c");
  assertEquals(status, 301);
  assertEquals(headers.get("location"), "/public/docs/?a=b?c");
  for (const path of ["", "bare/", ".git/", "up/", "up", "style.css/"]) {
    const { status } = await unread(app, `/public/${path}`);
    assertEquals(status, 404, path);
  }
});

Deno.test("`files()` returns a function that makes URLs with the base, the groups and a version", async () => {
  await using tree = new Tree();
  const app = new Engine();
  app.set("framework.base_url", "https://example.com/shop");
  let asset = (name: string) => name;
  app.group("/a", () => {
    asset = files(app, "/b", new URL(`file://${tree.folder}`));
  });
  assertMatch(asset("style.css"), /^\/shop\/a\/b\/style\.css\?v=\w+$/);
  assertEquals(asset("/style.css"), asset("style.css"));
  const [path] = asset("a b/ü+1.txt").split("?");
  assertEquals(path, "/shop/a/b/a%20b/%C3%BC%2B1.txt");
  for (const name of ["style.css", "a b/ü+1.txt"]) {
    assertEquals((await unread(app, asset(name))).status, 200, name);
  }
});

Deno.test("clients keep the version that a URL names for a year, if it is the current one", async () => {
  await using tree = new Tree();
  const cacheControl = "max-age=60";
  const app = new Engine();
  const asset = files(app, "/public", tree.folder, { cacheControl });
  const url = asset("style.css");
  const cachingOf = async (path: string): Promise<string | null> =>
    (await unread(app, path)).headers.get("cache-control");
  assertEquals(await cachingOf(url), "max-age=31536000, immutable");
  for (const path of ["/public/style.css", "/public/style.css?v=1"]) {
    assertEquals(await cachingOf(path), cacheControl);
  }
  await Deno.writeTextFile(`${tree.folder}/style.css`, "a{}");
  assertEquals(await cachingOf(url), cacheControl);
});

/** Adds compressed forms of the style sheet: their texts say what they are. */
async function compress({ folder }: Tree): Promise<void> {
  await Deno.writeTextFile(`${folder}/style.css.br`, "brotli");
  await Deno.writeTextFile(`${folder}/style.css.gz`, "gzip");
}

/** What clients accept, and the text and coding that each gets. */
const ENCODINGS: Readonly<Record<string, [string, string | null]>> = {
  "": [CSS, null],
  "gzip, deflate, br, zstd": ["brotli", "br"],
  "*": ["brotli", "br"],
  "br;q=0, *": ["gzip", "gzip"],
  "identity, br;q=0.5": [CSS, null],
};

Deno.test("`files()` sends the compressed form that the client takes, each with its own ETag", async () => {
  await using tree = new Tree();
  await compress(tree);
  const app = tree.serve();
  const tags = new Set<string | null>();
  for (const [accepted, [text, coding]] of Object.entries(ENCODINGS)) {
    const headers = { "accept-encoding": accepted };
    const response = await visit(app, "/public/style.css", { headers });
    assertEquals(await response.text(), text, accepted);
    assertEquals(response.headers.get("content-encoding"), coding, accepted);
    assertEquals(response.headers.get("vary"), "Accept-Encoding");
    assertStringIncludes(response.headers.get("content-type")!, "text/css");
    const etag = response.headers.get("etag")!;
    const again = { ...headers, "if-none-match": etag };
    assertEquals((await styleSheet(app, again)).status, 304);
    tags.add(etag);
  }
  assertEquals(tags.size, 3);
  const other = await unread(app, "/public/no-extension");
  assertEquals(other.headers.get("vary"), null);
});

Deno.test("a range is one of the file itself, and never mixes two forms", async () => {
  await using tree = new Tree();
  await compress(tree);
  const app = tree.serve();
  const ask = (headers: Record<string, string>) =>
    visit(app, "/public/style.css", {
      headers: { range: "bytes=0-3", "accept-encoding": "br", ...headers },
    });
  const part = await ask({});
  assertEquals([part.status, await part.text()], [206, "body"]);
  assertEquals(part.headers.get("content-encoding"), null);
  const compressed = await styleSheet(app, { "accept-encoding": "br" });
  const whole = await ask({ "if-range": compressed.headers.get("etag")! });
  assertEquals([whole.status, await whole.text()], [200, "brotli"]);
});

Deno.test("no compressed form is sent that is older than the file, hidden or outside", async () => {
  await using tree = new Tree();
  await compress(tree);
  await Deno.utime(`${tree.folder}/style.css.br`, 1_000, 1_000);
  await Deno.remove(`${tree.folder}/style.css.gz`);
  await Deno.symlink("../secret.txt", `${tree.folder}/style.css.gz`);
  await Deno.symlink(".env", `${tree.folder}/empty.txt.br`);
  await Deno.mkdir(`${tree.folder}/empty.txt.gz`);
  const app = tree.serve();
  const headers = { "accept-encoding": "br, gzip" };
  for (const [name, text] of [["style.css", CSS], ["empty.txt", ""]]) {
    const response = await visit(app, `/public/${name}`, { headers });
    assertEquals(await response.text(), text);
    assertEquals(response.headers.get("content-encoding"), null);
  }
});

Deno.test("a folder that is missing is an error, and not a missing file", async () => {
  const app = new Engine();
  files(app, "/public", "/no-such-folder");
  app.map("error", (error: Error) => error.message);
  const response = await visit(app, "/public/style.css");
  assertEquals(response.status, 500);
  assertStringIncludes(await response.text(), "there is no such folder");
});

Deno.test("`files()` closes the file of a client that leaves", async () => {
  await using tree = new Tree();
  await Deno.truncate(`${tree.folder}/style.css`, 2 ** 26);
  const app = tree.serve();
  await using server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  for (const range of ["bytes=0-", "bytes=1-"]) {
    const url = `http://127.0.0.1:${port}/public/style.css`;
    const response = await fetch(url, { headers: { range } });
    const reader = response.body!.getReader();
    assertNotEquals((await reader.read()).value?.length, 0);
    await reader.cancel();
  }
  // The sanitizer of the test sees a file that stays open.
});

Deno.test("`files()` refuses a prefix with parameters, and options that cannot work", () => {
  for (const prefix of ["/@lang", "/a(/b)", "/*", "/[ab]", "/\\d", undefined]) {
    assertThrows(() => files(new Engine(), prefix as string, "."), TypeError);
  }
  const refused: FilesOptions[] = [
    { cacheControl: "a\r\nb" },
    { index: ".index.html" },
    { index: "" },
    { cacheContol: "no-cache" } as FilesOptions,
  ];
  for (const options of refused) {
    const declare = () => files(new Engine(), "/public", ".", options);
    assertThrows(declare, TypeError, undefined, Deno.inspect(options));
  }
});
