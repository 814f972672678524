/** Tests `files`: which files are served under which address, and with which headers. */

import { AsyncLocalStorage } from "node:async_hooks";
import { Engine, type HttpError } from "@framework/core";
import { files, type FilesOptions } from "@framework/core/files";
import {
  assertEquals,
  assertGreater,
  assertLess,
  assertMatch,
  assertNotEquals,
  assertThrows,
} from "@std/assert";
import { assertSpyCalls, stub } from "@std/testing/mock";
import { visit } from "./forms.ts";
import { logOf } from "./log.ts";
import { ServerProcess } from "./server_child.ts";

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
  "public/loop": "→ loop",
  "public/nowhere.txt": "→ missing.txt",
};

/** Makes the tree in a temporary folder for a test. */
async function inTree(work: (root: string) => Promise<void>): Promise<void> {
  const root = await Deno.realPath(await Deno.makeTempDir());
  try {
    for (const [path, content] of Object.entries(TREE)) {
      const file = `${root}/${path}`;
      await Deno.mkdir(file.replace(/\/[^/]*$/, ""), { recursive: true });
      const [, target] = /^→ (.+)/.exec(content) ?? [];
      if (target) await Deno.symlink(target, file);
      else await Deno.writeTextFile(file, content);
    }
    await work(root);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** An application that serves the tree's folder, with a page of its own for what is not found. */
function serving(root: string, options?: FilesOptions): Engine {
  const app = new Engine();
  files(app, "/public", `${root}/public`, options);
  app.map("notFound", () => "nothing here");
  return app;
}

// The first test, since the file server is loaded once.
Deno.test("the first file leaves nothing of its request to what is around `fetch()`", async () => {
  await inTree(async (root) => {
    const storage = new AsyncLocalStorage<string>();
    const app = serving(root);
    const seen: unknown[] = [];
    const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
    await using server = Deno.serve(options, (request, info) => {
      seen.push(storage.getStore());
      return storage.run(request.url, () => app.fetch(request, info));
    });
    for (let count = 0; count < 3; count++) {
      const url = `http://127.0.0.1:${server.addr.port}/public/style.css`;
      assertEquals(await (await fetch(url)).text(), CSS);
    }
    assertEquals(seen, [undefined, undefined, undefined]);
  });
});

/** Paths, and the status that each gets. */
const STATUSES: Readonly<Record<string, number>> = {
  "/public/style.css": 200,
  "/PUBLIC/style.css": 200,
  "/public/style.css?v=1": 200,
  "/public/empty.txt": 200,
  "/public/no-extension": 200,
  "/public/a%20b/%C3%BC%2B1.txt": 200,
  "/public/a%20b/%C3%BC+1.txt": 200,
  "/public/inside.css": 200,
  "/public/docs/index.html": 200,
  "/public": 404,
  "/public/": 404,
  "/public/docs": 404,
  "/public/docs/": 404,
  "/public/style.css/": 404,
  "/public/style.css/x": 404,
  "/public/missing.css": 404,
  "/public/.env": 404,
  "/public/%2Eenv": 404,
  "/public/.git/config": 404,
  "/public/docs/.hidden.html": 404,
  "/public/docs%2Findex.html": 404,
  "/public/docs%2findex.html": 404,
  "/public/docs%5Cindex.html": 404,
  "/public/back%5Cslash.txt": 404,
  "/public//style.css": 404,
  "/public/docs//index.html": 404,
  "/public/outside.txt": 404,
  "/public/sibling/secret.txt": 404,
  "/public/up/secret.txt": 404,
  "/public/up/public/style.css": 200,
  "/public/visible.txt": 404,
  "/public/loop": 404,
  "/public/nowhere.txt": 404,
  "/public-too/secret.txt": 404,
  [`/public/${LONG}`]: 404,
  [`/public/${`${LONG.slice(100)}/`.repeat(40)}x`]: 404,
  "/public/..%2Fsecret.txt": 400,
  "/public/..%5Csecret.txt": 400,
  "/public/%2e%2e%2Fsecret.txt": 400,
  "/public/a%00.css": 400,
  "/public/%zz": 400,
};

Deno.test("`files()` serves what is in the folder, and nothing outside of it or hidden", async (t) => {
  await inTree(async (root) => {
    const app = serving(root);
    for (const [path, status] of Object.entries(STATUSES)) {
      await t.step(`${path.slice(0, 80)} is ${status}`, async () => {
        const response = await visit(app, path);
        assertEquals(response.status, status);
        const text = await response.text();
        assertEquals(text.includes("secret"), false);
        if (status === 404) assertEquals(text, "nothing here");
      });
    }
  });
});

Deno.test("`files()` sends the type, the validators, the length and the caching", async () => {
  await inTree(async (root) => {
    const { headers } = await visited(serving(root), "/public/style.css");
    assertEquals(
      headers.get("content-type")?.toLowerCase(),
      "text/css; charset=utf-8",
    );
    assertEquals(headers.get("content-length"), `${CSS.length}`);
    assertEquals(headers.get("accept-ranges"), "bytes");
    assertEquals(headers.get("cache-control"), "no-cache");
    assertEquals(headers.get("server"), null);
    assertMatch(headers.get("etag")!, /^W\/"[\da-f]+-[\w+/]+"$/);
    const { mtime } = await Deno.stat(`${root}/public/style.css`);
    assertEquals(headers.get("last-modified"), mtime!.toUTCString());
    const cacheControl = "public, max-age=600";
    const cached = serving(root, { cacheControl });
    const other = await visited(cached, "/public/no-extension");
    assertEquals(other.headers.get("cache-control"), cacheControl);
    assertEquals(
      other.headers.get("content-type"),
      "application/octet-stream",
    );
    const missing = await visited(cached, "/public/missing");
    assertEquals(missing.headers.get("cache-control"), null);
  });
});

for (const method of ["GET", "HEAD"]) {
  Deno.test(`\`files()\` responds 304 to a ${method} whose copy is current`, async () => {
    await inTree(async (root) => {
      const app = serving(root);
      const ask = (headers: Record<string, string>) =>
        visited(app, "/public/style.css", { method, headers });
      const first = await ask({});
      const etag = first.headers.get("etag")!;
      const modified = first.headers.get("last-modified")!;
      const before = new Date(Date.parse(modified) - 2_000).toUTCString();
      const cases: [Record<string, string>, number][] = [
        [{ "if-none-match": etag }, 304],
        [{ "if-none-match": `"other", ${etag}` }, 304],
        [{ "if-none-match": `"other"` }, 200],
        [{ "if-modified-since": modified }, 304],
        [{ "if-modified-since": before }, 200],
        [{ "if-none-match": `"other"`, "if-modified-since": modified }, 200],
      ];
      for (const [headers, status] of cases) {
        const response = await ask(headers);
        assertEquals(response.status, status, JSON.stringify(headers));
        assertEquals(response.headers.get("etag"), etag);
        const isSent = response.headers.has("content-type");
        assertEquals(isSent, status === 200);
      }
      await Deno.writeTextFile(`${root}/public/style.css`, `${CSS} `);
      assertEquals((await ask({ "if-none-match": etag })).status, 200);
    });
  });
}

Deno.test("`files()` sends the range that is asked for", async () => {
  await inTree(async (root) => {
    const app = serving(root);
    const size = CSS.length;
    const cases: [string, number, string, string | null][] = [
      ["bytes=0-3", 206, "body", `bytes 0-3/${size}`],
      ["bytes=5-", 206, CSS.slice(5), `bytes 5-${size - 1}/${size}`],
      ["bytes=-3", 206, CSS.slice(-3), `bytes ${size - 3}-${size - 1}/${size}`],
      ["bytes=-999", 206, CSS, `bytes 0-${size - 1}/${size}`],
      ["bytes=5-999", 206, CSS.slice(5), `bytes 5-${size - 1}/${size}`],
      ["bytes=0-0", 206, "b", `bytes 0-0/${size}`],
      ["BYTES=0-3", 206, "body", `bytes 0-3/${size}`],
      ["bytes=0-1,3-4", 200, CSS, null],
      ["lines=0-1", 200, CSS, null],
      ["kilobytes=0-1", 200, CSS, null],
      ["bytes=-", 200, CSS, null],
    ];
    for (const [range, status, text, content] of cases) {
      const headers = { range };
      const response = await visit(app, "/public/style.css", { headers });
      assertEquals(
        [response.status, await response.text()],
        [status, text],
        range,
      );
      assertEquals(response.headers.get("content-range"), content, range);
    }
    const empty = await visit(app, "/public/empty.txt", {
      headers: { range: "bytes=0-1" },
    });
    assertEquals([empty.status, await empty.text()], [200, ""]);
  });
});

Deno.test("`files()` lets `error` respond to a range that the file does not have", async () => {
  await inTree(async (root) => {
    const cacheControl = "public, max-age=600, immutable";
    const app = serving(root, { cacheControl });
    for (const range of [`bytes=${CSS.length}-`, "bytes=5-4", "bytes=-0"]) {
      const response = await visited(app, "/public/style.css", {
        headers: { range, accept: "application/json" },
      });
      const { status, headers } = response;
      assertEquals(status, 416, range);
      assertEquals(headers.get("content-range"), `bytes */${CSS.length}`);
      assertEquals(headers.get("content-type"), "application/problem+json");
      assertEquals(headers.get("cache-control"), null);
      assertEquals(headers.get("etag"), null);
      assertEquals(headers.get("last-modified"), null);
    }
    app.map("error", (error) => (error as HttpError).status + " of mine");
    const headers = { range: "bytes=99-" };
    const response = await visit(app, "/public/style.css", { headers });
    assertEquals(await response.text(), "416 of mine");
    assertEquals(
      response.headers.get("content-range"),
      `bytes */${CSS.length}`,
    );
  });
});

for (const method of ["GET", "HEAD"]) {
  Deno.test(`\`files()\` responds 412 to a ${method} whose condition on the copy is false`, async () => {
    await inTree(async (root) => {
      const app = serving(root);
      const first = await visited(app, "/public/style.css");
      const modified = first.headers.get("last-modified")!;
      const before = new Date(Date.parse(modified) - 2_000).toUTCString();
      const cases: [Record<string, string>, number][] = [
        [{ "if-match": `"other"` }, 412],
        [{ "if-match": first.headers.get("etag")! }, 412], // a weak tag
        [{ "if-match": "*" }, 200],
        [{ "if-unmodified-since": modified }, 200],
        [{ "if-unmodified-since": before }, 412],
        [{ "if-match": "*", "if-unmodified-since": before }, 200],
        [{ "if-unmodified-since": before, range: "bytes=0-3" }, 412],
      ];
      for (const [headers, status] of cases) {
        const response = await visited(app, "/public/style.css", {
          method,
          headers,
        });
        assertEquals(response.status, status, JSON.stringify(headers));
      }
    });
  });
}

Deno.test("`files()` sends a range under `If-Range` only of the copy that the client has", async () => {
  await inTree(async (root) => {
    const app = serving(root);
    const first = await visited(app, "/public/style.css");
    const modified = first.headers.get("last-modified")!;
    const cases: [string, number][] = [
      [modified, 206],
      [new Date(Date.parse(modified) - 1_000).toUTCString(), 200],
      [`"other"`, 200],
      [first.headers.get("etag")!, 200], // a weak tag is never strong enough
    ];
    for (const [condition, status] of cases) {
      const response = await visited(app, "/public/style.css", {
        headers: { range: "bytes=0-3", "if-range": condition },
      });
      assertEquals(response.status, status, condition);
    }
  });
});

Deno.test("`files()` responds to HEAD as to GET, without the body", async () => {
  await inTree(async (root) => {
    const app = serving(root);
    for (const path of ["/public/style.css", "/public/missing.css"]) {
      const get = await visited(app, path);
      const head = await visit(app, path, { method: "HEAD" });
      assertEquals(head.status, get.status);
      assertEquals(await head.text(), "");
      const [a, b] = [get, head].map(({ headers }) => new Headers(headers));
      if (a!.get("content-length") === null) b!.delete("content-length");
      assertEquals([...b!], [...a!], path);
    }
    const range = await visit(app, "/public/style.css", {
      method: "HEAD",
      headers: { range: "bytes=0-3" },
    });
    assertEquals(range.status, 200);
  });
});

Deno.test("`files()` leaves other methods to other routes", async () => {
  await inTree(async (root) => {
    const app = serving(root);
    const post = { method: "POST", body: "x" };
    assertEquals((await visited(app, "/public/style.css", post)).status, 404);
    app.route("POST /public/style.css", () => "posted");
    assertEquals(
      await (await visit(app, "/public/style.css", post)).text(),
      "posted",
    );
  });
});

Deno.test("`files()` with an index serves it for its folder, under an address that ends with a slash", async () => {
  await inTree(async (root) => {
    const app = serving(root, { index: "index.html" });
    const folder = await visit(app, "/public/docs/");
    assertEquals(await folder.text(), "<h1>Docs</h1>");
    assertEquals(
      folder.headers.get("content-type")?.toLowerCase(),
      "text/html; charset=utf-8",
    );
    for (const query of ["", "?a=b?c"]) {
      const { status, headers } = await visited(app, `/public/docs${query}`);
      assertEquals(status, 301);
      assertEquals(headers.get("location"), `/public/docs/${query}`);
    }
    const cases = {
      "/public/": 404,
      "/public/bare/": 404,
      "/public/.git/": 404,
      "/public/up/": 404,
      "/public/up": 404,
      "/public/style.css/": 404,
    };
    for (const [path, status] of Object.entries(cases)) {
      assertEquals((await visited(app, path)).status, status, path);
    }
  });
});

Deno.test("`files()` with an index leads from the root of a mount to its slash", async () => {
  await inTree(async (root) => {
    const [app, between, inner] = [new Engine(), new Engine(), new Engine()];
    files(inner, "/", `${root}/public/docs`, { index: "index.html" });
    between.mount("/docs", inner);
    app.mount("/docs", inner);
    app.mount("/all", between);
    for (const path of ["/docs", "/all/docs"]) {
      const { status, headers } = await visited(app, `${path}?a=b`);
      assertEquals([status, headers.get("location")], [301, `${path}/?a=b`]);
      const folder = await visit(app, `${path}/`);
      assertEquals(await folder.text(), "<h1>Docs</h1>");
    }
  });
});

Deno.test("`files()` serves the root of a site, a group, and below a base path", async () => {
  await inTree(async (root) => {
    const app = new Engine();
    app.set("framework.base_url", "/blog");
    app.group(
      "/assets",
      () => files(app, "/v1", new URL(`file://${root}/public`)),
    );
    files(app, "/", `${root}/public/docs`, { index: "index.html" });
    const textOf = async (path: string) =>
      await (await visit(app, path)).text();
    assertEquals(await textOf("/blog/assets/v1/style.css"), CSS);
    assertEquals(await textOf("/blog/"), "<h1>Docs</h1>");
    const { headers } = await visited(app, "/blog");
    assertEquals(headers.get("location"), "/blog/");
  });
});

Deno.test("`files()` redirects to a folder below the base, whether or not the path has it", async () => {
  await inTree(async (root) => {
    const app = serving(root, { index: "index.html" });
    app.set("framework.base_url", "/shop");
    files(app, "/shop", `${root}/public`, { index: "index.html" });
    const targets: unknown[] = [];
    app.before("redirect", ([target]) => void targets.push(target));
    const cases = {
      "/public/docs?x=1": "/shop/public/docs/?x=1",
      "/shop/public/docs?x=1": "/shop/public/docs/?x=1",
      "/shop/shop/docs": "/shop/shop/docs/",
    };
    for (const [path, location] of Object.entries(cases)) {
      const { headers } = await visited(app, path);
      assertEquals(headers.get("location"), location, path);
    }
    assertEquals(targets, Object.values(cases)); // for a mapped `redirect()`, too
  });
});

Deno.test("`files()` serves a folder that is the root of the file system", async () => {
  await inTree(async (root) => {
    const app = new Engine();
    const asset = files(app, "/root", "/");
    const path = `/root${root}/public/style.css`;
    assertEquals(await (await visit(app, path)).text(), CSS);
    assertMatch(asset(`${root}/public/style.css`), /\?v=\w+$/);
  });
});

Deno.test("`files()` serves nothing of a folder beside its own whose name goes on with a backslash", async () => {
  await inTree(async (root) => {
    await Deno.mkdir(`${root}/public\\too`);
    await Deno.writeTextFile(`${root}/public\\too/secret.txt`, "secret");
    await Deno.symlink(`${root}/public\\too`, `${root}/public/more`);
    const response = await visited(serving(root), "/public/more/secret.txt");
    assertEquals(response.status, 404);
  });
});

Deno.test("`files()` returns a function that makes URLs with the base, the groups and a version", async () => {
  await inTree(async (root) => {
    const app = new Engine();
    app.set("framework.base_url", "https://example.com/shop");
    const asset = files(app, "/public", `${root}/public`);
    assertMatch(asset("style.css"), /^\/shop\/public\/style\.css\?v=\w+$/);
    assertEquals(asset("/style.css"), asset("style.css"));
    const [path] = asset("a b/ü+1.txt").split("?");
    assertEquals(path, "/shop/public/a%20b/%C3%BC%2B1.txt");
    let grouped = asset;
    app.group("/a", () => {
      grouped = files(app, "/b", `${root}/public`);
    });
    const [, version] = asset("style.css").split("?v=");
    assertEquals(grouped("style.css"), `/shop/a/b/style.css?v=${version}`);
    for (const url of [asset("a b/ü+1.txt"), grouped("style.css")]) {
      assertEquals((await visited(app, url)).status, 200, url);
    }
  });
});

Deno.test("the URL of a file changes with its content, however soon and of whatever length", async () => {
  await inTree(async (root) => {
    const asset = files(new Engine(), "/public", `${root}/public`);
    const urls = new Set<string>();
    for (const content of ["a{}", "b{}", "c{}", "a{ }"]) {
      await Deno.writeTextFile(`${root}/public/style.css`, content);
      urls.add(asset("style.css"));
    }
    await Deno.utime(`${root}/public/style.css`, 1_000, 1_000);
    urls.add(asset("style.css")); // the same content
    assertEquals(urls.size, 4);
    await Deno.truncate(`${root}/public/style.css`, 2 ** 24); // too large to be read
    urls.add(asset("style.css"));
    assertEquals(urls.size, 5);
  });
});

for (const [what, hours] of Object.entries({ "is old": -1, "lies ahead": 1 })) {
  Deno.test(`a file whose time ${what} is read once for its version`, async () => {
    await inTree(async (root) => {
      const time = new Date(Date.now() + hours * 3_600_000);
      await Deno.utime(`${root}/public/style.css`, time, time);
      const asset = files(new Engine(), "/public", `${root}/public`);
      const read = Deno.readFileSync;
      using reads = stub(Deno, "readFileSync", read);
      assertEquals(asset("style.css"), asset("style.css"));
      assertSpyCalls(reads, 1);
    });
  });
}

Deno.test("the URL of what is no file to be served has no version", async () => {
  await inTree(async (root) => {
    const asset = files(new Engine(), "/public", `${root}/public`);
    const names =
      "missing.css docs .env .git/config outside.txt visible.txt loop up/secret.txt";
    for (const name of names.split(" ")) {
      assertEquals(asset(name), `/public/${name}`);
    }
    assertThrows(() => asset("../secret.txt"), RangeError);
    await Deno.remove(`${root}/public`, { recursive: true });
    assertEquals(asset("style.css"), "/public/style.css");
  });
});

Deno.test("`files()` lets clients keep the version that a URL names for a year, if it is the current one", async () => {
  await inTree(async (root) => {
    const cacheControl = "public, max-age=60";
    const app = new Engine();
    const asset = files(app, "/public", `${root}/public`, { cacheControl });
    const url = asset("style.css");
    const cachingOf = async (url: string): Promise<string | null> =>
      (await visited(app, url)).headers.get("cache-control");
    assertEquals(await cachingOf(url), "public, max-age=31536000, immutable");
    assertEquals(await cachingOf("/public/style.css"), cacheControl);
    assertEquals(await cachingOf("/public/style.css?v=1"), cacheControl);
    assertEquals(await cachingOf(`${url}&v[]=1`), cacheControl);
    await Deno.writeTextFile(`${root}/public/style.css`, "a{}");
    assertEquals(await cachingOf(url), cacheControl);
    assertEquals(await cachingOf("/public/missing.css?v=1"), null);
  });
});

/** The option, and the `Cache-Control` of a URL that names the current version. */
const CACHING: Readonly<Record<string, string>> = {
  "private, no-store": "private, no-store",
  "No-Store": "No-Store",
  "private, max-age=60": "private, max-age=31536000, immutable",
  "no-cache": "public, max-age=31536000, immutable",
};

for (const [cacheControl, expected] of Object.entries(CACHING)) {
  Deno.test(`\`files()\` under "${cacheControl}" sends the current version as "${expected}"`, async () => {
    await inTree(async (root) => {
      const app = new Engine();
      const asset = files(app, "/public", `${root}/public`, { cacheControl });
      const { headers } = await visited(app, asset("style.css"));
      assertEquals(headers.get("cache-control"), expected);
    });
  });
}

Deno.test("`files()` leaves a `Cache-Control` that the application has set", async () => {
  await inTree(async (root) => {
    const app = new Engine();
    const noStore = () => void app.response().cache(false);
    let asset = (name: string) => name;
    app.group("/members", () => {
      asset = files(app, "/f", `${root}/public`);
    }, [noStore]);
    const url = asset("style.css");
    for (const path of [url, "/members/f/style.css"]) {
      const first = await visited(app, path);
      const headers = { "if-none-match": first.headers.get("etag")! };
      const again = await visited(app, path, { headers });
      assertEquals([first.status, again.status], [200, 304]);
      for (const { headers } of [first, again]) {
        assertEquals(headers.get("cache-control"), "no-store", path);
      }
    }
  });
});

Deno.test("`files()` keeps no caching of a version that is replaced while it is sent", async () => {
  await inTree(async (root) => {
    const app = new Engine();
    const asset = files(app, "/public", `${root}/public`);
    const url = asset("style.css");
    const open = Deno.open;
    let isReplaced = false;
    using _ = stub(Deno, "open", async (path, options) => {
      if (!isReplaced) await Deno.writeTextFile(path, "a{}");
      isReplaced = true;
      return await open(path, options);
    });
    const response = await visit(app, url);
    assertEquals(await response.text(), "a{}");
    assertEquals(response.headers.get("cache-control"), "no-cache");
  });
});

Deno.test("templates make URLs of files", async () => {
  await inTree(async (root) => {
    const app = new Engine();
    await Deno.writeTextFile(`${root}/page.vto`, `{{ asset("style.css") }}`);
    app.set("framework.views.path", root);
    const asset = files(app, "/public", `${root}/public`);
    app.view().set("asset", asset);
    app.route("/", () => app.render("page"));
    assertEquals(await (await visit(app, "/")).text(), asset("style.css"));
  });
});

Deno.test("`files()` sends a file that is replaced or deleted meanwhile whole, or not at all", async () => {
  await inTree(async (root) => {
    const app = serving(root);
    const path = `${root}/public/style.css`;
    const replace = async (): Promise<void> => {
      for (let size = 1; size <= 300; size++) {
        await Deno.writeTextFile(`${path}.new`, "x".repeat(size));
        await Deno.rename(`${path}.new`, path);
        if (size % 3 === 0) await Deno.remove(path);
      }
    };
    const read = async (): Promise<void> => {
      for (let count = 0; count < 100; count++) {
        const response = await visit(app, "/public/style.css");
        const { length } = await response.text();
        if (response.status === 404) continue;
        if (response.status === 503) continue; // it changed too often
        assertEquals(response.status, 200);
        assertEquals(response.headers.get("content-length"), `${length}`);
      }
    };
    await Promise.all([replace(), read(), read(), read()]);
  });
});

Deno.test("a file that is deleted while its version is made is not found, and its URL has no version", async () => {
  await inTree(async (root) => {
    const app = serving(root);
    const asset = files(app, "/again", `${root}/public`);
    const read = Deno.readFileSync;
    using _ = stub(Deno, "readFileSync", (path) => {
      Deno.removeSync(path);
      return read(path);
    });
    const response = await visit(app, "/public/style.css?v=1");
    assertEquals([response.status, await response.text()], [
      404,
      "nothing here",
    ]);
    assertEquals(asset("no-extension"), "/again/no-extension");
  });
});

/** Adds compressed forms of the style sheet: their texts say what they are. */
async function compress(root: string): Promise<void> {
  await Deno.writeTextFile(`${root}/public/style.css.br`, "brotli");
  await Deno.writeTextFile(`${root}/public/style.css.gz`, "gzip");
}

/** What clients accept, and the text and coding that each gets. */
const ENCODINGS: Readonly<Record<string, [string, string | null]>> = {
  "": [CSS, null],
  "br": ["brotli", "br"],
  "gzip, deflate, br, zstd": ["brotli", "br"],
  "GZIP": ["gzip", "gzip"],
  "*": ["brotli", "br"],
  "br;q=0, *": ["gzip", "gzip"],
  "br;q=0.5, gzip;q=0.8": ["gzip", "gzip"],
  "br ; Q=0.000, gzip;q=0": [CSS, null],
  "identity, br;q=0.5": [CSS, null],
  "identity;q=0.5, br": ["brotli", "br"],
  "*;q=0": [CSS, null],
  "deflate": [CSS, null],
  "br;q=x": [CSS, null],
};

Deno.test("`files()` sends the compressed form that the client takes", async () => {
  await inTree(async (root) => {
    await compress(root);
    const app = serving(root);
    for (const [accepted, [text, coding]] of Object.entries(ENCODINGS)) {
      const headers = { "accept-encoding": accepted };
      const response = await visit(app, "/public/style.css", { headers });
      assertEquals(await response.text(), text, accepted);
      assertEquals(response.headers.get("content-encoding"), coding, accepted);
      assertEquals(response.headers.get("content-length"), `${text.length}`);
      const type = response.headers.get("content-type")?.toLowerCase();
      assertEquals(type, "text/css; charset=utf-8");
      assertEquals(response.headers.get("vary"), "Accept-Encoding");
    }
    const other = await visited(app, "/public/no-extension");
    assertEquals(other.headers.get("vary"), null);
  });
});

Deno.test("`files()` gives each form of a file a tag of its own, by which clients ask", async () => {
  await inTree(async (root) => {
    await compress(root);
    const app = serving(root);
    const tags = new Set<string>();
    for (const accepted of ["", "br", "gzip"]) {
      const headers = { "accept-encoding": accepted };
      const first = await visited(app, "/public/style.css", { headers });
      const etag = first.headers.get("etag")!;
      const again = await visited(app, "/public/style.css", {
        headers: { ...headers, "if-none-match": etag },
      });
      assertEquals([again.status, again.headers.get("etag")], [304, etag]);
      assertEquals(again.headers.get("vary"), "Accept-Encoding");
      tags.add(etag);
    }
    assertEquals(tags.size, 3);
  });
});

Deno.test("`files()` sends ranges of the file itself only, and none that would mix two forms", async () => {
  await inTree(async (root) => {
    await compress(root);
    const app = serving(root);
    const ask = (headers: Record<string, string>) =>
      visit(app, "/public/style.css", {
        headers: { range: "bytes=0-3", "accept-encoding": "br", ...headers },
      });
    const part = await ask({});
    assertEquals([part.status, await part.text()], [206, "body"]);
    assertEquals(part.headers.get("content-encoding"), null);
    assertEquals(part.headers.get("vary"), "Accept-Encoding");
    for (const validator of ["last-modified", "etag"]) {
      const whole = await ask({ "if-range": part.headers.get(validator)! });
      assertEquals([whole.status, await whole.text()], [200, "brotli"]);
    }
  });
});

Deno.test("`files()` sends no compressed form that is older than the file, hidden or outside", async () => {
  await inTree(async (root) => {
    await compress(root);
    await Deno.utime(`${root}/public/style.css.br`, 1_000, 1_000);
    await Deno.remove(`${root}/public/style.css.gz`);
    await Deno.symlink("../secret.txt", `${root}/public/style.css.gz`);
    await Deno.symlink(".env", `${root}/public/empty.txt.br`);
    await Deno.mkdir(`${root}/public/empty.txt.gz`);
    const app = serving(root);
    const headers = { "accept-encoding": "br, gzip" };
    for (const [name, text] of [["style.css", CSS], ["empty.txt", ""]]) {
      const response = await visit(app, `/public/${name}`, { headers });
      assertEquals(await response.text(), text);
      assertEquals(response.headers.get("content-encoding"), null);
    }
  });
});

Deno.test("`files()` sends compressed files that a real client reads", async () => {
  await inTree(async (root) => {
    const text = CSS.repeat(100);
    await Deno.writeTextFile(`${root}/public/style.css`, text);
    const zipped = new Blob([text]).stream()
      .pipeThrough(new CompressionStream("gzip"));
    await Deno.writeFile(`${root}/public/style.css.gz`, zipped);
    const app = serving(root);
    await using server = app.start({ port: 0, signals: false });
    const { port } = server.addr as Deno.NetAddr;
    const url = `http://127.0.0.1:${port}/public/style.css`;
    const response = await fetch(url);
    assertEquals(response.headers.get("content-encoding"), "gzip");
    assertEquals(await response.text(), text);
  });
});

Deno.test("`files()` adds to what the response depends on already", async () => {
  await inTree(async (root) => {
    await compress(root);
    const app = serving(root);
    app.before("start", () => void app.response().header("vary", "Origin"));
    const response = await visited(app, "/public/style.css");
    assertEquals(response.headers.get("vary"), "Origin, Accept-Encoding");
  });
});

Deno.test("`files()` asks for what it may not read by an error, and for a folder that is missing, too", async () => {
  await inTree(async (root) => {
    const app = new Engine();
    files(app, "/public", `${root}/typo`);
    let status = 0;
    const [line] = await logOf(async () => {
      app.set("framework.log_errors", true);
      status = (await visited(app, "/public/style.css")).status;
    });
    assertEquals(status, 500);
    assertMatch(line!, /NotFound/);
  });
});

Deno.test("`files()` says that a folder is missing, and what to write for one next to the module", async () => {
  const missing = async (folder: string): Promise<string> => {
    const app = new Engine();
    files(app, "/public", folder);
    app.map("error", (error: Error) => error.message);
    return await (await visit(app, "/public/style.css")).text();
  };
  assertEquals(
    await missing("./no-such-folder"),
    'Cannot serve files from "./no-such-folder": there is no such folder where the process was started; ' +
      'for a folder next to the module, use new URL("./no-such-folder", import.meta.url)',
  );
  assertEquals(
    await missing("/no-such-folder"),
    'Cannot serve files from "/no-such-folder": there is no such folder',
  );
  assertEquals(
    await missing(import.meta.filename!),
    `Cannot serve files from "${import.meta.filename}": it is a file`,
  );
  assertThrows(
    () => files(new Engine(), "/public", undefined as unknown as string),
    TypeError,
    "Cannot serve files: the folder must be a path or a file: URL, got undefined",
  );
});

/** Serves a folder; `/growth` says by how many bytes the memory has grown. In a process of its own: others take memory, too. */
const MEASURED = `
import { Framework } from "@framework/core";
import { files } from "@framework/core/files";
files(Framework, "/public", Deno.env.get("FOLDER"));
const rss = () => Deno.memoryUsage().rss;
const before = rss();
let most = before;
setInterval(() => most = Math.max(most, rss()), 5);
Framework.route("/growth", () => String(most - before));
Framework.start({ port: 0 });`;

Deno.test("`files()` streams a large file in flat memory to a real client, whole and in part", async () => {
  await inTree(async (root) => {
    const size = 2 ** 28; // twice the memory that it may take
    await Deno.truncate(`${root}/public/style.css`, size); // a hole, which takes no room
    const folder = `${root}/public`;
    await using child = await ServerProcess.start(MEASURED, {
      env: { FOLDER: folder },
      permissions: [
        "--allow-net=127.0.0.1",
        `--allow-read=${folder}`,
        "--allow-env=FOLDER",
      ],
    });
    const port = await child.port();
    for (const start of [0, 1]) {
      const range = start === 0 ? "" : `Range: bytes=${start}-\r\n`;
      assertGreater(await download(port, range), size - start);
      const growth = await fetch(`http://127.0.0.1:${port}/growth`);
      assertLess(Number(await growth.text()), 2 ** 27);
    }
  });
});

/** Downloads the style sheet over a socket; returns how many bytes came. */
async function download(port: number, header: string): Promise<number> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const head = "GET /public/style.css HTTP/1.1\r\nHost: a\r\nConnection: close";
  await connection.write(new TextEncoder().encode(`${head}\r\n${header}\r\n`));
  const buffer = new Uint8Array(2 ** 20);
  for (let length = 0;;) {
    const count = await connection.read(buffer);
    if (count === null) return length;
    length += count;
  }
}

Deno.test("`files()` closes the file of a client that leaves", async () => {
  await inTree(async (root) => {
    await Deno.truncate(`${root}/public/style.css`, 2 ** 26);
    const app = serving(root);
    await using server = app.start({ port: 0, signals: false });
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
});

const NO_PREFIXES = "/@lang /a(/b) /* /a+b /p?x /a{2} /[ab] /\\d".split(" ");

for (const prefix of [...NO_PREFIXES, undefined]) {
  Deno.test(`\`files()\` refuses the prefix ${JSON.stringify(prefix)}`, () => {
    assertThrows(
      () => files(new Engine(), prefix as string, "."),
      TypeError,
      "the prefix must be a path without parameters",
    );
  });
}

Deno.test("`files()` takes a prefix whose characters are escaped as text", async () => {
  await inTree(async (root) => {
    for (const prefix of ["/a\\+b", "/a\\@b", "/a.b", "/a%2Bb"]) {
      const app = new Engine();
      const asset = files(app, prefix, `${root}/public`);
      const response = await visit(app, asset("style.css"));
      assertEquals(await response.text(), CSS, prefix);
    }
  });
});

/** Options that cannot work, and what the error says of them. */
const REFUSED: readonly [FilesOptions, string][] = [
  [{ cacheControl: "a\r\nb" }, "text that a header can contain"],
  [{ cacheControl: "no-cache\n" }, "text that a header can contain"],
  [{ cacheControl: "\u2022" }, "text that a header can contain"],
  [{ index: ".index.html" }, "dot files are not served"],
  [{ index: "pages/.index.html" }, "dot files are not served"],
  [{ index: "/index.html" }, "the name of a file"],
  [{ index: "" }, "the name of a file"],
];

for (const [options, message] of REFUSED) {
  Deno.test(`\`files()\` refuses ${JSON.stringify(options)}`, () => {
    const declare = () => files(new Engine(), "/public", ".", options);
    assertThrows(declare, TypeError, message);
  });
}

/** Requests a path and leaves the body unread. */
async function visited(
  app: Engine,
  path: string,
  init?: RequestInit,
): Promise<Response> {
  const response = await visit(app, path, init);
  await response.body?.cancel();
  return response;
}
