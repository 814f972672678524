/** DESIGN.md, section 4, `response().cookie()`, and how the cookies of a request are read. */

import { assertEquals, assertThrows } from "@std/assert";
import { Engine, type HttpResponse } from "@framework/core";

/** The `Set-Cookie` lines of a response that a handler builds. */
async function linesOf(
  build: (response: HttpResponse) => unknown,
  url = "http://localhost/",
): Promise<string[]> {
  const app = new Engine();
  app.route("/", () => void build(app.response()));
  return (await app.fetch(new Request(url))).headers.getSetCookie();
}

Deno.test("`cookie()` is safe by default and encodes its value", async () => {
  const lines = await linesOf((response) =>
    response.cookie("name", 'a b;"ü\r\n')
  );
  assertEquals(lines, [
    "name=a%20b%3B%22%C3%BC%0D%0A; HttpOnly; SameSite=Lax; Path=/",
  ]);
});

Deno.test("`cookie()` is `Secure` on https, and where clients insist on it", async () => {
  const areSecure = async (url: string) =>
    (await linesOf((response) => {
      response.cookie("a", "1").cookie("b", "2", { sameSite: "None" })
        .cookie("__Host-c", "3");
    }, url)).map((line) => line.includes("Secure"));
  assertEquals(await areSecure("http://localhost/"), [false, true, true]);
  assertEquals(await areSecure("https://localhost/"), [true, true, true]);
});

Deno.test("`cookie()` takes attributes in place of its defaults", async () => {
  const lines = await linesOf((response) =>
    response.cookie("a", "1", {
      httpOnly: false,
      sameSite: "Strict",
      path: "/blog",
      maxAge: 0,
      expires: 0,
      domain: ".example.com",
    })
  );
  assertEquals(lines, [
    "a=1; Max-Age=0; Domain=.example.com; SameSite=Strict; Path=/blog; " +
    "Expires=Thu, 01 Jan 1970 00:00:00 GMT",
  ]);
});

Deno.test("`cookie()` replaces the cookie of the same name, domain and path, and keeps the others", async () => {
  const lines = await linesOf((response) => {
    response.cookie("a", "1").cookie("ab", "2").cookie("a", "3")
      .cookie("a", "4", { path: "/blog" })
      .cookie("a", "5", { domain: "example.com" })
      .cookie("a", "6", { path: "/blog", maxAge: 0 });
  });
  const shown = lines.map((line) =>
    line.split("; ").filter((part) => /^a|^Path|^Domain/.test(part)).join(" ")
  );
  assertEquals(shown.sort(), [
    "a=3 Path=/",
    "a=5 Domain=example.com Path=/",
    "a=6 Path=/blog",
    "ab=2 Path=/",
  ]);
});

Deno.test("`cookie()` refuses what clients would drop or misread", async () => {
  const refused: Parameters<HttpResponse["cookie"]>[] = [
    ["", "1"],
    ["a b", "1"],
    ["a;b", "1"],
    ["a\r\nb", "1"],
    ["a", "1", { path: "/;secure" }],
    ["a", "1", { domain: "a.com; Secure" }],
    ["a", "1", { maxAge: -1 }],
    ["a", "1", { expires: new Date(NaN) }],
    ["a", "1", { sameSite: "lax; x" as never }],
    ["a", "x".repeat(4_096)],
  ];
  const lines = await linesOf((response) => {
    for (const params of refused) {
      assertThrows(() => response.cookie(...params), Error);
    }
  });
  assertEquals(lines, []);
});

Deno.test("`cookies` reads any header, the first of a name, and leaves a bad escape as it is", async () => {
  const app = new Engine();
  app.route("/", () => Object.entries(app.request().cookies));
  const table: [header: string, cookies: [string, string][]][] = [
    ["=a; b=1", [["b", "1"]]],
    ["a=1;b=2;;  ; c", [["a", "1"], ["b", "2"]]],
    ["a=x%20y%3B; b=%zz; c=100%", [["a", "x y;"], ["b", "%zz"], ["c", "100%"]]],
    ['a="quoted"; b="', [["a", "quoted"], ["b", '"']]],
    ["a=first; a=second", [["a", "first"]]],
    ["toString=1; __proto__=2", [["toString", "1"], ["__proto__", "2"]]],
    // A subdomain may set the first, so that it must not become the second.
    ["\xa0__Host-id=evil; \t__Host-id\t= mine ", [
      ["\xa0__Host-id", "evil"],
      ["__Host-id", "mine"],
    ]],
  ];
  for (const [cookie, cookies] of table) {
    const request = new Request("http://localhost/", { headers: { cookie } });
    assertEquals(await (await app.fetch(request)).json(), cookies, cookie);
  }
});
