/** Where `redirect()` leads, and what it refuses. */

import { Engine } from "@framework/core";
import { assertEquals } from "@std/assert";
import { logOf } from "../support/log.ts";

/** The status and `Location` of a route that redirects to a target. */
async function redirected(
  target: string,
  { base, code }: { base?: string; code?: number } = {},
): Promise<[status: number, location: string | null]> {
  const app = new Engine();
  if (base !== undefined) app.set("framework.base_url", base);
  app.route("*", () => app.redirect(target, code));
  let response: Response | undefined;
  await logOf(async () => response = await app.fetch("/"));
  return [response!.status, response!.headers.get("location")];
}

/** Targets that a client may have chosen, without a base. */
const TARGETS: [target: string, location: string][] = [
  ["/there", "/there"],
  ["there", "/there"],
  ["", "/"],
  ["/a b", "/a%20b"],
  ["/ü?ü#ü", "/%C3%BC?%C3%BC#%C3%BC"],
  ["/a/../b", "/b"],
  ["?page=2", "?page=2"],
  ["#top", "#top"],
  ["https://example.com/x", "https://example.com/x"],
  ["mailto:a@example.com", "mailto:a@example.com"],
  ["//example.com/x", "/example.com/x"],
  ["/\\example.com", "/example.com"],
  ["\\\\example.com", "/example.com"],
  ["/.//example.com", "/example.com"],
  ["  //example.com", "/example.com"],
  ["/%2f%2fexample.com", "/%2f%2fexample.com"],
];

for (const [target, location] of TARGETS) {
  Deno.test(`\`redirect(${JSON.stringify(target)})\` leads to ${location}, never off the site unless written with a scheme`, async () => {
    assertEquals(await redirected(target), [303, location]);
  });
}

const UNDER_BASES: [base: string, target: string, location: string][] = [
  ["/blog", "/there", "/blog/there"],
  ["/blog", "/blog/there", "/blog/there"],
  ["/blog", "/blogger", "/blog/blogger"],
  ["/blog", "?a=1", "?a=1"],
  ["/blog", "https://example.com/", "https://example.com/"],
  ["/bücher", "/list", "/b%C3%BCcher/list"],
  ["http://example.com/app", "/new", "http://example.com/app/new"],
  [
    "http://example.com/app",
    "//other.test/x",
    "http://example.com/app/other.test/x",
  ],
  ["http://example.com", "/\\other.test", "http://example.com/other.test"],
];

for (const [base, target, location] of UNDER_BASES) {
  Deno.test(`\`redirect("${target}")\` under the base ${base} leads to ${location}`, async () => {
    assertEquals(await redirected(target, { base }), [303, location]);
  });
}

Deno.test("`redirect()` refuses what runs code or breaks the head", async () => {
  const hostile = [
    "javascript:alert(1)",
    " JavaScript:alert(1)",
    "java\tscript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "/a\r\nset-cookie: b=1",
    "/a\nb",
    "/\t/example.com",
    "/a\0",
    "http://",
    "https://exa mple.com",
  ];
  for (const target of hostile) {
    assertEquals(await redirected(target), [500, null], target);
  }
});

Deno.test("`redirect()` refuses a status that redirects nowhere", async () => {
  for (const code of [200, 299, 400, NaN]) {
    assertEquals(await redirected("/there", { code }), [500, null]);
  }
});

Deno.test("`redirect()` refuses a target that is no string, such as a missing field", async () => {
  for (const target of [undefined, ["/"], { trim: "/" }] as never[]) {
    assertEquals(await redirected(target), [500, null]);
  }
});
