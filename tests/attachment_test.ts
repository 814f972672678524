/** Tests `attachment()`: the name that a file is saved by, and its type. */

import { assertEquals, assertThrows } from "@std/assert";
import { Engine } from "@framework/core";

/** The headers of a response to what a route does. */
async function headersOf(route: (app: Engine) => unknown): Promise<Headers> {
  const app = new Engine();
  app.route("/", () => route(app));
  const response = await app.fetch(new Request("http://localhost/"));
  await response.body?.cancel();
  return response.headers;
}

const NAMES: [name: string | undefined, disposition: string][] = [
  [undefined, "attachment"],
  ["a.pdf", `attachment; filename="a.pdf"; filename*=UTF-8''a.pdf`],
  [
    "Ü & €.txt",
    `attachment; filename="_ & _.txt"; filename*=UTF-8''%C3%9C%20%26%20%E2%82%AC.txt`,
  ],
  [
    `say "hi"\\ (it's*).txt`,
    `attachment; filename="say \\"hi\\"\\\\ (it's*).txt"; ` +
    "filename*=UTF-8''say%20%22hi%22%5C%20%28it%27s%2A%29.txt",
  ],
  ["../a/b.txt", `attachment; filename="b.txt"; filename*=UTF-8''b.txt`],
  [
    "100%.txt;x=y",
    `attachment; filename="100%.txt;x=y"; filename*=UTF-8''100%25.txt%3Bx%3Dy`,
  ],
  ["\ud800", `attachment; filename="_"; filename*=UTF-8''%EF%BF%BD`],
];

for (const [name, disposition] of NAMES) {
  Deno.test(`\`attachment(${Deno.inspect(name)})\` gives both forms of the name`, async () => {
    const headers = await headersOf((app) => app.response().attachment(name));
    assertEquals(headers.get("content-disposition"), disposition);
  });
}

const BYTES = new Uint8Array([1]);

const TYPES: [name: string, body: unknown, type: string][] = [
  ["a.csv", "a;b", "text/csv; charset=utf-8"],
  ["A.PDF", BYTES, "application/pdf"],
  ["a.tar.gz", BYTES, "application/gzip"],
  ["a.json", { a: 1 }, "application/json"],
  ["a.geojson", { a: 1 }, "application/geo+json"],
  ["a.unknown", BYTES, "application/octet-stream"],
  ["constructor", BYTES, "application/octet-stream"],
  ["a.constructor", "text", "text/html; charset=utf-8"],
];

for (const [name, body, type] of TYPES) {
  Deno.test(`\`attachment("${name}")\` sends ${Deno.inspect(body)} as ${type}`, async () => {
    const headers = await headersOf((app) => {
      app.response().attachment(name);
      return body;
    });
    assertEquals(headers.get("content-type"), type);
  });
}

Deno.test("`attachment()` keeps a type that is set", async () => {
  const headers = await headersOf((app) => {
    app.response().header("content-type", "text/x-log").attachment("a.txt");
    return "text";
  });
  assertEquals(headers.get("content-type"), "text/x-log");
});

Deno.test("`attachment()` refuses a name that no header carries", async () => {
  await headersOf((app) => {
    for (const name of ["a\r\nb", "\0", "a\x7f", "a\x85b", "", "a/"]) {
      assertThrows(
        () => app.response().attachment(name),
        TypeError,
        "Cannot send an attachment: the name must",
      );
    }
  });
});

Deno.test("`attachment()` comes too late when the response is sealed", async () => {
  const headers = await headersOf((app) => {
    app.json({ a: 1 });
    app.response().attachment("a.html");
  });
  assertEquals([...headers.keys()], ["content-type"]);
});

const PAGES: Readonly<Record<string, (app: Engine) => unknown>> = {
  "the default page": () => {},
  "a mapped `error`": (app) => app.map("error", () => "failed"),
  "the `error` of middleware": (app) =>
    app.router().routes()[0]!.addMiddleware({ error: () => "failed" }),
};

for (const [page, declare] of Object.entries(PAGES)) {
  Deno.test(`an error after \`attachment()\` is shown, not saved, on ${page}`, async () => {
    const app = new Engine();
    app.route("/", () => {
      app.response().attachment("report.csv");
      throw new Error("boom");
    });
    declare(app);
    const { status, headers, body } = await app.fetch("/");
    await body?.cancel();
    assertEquals([status, headers.get("content-disposition")], [500, null]);
    assertEquals(headers.get("content-type")?.includes("csv"), false);
  });
}

Deno.test("a stream that is saved under a name without a known type is no HTML", async () => {
  const app = new Engine();
  app.route("/@name", (name) => {
    app.response().attachment(name);
    return ReadableStream.from([new Uint8Array(3)]);
  });
  for (
    const [name, type] of Object.entries({
      "a.bin": "application/octet-stream",
      "a": "application/octet-stream",
      "a.csv": "text/csv; charset=utf-8",
    })
  ) {
    const response = await app.fetch(`/${name}`);
    assertEquals(response.headers.get("content-type"), type);
    await response.body?.cancel();
  }
});
