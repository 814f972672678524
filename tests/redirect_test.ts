/** Tests where redirects lead, and what `redirect()` refuses. */

import { Engine } from "@framework/core";
import {
  assertEquals,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { onEngine, visit } from "./forms.ts";

const TARGETS: [base: string, target: string, location: string][] = [
  ["http://example.com/app", "/new", "http://example.com/app/new"],
  ["http://example.com/app/", "new", "http://example.com/app/new"],
  ["http://example.com/app", "/app/new", "http://example.com/app/new"],
  ["https://example.com:8443", "/new", "https://example.com:8443/new"],
  ["HTTPS://Example.com/", "", "https://example.com/"],
  [
    "http://example.com/app",
    "//other.test/x",
    "http://example.com/app/other.test/x",
  ],
  ["http://example.com", "/\\other.test", "http://example.com/other.test"],
  ["http://example.com/app", "https://other.test/x", "https://other.test/x"],
  ["http://example.com/app", "?page=2", "?page=2"],
  ["/app", "/new", "/app/new"],
  ["//app/", "/new", "/app/new"],
];

for (const [base, target, location] of TARGETS) {
  onEngine(
    `\`redirect("${target}")\` under the base ${base} leads to ${location}`,
    async (app) => {
      app.set("framework.base_url", base);
      app.route("*", () => app.redirect(target));
      const response = await visit(app, "/");
      assertEquals(response.headers.get("location"), location);
    },
  );
}

Deno.test("`redirect()` and `halt()` drop the length of the content so far, for HEAD, too", async () => {
  const app = new Engine();
  app.before("start", () => {
    app.response().header("content-length", 1000);
  });
  app.route("/redirect", () => app.redirect("/x"));
  app.route("/halt", () => app.halt(403));
  for (const path of ["/redirect", "/halt"]) {
    for (const method of ["GET", "HEAD"]) {
      const request = new Request(`http://localhost${path}`, { method });
      const { headers } = await app.fetch(request);
      const length = headers.get("content-length");
      assertNotEquals(length, "1000", `${method} ${path}`);
    }
  }
});

onEngine(
  "a base with letters beyond ASCII is compared and sent encoded",
  async (app) => {
    app.set("framework.base_url", "/bücher");
    app.route("/new", () => app.redirect("/list"), false, "new");
    assertEquals(app.getUrl("new"), "/b%C3%BCcher/new");
    const { headers } = await visit(app, "/bücher/new");
    assertEquals(headers.get("location"), "/b%C3%BCcher/list");
  },
);

onEngine("`getUrl()` leaves the host of the base out", (app) => {
  app.set("framework.base_url", "http://example.com/app");
  app.route("/user/@id", () => {}, false, "user");
  assertEquals(app.getUrl("user", { id: 1 }), "/app/user/1");
});

onEngine(
  "`redirect()` leads where it says, and never off the site unless written with a scheme",
  async (app) => {
    const cases: [string, string][] = [
      ["/there", "/there"],
      ["there", "/there"],
      ["", "/"],
      ["/a b", "/a%20b"],
      ["/ü?ü#ü", "/%C3%BC?%C3%BC#%C3%BC"],
      ["/100%", "/100%"],
      ["/a%20b", "/a%20b"],
      ["/a/../b", "/b"],
      ["?page=2", "?page=2"],
      ["#top", "#top"],
      ["?\ud800", "?%EF%BF%BD"],
      ["https://example.com/x", "https://example.com/x"],
      ["https://example.com", "https://example.com"],
      ["HTTPS://example.com", "https://example.com/"],
      ["mailto:a@example.com", "mailto:a@example.com"],
      ["//example.com/x", "/example.com/x"],
      ["/\\example.com", "/example.com"],
      ["\\\\example.com", "/example.com"],
      ["/.//example.com", "/example.com"],
      ["/..//example.com", "/example.com"],
      ["  //example.com", "/example.com"],
      ["/%2f%2fexample.com", "/%2f%2fexample.com"],
    ];
    for (const [target, expected] of cases) {
      app.init();
      app.route("/", () => app.redirect(target));
      const response = await visit(app, "/");
      assertEquals(response.headers.get("location"), expected, target);
    }
  },
);

onEngine("`redirect()` stays under the base, once", async (app) => {
  const cases: [string, string][] = [
    ["/there", "/blog/there"],
    ["there", "/blog/there"],
    ["/", "/blog/"],
    ["/blog/there", "/blog/there"],
    ["/blog", "/blog"],
    ["blog/there", "/blog/blog/there"],
    ["/blogger", "/blog/blogger"],
    ["?a=1", "?a=1"],
    ["https://example.com/", "https://example.com/"],
  ];
  app.set("framework.base_url", "/blog");
  app.route("/there", () => {}, false, "there");
  app.route("/alias", () => app.redirect(app.getUrl("there")));
  for (const [index, [target, expected]] of cases.entries()) {
    app.route(`/${index}`, () => app.redirect(target));
    const response = await visit(app, `/blog/${index}`);
    assertEquals(response.headers.get("location"), expected, target);
  }
  const response = await visit(app, "/blog/alias");
  assertEquals(response.headers.get("location"), "/blog/there");
});

onEngine(
  "`redirect()` refuses what runs code or breaks the head",
  async (app) => {
    const hostile = [
      "javascript:alert(1)",
      " JavaScript:alert(1)",
      "data:text/html,x",
      "vbscript:x",
      "/a\r\nset-cookie: b=1",
      "/a\nb",
      "java\tscript:alert(1)",
      "/\t/example.com",
      "/a\0",
      "http://",
      "https://exa mple.com",
    ];
    for (const target of hostile) {
      app.init();
      app.route("/", () => app.redirect(target));
      const response = await visit(app, "/");
      assertEquals([response.status, response.headers.get("location")], [
        500,
        null,
      ], target);
    }
  },
);

onEngine(
  "`redirect()` refuses a target that is no string, such as a missing field",
  async (app) => {
    app.route("/", () => app.redirect(app.request().data.next as string));
    const response = await visit(app, "/");
    assertEquals(response.status, 500);
    assertStringIncludes(
      await response.text(),
      "Cannot redirect: the target must be a string, got undefined",
    );
  },
);

onEngine(
  "`redirect()` refuses a status that redirects nowhere",
  async (app) => {
    for (const code of [200, 299, 400, NaN]) {
      app.init();
      app.route("/", () => app.redirect("/there", code));
      assertEquals((await visit(app, "/")).status, 500, String(code));
    }
  },
);

Deno.test("a base is compared however a client encodes it", async () => {
  const app = new Engine();
  app.set("framework.base_url", "/b\u00fc cher");
  app.route("/x", () => "below");
  const found: number[] = [];
  for (
    const base of [
      "b%C3%BC%20cher",
      "b%c3%bc%20cher",
      "%62%c3%bc%20cher",
      "b%C3%BC%2520cher",
    ]
  ) {
    const { status } = await app.fetch(`/${base}/x`);
    found.push(status);
  }
  assertEquals(found, [200, 200, 200, 404]);
});
