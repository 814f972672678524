/**
 * Tests that `Visitor` keeps and sends cookies as browsers do (RFC 6265, section 5), by cases such as those
 * of the IETF's http-state group.
 */

import { assertEquals } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import { Engine } from "@framework/core";
import { Visitor } from "@framework/core/testing";

/** Where cookies are set, and where they are sent to when a row says nothing else. */
const SET_AT = "http://home.example.org:8888/cookie-parser?0001";
const SENT_TO = "http://home.example.org:8888/cookie-parser-result?0001";

type Row = readonly [
  set: string | readonly string[],
  sent: string,
  where?: { readonly setAt?: string; readonly sentTo?: string },
];

/** Sets cookies at one URL, and returns what the visitor sends to another. */
async function sentBack([set, , where = {}]: Row): Promise<string> {
  const { setAt = SET_AT, sentTo = SENT_TO } = where;
  const visitor = new Visitor({
    fetch(request) {
      const headers = new Headers();
      if (request.url === setAt) {
        for (const text of [set].flat()) headers.append("set-cookie", text);
      }
      return new Response(request.headers.get("cookie"), { headers });
    },
  });
  await visitor.visit(setAt);
  return (await visitor.visit(sentTo)).text;
}

function table(name: string, rows: readonly Row[]): void {
  Deno.test(`\`Visitor\` keeps cookies by ${name}`, async (t) => {
    for (const row of rows) {
      const [set, sent, { setAt = "", sentTo = "" } = {}] = row;
      const title = `${[set].flat().join(" | ")} ${setAt} ${sentTo} > ${sent}`;
      await t.step(title, async () => assertEquals(await sentBack(row), sent));
    }
  });
}

table("name and value", [
  ["foo=bar", "foo=bar"],
  ["foo", ""],
  ["=", ""],
  ["=bar", ""],
  ["; bar", ""],
  ["foo=", "foo="],
  ["foo==bar", "foo==bar"],
  ["  foo =  bar  ; version=1", "foo=bar"],
  ["\u00a0foo=bar\u00a0", "\u00a0foo=bar\u00a0"],
  ['foo="bar"', 'foo="bar"'],
  ['foo="  bar "', 'foo="  bar "'],
  ['foo="bar;baz"', 'foo="bar'],
  ["foo=bar, baz=qux", "foo=bar, baz=qux"],
  ["z=y; foo=bar, a=b", "z=y"],
  ["foo=a b/c?d&e", "foo=a b/c?d&e"],
  [["foo=bar", "foo=qux"], "foo=qux"],
  [["foo=bar", "Foo=qux"], "foo=bar; Foo=qux"],
  [["z=y", "a=b"], "z=y; a=b"],
  [["a=b", "=x", "c=d"], "a=b; c=d"],
  ["foo=bar; customvalue=1000; HttpOnly; SameSite=Strict", "foo=bar"],
]);

table("age", [
  ["foo=bar; max-age=10000;", "foo=bar"],
  ["foo=bar; max-age=0", ""],
  ["foo=bar; Max-Age=-1", ""],
  ["foo=b;max-age=3600, c=d;path=/", "foo=b"],
  ["foo=bar; max-age=1e9; max-age=x", "foo=bar"],
  ["foo=bar; max-age=0; max-age=10", "foo=bar"],
  ["foo=bar; max-age=10; expires=Thu, 01 Jan 1970 00:00:00 GMT", "foo=bar"],
  ["foo=bar; max-age=0; expires=Fri, 01 Jan 2100 00:00:00 GMT", ""],
  [["foo=bar", "foo=; max-age=0"], ""],
  [["foo=bar", "foo=; max-age=0; path=/other"], "foo=bar"],
  ["foo=bar; Expires=Fri, 07 Aug 2007 08:04:19 GMT", ""],
  ["foo=bar; expires=Fri, 01-Jan-2100 08:04:19 GMT", "foo=bar"],
  ["foo=bar; expires=Thursday, 01-Jan-70 00:00:00 GMT", ""],
  ["foo=bar; expires=01/jan/1980 0:0:0", ""],
  ["foo=bar; expires=January 1 1980 10:00:00pm", ""],
  ["foo=bar; expires=08:04:19 1 JANUARY 80", ""],
  ["foo=bar; expires=1 Jan 69 10:00:00", "foo=bar"],
  ["foo=bar; expires=1 Jan 1980", "foo=bar"],
  ["foo=bar; expires=1 Jan 1600 10:00:00", "foo=bar"],
  ["foo=bar; expires=30 Feb 1980 10:00:00", "foo=bar"],
  ["foo=bar; expires=1 Jan 1980 24:00:00", "foo=bar"],
  ["foo=bar; expires=001 Jan 1980 10:00:00", "foo=bar"],
  ["foo=bar; expires=", "foo=bar"],
]);

table("`Secure`", [
  ["foo=bar; Secure", ""],
  ["foo=bar; seCURe=aaaa", ""],
  ["foo=bar;   Secure =", ""],
  ['foo=bar; "Secure"', "foo=bar"],
  ["foo=bar; Secure qux", "foo=bar"],
  ["foo=bar; secure", "foo=bar", {
    sentTo: "https://home.example.org/cookie-parser-result",
  }],
]);

const SECURELY = {
  setAt: "https://home.example.org/cookie-parser",
  sentTo: "https://home.example.org/cookie-parser-result",
};

table("what their names promise", [
  ["__Secure-foo=bar", ""],
  ["__Secure-foo=bar", "", SECURELY],
  ["__secure-foo=bar", "", SECURELY],
  ["__Secure-foo=bar; Secure", "__Secure-foo=bar", SECURELY],
  ["__Host-foo=bar; Path=/", "", SECURELY],
  ["__host-foo=bar; Path=/", "", SECURELY],
  ["__Host-foo=bar; Secure", "", SECURELY],
  ["__Host-foo=bar; Secure; Path=/cookie-parser-result", "", SECURELY],
  ["__Host-foo=bar; Secure; Path=/; Domain=example.org", "", SECURELY],
  ["__Host-foo=bar; Secure; Path=/; Domain=home.example.org", "", SECURELY],
  ["__Host-foo=bar; Secure; Path=/", "__Host-foo=bar", SECURELY],
  ["__Host-foo=bar; Secure; Path=/; Domain=", "__Host-foo=bar", SECURELY],
  ["a__Host-foo=bar", "a__Host-foo=bar"],
  [["foo=bar", "__Host-foo=bar"], "foo=bar"],
]);

const host = (name: string) => ({
  sentTo: `http://${name}.example.org:8888/cookie-parser-result`,
});
const BELOW = host("sub.home");
const BESIDE = host("sibling");
const HERE = { setAt: "http://localhost/", sentTo: "http://localhost/" };
const ADDRESS = { setAt: "http://127.0.0.1/", sentTo: "http://127.0.0.1/" };

table("domain", [
  ["foo=bar", "", BELOW],
  ["foo=bar", "foo=bar", { sentTo: "http://home.example.org:9999/" }],
  ["foo=bar; domain=home.example.org", "foo=bar"],
  ["foo=bar; domain=home.example.org", "foo=bar", BELOW],
  ["foo=bar; domain=home.example.org", "", BESIDE],
  ["foo=bar; domain=.home.example.org", "foo=bar", BELOW],
  ["foo=bar; domain=.example.org", "foo=bar", BESIDE],
  ["foo=bar; domain=example.org", "foo=bar", host("www")],
  ["foo=bar; domain=HOME.eXaMpLe.org", "foo=bar"],
  ["foo=bar; domain= .home.example.org ", "foo=bar"],
  ["foo=bar; domain=", "foo=bar"],
  ["foo=bar; domain=", "", BELOW],
  ["foo=bar; domain=sibling.example.org", ""],
  ["foo=bar; domain=sub.home.example.org", ""],
  ["foo=bar; domain=me.example.org", ""],
  ["foo=bar; domain=..home.example.org", ""],
  ["foo=bar; domain=home..example.org", ""],
  ["foo=bar; domain= . home.example.org", ""],
  ["foo=bar; domain=home.example.org.", ""],
  ['foo=bar; domain="home.example.org"', ""],
  ["foo=bar; domain=.example.org:8888", ""],
  ["foo=bar; domain=.org", ""],
  ["foo=bar; domain=org", ""],
  ["foo=bar; domain=home.example.org; domain=sibling.example.org", ""],
  ["foo=bar; domain=sibling.example.org; domain=home.example.org", "foo=bar"],
  ["foo=bar; domain=localhost", "foo=bar", HERE],
  ["foo=bar; domain=127.0.0.1", "foo=bar", ADDRESS],
  ["foo=bar; domain=0.0.1", "", ADDRESS],
]);

const DEEP = {
  setAt: "http://localhost/a/b/c",
  sentTo: "http://localhost/a/b/d",
};
const at = (path: string) => ({ ...DEEP, sentTo: `http://localhost${path}` });

table("path", [
  ["foo=bar", "foo=bar", DEEP],
  ["foo=bar", "foo=bar", at("/a/b")],
  ["foo=bar", "", at("/a")],
  ["foo=bar", "", at("/a/bc")],
  ["foo=bar; path=/", "foo=bar", at("/")],
  ["foo=bar; path=/x", "", DEEP],
  ["foo=bar; path=/x", "foo=bar", at("/x?y")],
  ["foo=bar; path=/x", "", at("/xy")],
  ["foo=bar; path=/x/", "foo=bar", at("/x/")],
  ["foo=bar; path=/x/", "", at("/x")],
  ["foo=bar; path=/A", "", at("/a")],
  ["foo=bar; path", "foo=bar", DEEP],
  ["foo=bar; path=x", "foo=bar", DEEP],
  ['foo=bar; path="/x"', "foo=bar", DEEP],
  ["foo=bar; path=/x; path=/y", "foo=bar", at("/y")],
  ["foo=bar; path=/x; path=y", "foo=bar", DEEP],
  ["foo=bar", "foo=bar", { setAt: "http://localhost/a", sentTo: HERE.sentTo }],
]);

table("longer paths first, and then by age", [
  [
    [
      "key=val0",
      "key=val1; path=/cookie-parser-result",
      "key=val2; path=/",
      "key=val3; path=/bar",
      "key=val4; domain=.example.org",
      "key=val5; domain=.example.org; path=/cookie-parser-result/foo",
    ],
    "key=val5; key=val1; key=val2; key=val4",
    { sentTo: "http://home.example.org:8888/cookie-parser-result/foo/baz" },
  ],
  [["a=1", "b=2", "a=3"], "a=3; b=2"],
  [["a=1", "b=2", "a=; max-age=0", "a=3"], "b=2; a=3"],
  [["a=1; path=/", "a=2; path=/; domain=example.org"], "a=1; a=2"],
]);

Deno.test("`Visitor` forgets a cookie when its time is over", async () => {
  using time = new FakeTime();
  const app = new Engine();
  app.route("/in", () => app.response().cookie("user", "Ada", { maxAge: 60 }));
  app.route("/", () => String(app.request().cookies.user));
  const visitor = new Visitor(app);
  await visitor.visit("/in");
  await time.tickAsync(59_000);
  assertEquals((await visitor.visit("/")).text, "Ada");
  assertEquals(visitor.cookies, { user: "Ada" });
  await time.tickAsync(1_000);
  assertEquals((await visitor.visit("/")).text, "undefined");
  assertEquals(visitor.cookies, {});
});

Deno.test("`Visitor.cookies` has the value of the longest path", async () => {
  const app = new Engine();
  app.route("/deep", () => app.response().cookie("at", "a", { path: "/deep" }));
  app.route("/", () => app.response().cookie("at", "b", { path: "/" }));
  const visitor = new Visitor(app);
  await visitor.visit("/deep");
  await visitor.visit("/");
  assertEquals(visitor.cookies, { at: "a" });
});

Deno.test("`Visitor` drops a cookie with more than 4,096 bytes of name and value", async () => {
  const [fits, exceeds] = [4_093, 4_094].map((length) =>
    `foo=${"a".repeat(length)}`
  );
  assertEquals(await sentBack([`${fits}; HttpOnly`, ""]), fits);
  assertEquals(await sentBack([`${exceeds}; HttpOnly`, ""]), "");
});
