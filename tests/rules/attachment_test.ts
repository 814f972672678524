/** DESIGN.md, section 4, `response().attachment()`: the name that a file is saved by, and its type. */

import { assertEquals, assertThrows } from "@std/assert";
import { Engine } from "@framework/core";

/** The headers of a response to what a route does. */
async function headersOf(route: (app: Engine) => unknown): Promise<Headers> {
  const app = new Engine();
  app.route("/", () => route(app) as never);
  const { headers } = await app.fetch("/");
  return headers;
}

Deno.test("`attachment()` gives both forms of the name, without folders", async () => {
  const table: [name: string | undefined, disposition: string][] = [
    [undefined, "attachment"],
    ["a.pdf", `attachment; filename="a.pdf"; filename*=UTF-8''a.pdf`],
    ["../a/b.txt", `attachment; filename="b.txt"; filename*=UTF-8''b.txt`],
    [
      "Ü & €.txt",
      `attachment; filename="_ & _.txt"; filename*=UTF-8''%C3%9C%20%26%20%E2%82%AC.txt`,
    ],
    [
      `say "hi"\\ (it's*).txt`,
      `attachment; filename="say \\"hi\\"\\\\ (it's*).txt"; ` +
      "filename*=UTF-8''say%20%22hi%22%5C%20%28it%27s%2A%29.txt",
    ],
    [
      "100%.txt;x=y",
      `attachment; filename="100%.txt;x=y"; filename*=UTF-8''100%25.txt%3Bx%3Dy`,
    ],
  ];
  for (const [name, disposition] of table) {
    const headers = await headersOf((app) => app.response().attachment(name));
    assertEquals(headers.get("content-disposition"), disposition);
  }
});

Deno.test("the type of an `attachment()` follows from its name, unknown ones are octet streams", async () => {
  const bytes = new Uint8Array(1);
  const table: [name: string, body: unknown, type: string][] = [
    ["a.csv", "a;b", "text/csv; charset=utf-8"],
    ["A.PDF", bytes, "application/pdf"],
    ["a.tar.gz", bytes, "application/gzip"],
    ["a.geojson", { a: 1 }, "application/geo+json"],
    ["a.unknown", bytes, "application/octet-stream"],
    ["a.unknown", "<script>", "application/octet-stream"],
    ["constructor", bytes, "application/octet-stream"],
    ["a", ReadableStream.from([bytes]), "application/octet-stream"],
  ];
  for (const [name, body, type] of table) {
    const headers = await headersOf((app) => {
      app.response().attachment(name);
      return body;
    });
    assertEquals(headers.get("content-type"), type, name);
  }
});

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
      assertThrows(() => app.response().attachment(name), TypeError);
    }
  });
});
