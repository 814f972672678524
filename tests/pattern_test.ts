/** Tests `Pattern`: what its notation matches and refuses, the values it reads, and the URLs it makes. */

import {
  assertEquals,
  assertInstanceOf,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  Framework,
  HttpError,
  type Route,
  Router,
  type UrlParameters,
} from "@framework/core";
import { isPlainPattern } from "../src/route_patterns.ts";
import { Pattern } from "../src/routing/pattern.ts";
import { firstMatch } from "./routes.ts";

function routeOf(source: string): Route {
  return new Router().route<string>(source, () => {});
}

/** The URL that a pattern makes of values. */
function urlOf(source: string, values: UrlParameters): string {
  const router = new Router();
  router.route<string>(source, () => {}, false, "it");
  return router.getUrl("it", values);
}

/** The values that a pattern reads from a path and, when there is one, the splat. */
function read(source: string, sent: string, caseSensitive = false): unknown {
  const router = new Router();
  router.route<string>(source, () => {});
  const match = firstMatch(router, sent, "GET", caseSensitive);
  if (match === undefined) return undefined;
  const { values, splat } = match;
  return splat === "" ? values : [...values, { splat }];
}

/** Pattern, path, and the values that are read, or undefined for no match. */
const cases: Record<string, [string, string, unknown][]> = {
  "literals": [
    ["/", "/", []],
    ["/", "", []],
    ["/", "/x", undefined],
    ["", "/", []],
    ["about", "/about", []],
    ["/about", "/about/us", undefined],
    ["/about", "/aboutus", undefined],
    ["/a.b", "/axb", undefined],
    ["/c\\+\\+/x\\?$^", "/c++/x%3F$%5E", []],
    ["/a-b_c~d", "/a-b_c~d", []],
    ["/\\{id}", "/{id}", []],
    ["/a:b/c:d", "/a:b/c:d", []],
    ["/\\:id", "/:id", []],
    ["/{}/{,2}", "/{}/{,2}", []],
    ["/hello world", "/hello%20world", []],
    ["/hello%20world", "/hello%20world", []],
    ["/100%", "/100%25", []],
    ["/%C3\\%", "/%25C3%25", []],
    ["/\\@home", "/@home", []],
    ["/\\(x\\)", "/(x)", []],
    ["/\\*", "/*", []],
    ["/\\*", "/x", undefined],
    ["/Übung", "/%C3%BCbung", []],
    ["/a%2Fb", "/a%2Fb", []],
    ["/a%2Fb", "/a/b", undefined],
  ],
  "a slash at the end": [
    ["/about", "/about/", []],
    ["/about/", "/about", []],
    ["/about/", "/about/", []],
    ["/about", "/about//", undefined],
    ["/post/@id", "/post/", undefined],
    ["/post/@id", "/post/1/", ["1"]],
  ],
  "parameters": [
    ["/@a", "/x", ["x"]],
    ["/@a/@b", "/x/y", ["x", "y"]],
    ["@a", "/x", ["x"]],
    ["/@a/@b", "/x//y", undefined],
    ["/@a", "/a+b", ["a+b"]],
    ["/@a", "/a%20b%2Fc%25", ["a b/c%"]],
    ["/@a", "/%F0%9F%90%99", ["🐙"]],
    ["/@year-@month", "/2024-05", ["2024", "05"]],
    ["/@slug-@id", "/my-post-12", ["my-post", "12"]],
    ["/@name.@ext", "/a.tar.gz", ["a.tar", "gz"]],
    ["/@a-@b", "/-b", undefined],
    ["/@a-@b", "/a-", undefined],
    ["/@a@b", "/xyz", ["xy", "z"]],
    ["/v@major", "/v2", ["2"]],
    ["/v@major", "/V2", ["2"]],
    ["/v@major", "/v", undefined],
    ["/@a.json", "/x.json", ["x"]],
    ["/@a.json", "/.json", undefined],
    ["/@a-@b.x", "/1-2.X", ["1", "2"]],
  ],
  "expressions of parameters": [
    ["/@id:[0-9]{3}", "/123", ["123"]],
    ["/@id:[0-9]{3}", "/1234", undefined],
    ["/@id:[0-9]{3}", "/12a", undefined],
    ["/@lang:en|fr", "/fr", ["fr"]],
    ["/@lang:en|fr", "/de", undefined],
    ["/@lang:en|fr/x", "/en/x", ["en"]],
    ["/@lang:(en|fr)", "/fr", ["fr"]],
    ["/@c:ba(r|z)", "/baz", ["baz"]],
    ["/@c:ba(r|z)", "/ba", undefined],
    ["/@c:ba(r|z)+-@d", "/barz-x", ["barz", "x"]],
    ["/@c:ba(-@d:x|y)", "/ba", ["ba", null]],
    ["/@x:\\cA\\x41\\u0042", "/%01AB", ["\x01AB"]],
    ["/a\\x42\\u0043", "/aBC", []],
    ["/@lang:(?:en|fr)(-@b)", "/en-GB", ["en", "GB"]],
    ["/@id:(\\d)(\\d)", "/1", ["1"]],
    ["/@x:(a(b)c)+", "/abcabc", ["abcabc"]],
    ["/@x:(?<n>a)+b-@y", "/aab-c", ["aab", "c"]],
    ["/@x:(?<x>a)", "/a", ["a"]],
    ["/@x:.+(?<=b)", "/ab", ["ab"]],
    ["/@id:\\d+", "/42", ["42"]],
    ["/@w:\\p{Lu}+", "/ÄÖ", ["ÄÖ"]],
    ["/@x:.+", "/a%2Fb", ["a/b"]],
    ["/@x:.+", "/a/b", undefined],
    ["/@x:[^x]+", "/a/b", undefined],
    ["/@x:.*", "/", undefined],
    ["/@y:[0-9]{4}-@m:[0-9]{2}", "/2024-05", ["2024", "05"]],
    ["/@y:\\d{4}\\.@m", "/2024.05", ["2024", "05"]],
    ["/@f:[a-z]+.@e:jpg|png", "/a.png", ["a", "png"]],
    ["/@n.@e:jpg|png", "/a.b.png", ["a.b", "png"]],
    ["/@a-@b-@c:[0-9]+", "/x-y-z-1", ["x-y", "z", "1"]],
    ["/@mail:[a-z]+@[a-z.]+", "/me@x.org", ["me@x.org"]],
    ["/@x:[(@/]", "/(", "SyntaxError"],
    ["/@x:[(@]", "/(", ["("]],
    ["/@x:[\\]a]+", "/]a", ["]a"]],
  ],
  "expressions without names": [
    ["/user/[0-9]+", "/user/12", []],
    ["/user/[0-9]+", "/user/", undefined],
    ["/user/[0-9]*", "/user/1x", undefined],
    ["/(?:en|fr)/x", "/fr/x", []],
    ["/\\d{2,3}/@a", "/12/x", ["x"]],
    ["/(?!admin)@page", "/home", ["home"]],
    ["/(?!admin)@page", "/admin2", undefined],
    ["/p[0-9]-@x", "/p1-a", ["a"]],
  ],
  "quantifiers behind literals": [
    ["/colou?r", "/color", []],
    ["/colou?r", "/colour", []],
    ["/colou?r", "/colouur", undefined],
    ["/a+b", "/aaab", []],
    ["/a+b", "/b", undefined],
    ["/a+b", "/a+b", undefined],
    ["/a{2}b", "/aab", []],
    ["/a{2}b", "/ab", undefined],
    ["/a{2,}b{1,2}", "/aaaabb", []],
    ["/\\.+", "/...", []],
    ["/-+@x", "/--a", ["a"]],
    ["/%C3%BC+x", "/%C3%BC%C3%BCx", []],
    ["/🐙+", "/%F0%9F%90%99%F0%9F%90%99", []],
    ["/a??b", "/b", []],
    ["/colou?r/@name", "/color/x", ["x"]],
    ["/v1.2", "/v1x2", undefined],
    ["/a\\+b", "/a+b", []],
    ["/COLOU?R", "/colour", []],
  ],
  "optional parts": [
    ["/blog(/@y(/@m(/@d)))", "/blog", [null, null, null]],
    ["/blog(/@y(/@m(/@d)))", "/blog/1", ["1", null, null]],
    ["/blog(/@y(/@m(/@d)))", "/blog/1/2/3/", ["1", "2", "3"]],
    ["/blog(/@y(/@m(/@d)))", "/blog/1/2/3/4", undefined],
    ["(/@lang)/about", "/about", [null]],
    ["(/@lang)/about", "/de/about", ["de"]],
    ["/(@lang/)about", "/about", [null]],
    ["/a(/b)(/@c)", "/a/b", [null]],
    ["/a(/b)(/@c)", "/a/x", ["x"]],
    ["/a(/b)(/@c)", "/a/b/x", ["x"]],
    ["/@a(.@b)", "/x.y", ["x", "y"]],
    ["/@a(.@b)", "/x", ["x", null]],
    ["/colo(u)r", "/color", []],
    ["/colo(u)r", "/colour", []],
    ["/@a(-@b)/c", "/1-2/c", ["1", "2"]],
    ["(((/a)))", "/a", []],
    ["(((/a)))", "/", []],
    ["/x()", "/x", []],
  ],
  "stars": [
    ["*", "/", []],
    ["*", "/a/b", [{ splat: "a/b" }]],
    ["/blog/*", "/blog", []],
    ["/blog/*", "/blog/", []],
    ["/blog/*", "/blogger", undefined],
    ["/blog/*", "/blog/a/b/", [{ splat: "a/b/" }]],
    ["/blog/*", "/blog//x", [{ splat: "/x" }]],
    ["/f/*", "/f/a%20b/c", [{ splat: "a b/c" }]],
    ["/a/*/b", "/a/b", []],
    ["/a/*/b", "/a/x/y/b", [{ splat: "x/y" }]],
    ["/a/*/b", "/a/x/y", undefined],
    ["/a/*/@b", "/a/x/y", ["y", { splat: "x" }]],
    ["/*/a/*/@b", "/1/a/2/a/3", ["3", { splat: "1/2/a" }]],
    ["/@a/*", "/x/y", ["x", { splat: "y" }]],
    ["/a(/*)", "/a/b", [{ splat: "b" }]],
    ["/*/*", "/a/b", [{ splat: "a/b" }]],
  ],
};

for (const [what, rows] of Object.entries(cases)) {
  Deno.test(`\`Pattern\` matches ${what}`, () => {
    for (const [source, path, expected] of rows) {
      if (expected === "SyntaxError") {
        assertThrows(() => routeOf(source), SyntaxError);
      } else assertEquals(read(source, path), expected, `${source} on ${path}`);
    }
  });
}

Deno.test("`Pattern` distinguishes case only when asked to", () => {
  const rows: [string, string][] = [
    ["/About", "/aBOUT"],
    ["/@x:[a-z]+", "/ABC"],
    ["/É", "/%C3%A9"],
    ["/v@x", "/V1"],
    ["/*/End", "/a/eND"],
  ];
  for (const [source, path] of rows) {
    assertEquals(read(source, path, true), undefined, source);
    assertEquals(Array.isArray(read(source, path, false)), true, source);
  }
});

Deno.test("`Pattern` takes methods in upper case, without their spaces", () => {
  const rows: [string, string[], string][] = [
    ["/x", ["*"], "/x"],
    ["GET /x", ["GET"], "/x"],
    ["get|Post /x", ["GET", "POST"], "/x"],
    ["  GET |  POST\t/x  ", ["GET", "POST"], "/x"],
    ["GET|GET x", ["GET"], "/x"],
    ["M-SEARCH *", ["M-SEARCH"], "/*"],
    ["PURGE|SET|LIST /x", ["PURGE", "SET", "LIST"], "/x"],
    ["GET (/@a)/b", ["GET"], "(/@a)/b"],
    ["GET /a b", ["GET"], "/a b"],
  ];
  for (const [source, methods, path] of rows) {
    const route = routeOf(source);
    assertEquals([route.methods, route.pattern], [methods, path], source);
  }
});

/** Wrong patterns, and the end of each message. */
const mistakes: [string, string][] = [
  ["/a(", "has an unclosed parenthesis at 2"],
  ["/a(/b(/c)", "has an unclosed parenthesis at 2"],
  ["/a)", "has an unmatched closing parenthesis at 2"],
  ["/@id:(?:a", "has an unclosed parenthesis at 5"],
  ["/@a/x/@a", 'uses the name "a" a second time at 6'],
  ["/@id:[a/b]", "has a slash inside an expression at 7"],
  ["/@id:(?:a/b)", "has a slash inside an expression at 9"],
  ["/@id:a\\/b", "has a slash inside an expression at 7"],
  ["/@", "has an @ without a name at 1; did you mean \\@?"],
  ["/@1", "has an @ without a name at 1; did you mean \\@?"],
  ["/@x:", 'has no expression for "x" at 4'],
  ["/@x:(@y)", "has a parameter inside an expression at 5"],
  ["/@x:\\1", "has a back-reference inside an expression at 4"],
  ["/a|b", 'has a "|" outside an expression at 2; did you mean (?:a|b)?'],
  ["/ab*", "has a * that is not a whole segment at 3"],
  ["/*.js", "has a * that is not a whole segment at 1"],
  ["/[a", "has an unclosed character class at 1"],
  ["/a\\", "ends in a lone backslash at 2"],
  ["| /x", 'has the malformed method "" at 0'],
  ["GET| /x", 'has the malformed method "" at 0'],
  ["|GET /x", 'has the malformed method "" at 0'],
  ["GET, POST /x", 'has the malformed method "GET," at 0'],
  [" /x", "has no method before the space at 0"],
  ["GET ", "has no path after its methods at 4"],
  ["GET", "has no path after its methods at 3"],
  ["GTE /x", 'has the unknown method "GTE" at 0; did you mean GET?'],
  ["GET|PSOT /x", 'has the unknown method "PSOT" at 0; did you mean POST?'],
  [
    "ANY /x",
    'has the unknown method "ANY" at 0: leave it out, as in "/path", to handle every method',
  ],
  [
    "get|all /x",
    'has the unknown method "ALL" at 0: leave it out, as in "/path", to handle every method',
  ],
  ["DELET /x", 'has the unknown method "DELET" at 0; did you mean DELETE?'],
  ["/:id", 'has ":id" at 1; did you mean @id?'],
  ["/a(/:id)", 'has ":id" at 4; did you mean @id?'],
  ["/:id?", 'has ":id?" at 1; did you mean (/@id)?'],
  ["/user/{id}", 'has "{id}" at 6; did you mean @id?'],
  ["/user/x-{id?}", 'has "{id?}" at 8; did you mean (/@id)?'],
  ["/user/@id?", 'has "@id?" at 6; did you mean (/@id)?'],
  ["/(/@id)?", "has a ? after parentheses, which are already optional, at 7"],
  ["/c++", 'has "+" with nothing to repeat at 3; did you mean \\+?'],
  ["/+", 'has "+" with nothing to repeat at 1; did you mean \\+?'],
  ["/@a+", 'has "+" with nothing to repeat at 3; did you mean \\+?'],
  ["/a.b/../c", 'has the segment "..", which no path has, at 5'],
  ["/a(/b)/./c", 'has the segment ".", which no path has, at 7'],
  ["/%2E%2e", 'has the segment "..", which no path has, at 1'],
  ["/?", 'has "?" with nothing to repeat at 1; did you mean \\??'],
];

Deno.test("`Pattern` takes a dot alone where another choice of optional parts has more", () => {
  assertEquals(read("/.(well)", "/.well"), []);
  assertEquals(read("/a(/.)", "/a"), []);
});

Deno.test("`Pattern` quotes a mistake and gives its position", () => {
  for (const [source, problem] of mistakes) {
    const error = assertThrows(() => routeOf(source), SyntaxError, problem);
    const start = `Cannot make a route: the pattern "${source}"`;
    assertEquals(error.message, `${start} ${problem}`);
  }
});

Deno.test("`Framework.route()` shows the line of a malformed pattern", () => {
  const pattern = "/a(/b(/c(/d(/:id))))";
  const error = assertThrows(() => Framework.route(pattern, () => ""));
  assertStringIncludes((error as Error).stack ?? "", import.meta.url);
});

Deno.test("`Pattern` throws for an expression that JavaScript cannot read", () => {
  for (
    const source of ["/@a:[z-a]", "/@a:+", "/@a:\\q", "/(?<n>", "/[a]{2,1}"]
  ) {
    assertThrows(() => routeOf(source), SyntaxError, source);
  }
});

Deno.test("`Pattern` has a limit on independent optional parts", () => {
  assertEquals(read("(/a)".repeat(10), "/a".repeat(10)), []);
  const many = "(/a)".repeat(11);
  assertThrows(() => routeOf(many), SyntaxError, "more than 1024 combinations");
});

Deno.test("`regex()` is one expression with the names as groups", () => {
  const regex = routeOf("/blog(/@year:[0-9]{4})/@name.html").regex;
  assertEquals({ ...regex.exec("/Blog/2024/a.HTML")?.groups }, {
    year: "2024",
    name: "a",
  });
  assertEquals(regex.test("/blog/24/a.html"), false);
});

Deno.test("`regex()` never lets a parameter take a slash", () => {
  for (const source of ["/@x", "/@x:.+", "/@x:[^a]+", "/@x:\\D+", "/@x:\\S+"]) {
    const regex = routeOf(source).regex;
    assertEquals([regex.test("/b"), regex.test("/b/c")], [true, false], source);
  }
});

Deno.test("`splat()` throws a 400 for a segment `..`, however it was encoded", () => {
  const rows = ["/f/..%2Fx", "/f/a%2f%2e%2e", "/f/a/%2E%2E%2Fb", "/f/..%5Cx"];
  for (const sent of rows) {
    const error = assertThrows(() => read("/f/*", sent), HttpError);
    assertEquals(error.status, 400, sent);
  }
  assertEquals(read("/f/*", "/f/a..b/..c/..."), [{ splat: "a..b/..c/..." }]);
});

/** Pattern, values, and the path that `getUrl()` makes of them. */
const urls: [string, Record<string, string | number | null>, string][] = [
  ["/", {}, "/"],
  ["/about/", {}, "/about/"],
  ["GET /about", {}, "/about"],
  [
    "/post/@slug",
    { slug: "C/C++ & 100%?" },
    "/post/C%2FC%2B%2B%20%26%20100%25%3F",
  ],
  ["/@id", { id: 42, other: "ignored" }, "/42"],
  ["/blog(/@y(/@m))", {}, "/blog"],
  ["/blog(/@y(/@m))", { y: 1 }, "/blog/1"],
  ["/blog(/@y(/@m))", { y: 1, m: 2 }, "/blog/1/2"],
  ["/blog(/@y:[0-9]+)(/p-@p)", { y: null, p: 3 }, "/blog/p-3"],
  ["(/@lang)/x(.html)", {}, "/x"],
  ["/@y:[0-9]{4}-@m", { y: "2024", m: "5" }, "/2024-5"],
  ["/ü/@a:é", { a: "é" }, "/%C3%BC/%C3%A9"],
  ["/a:b@x", { x: "1" }, "/a:b1"],
  ["/files/*", {}, "/files"],
  ["/files/*", { "*": "a b/c" }, "/files/a%20b/c"],
  ["/files/*", { "*": "a/" }, "/files/a/"],
  ["/a/*/b", { "*": "x/y" }, "/a/x/y/b"],
];

Deno.test("`getUrl()` encodes values and leaves out optional parts", () => {
  for (const [source, values, url] of urls) {
    assertEquals(urlOf(source, values), url, source);
  }
});

Deno.test("`getUrl()` leaves values of other names unread", () => {
  const query = { id: "7", filter: Object.create(null), page: Symbol("x") };
  assertEquals(urlOf("/@id", query as never), "/7");
});

Deno.test("`getUrl()` throws when a value is missing", () => {
  const rows: [string, Record<string, string | null>, string][] = [
    ["/@a", {}, 'the value of "a" is missing'],
    ["/@a/@b", { b: "x" }, 'the value of "a" is missing'],
    ["/x(/@a(/@b))", { b: "x" }, 'the value of "a" is missing'],
    ["/@toString", {}, 'the value of "toString" is missing'],
    ["/a/[0-9]+", {}, '"[0-9]+" has an expression without a name'],
    ["/a", { "*": "b" }, "it does not have a place for every value"],
  ];
  for (const [source, values, problem] of rows) {
    assertThrows(() => urlOf(source, values), TypeError, problem);
  }
});

Deno.test("`getUrl()` throws when a value would not print as itself", () => {
  for (const value of [{}, [1], () => 1, Symbol("a")]) {
    const problem = 'the value of "a" must be text or a number';
    assertThrows(() => urlOf("/@a", { a: value as never }), TypeError, problem);
  }
});

Deno.test("`getUrl()` throws when a value does not fit its place", () => {
  const rows: [string, Record<string, string>][] = [
    ["/@a", { a: "" }],
    ["/@a", { a: "." }],
    ["/@a", { a: ".." }],
    ["/@a", { a: "\ud800" }],
    ["/@a:[0-9]+", { a: "x" }],
    ["/@a:[a-z]+", { a: "X" }],
    ["/@a-@b", { a: "1", b: "2-3" }],
    ["/@a(-@b)", { a: "1-2" }],
    ["/f/*", { "*": "a/../b" }],
    ["/f/*", { "*": "..\\b" }],
    ["/*", { "*": "/other.example" }],
    ["/*/a/*", { "*": "b" }],
  ];
  for (const [source, values] of rows) {
    assertThrows(() => urlOf(source, values), RangeError);
  }
});

Deno.test("`isPlainPattern()` tells which patterns match one path, as the notation does", () => {
  const characters = Array.from(
    { length: 95 },
    (_, n) => String.fromCharCode(32 + n),
  );
  const other: string[] = [];
  for (const one of [...characters, "..", "\\+", "\\d", ":id", "{id}", "@id"]) {
    for (const path of [`/a${one}b`, `/${one}b`, `/a${one}`, `/a/${one}/c`]) {
      let isPlain = false;
      try {
        isPlain = new Pattern([], path).literalPath !== undefined;
      } catch (error) {
        assertInstanceOf(error, SyntaxError);
      }
      if (isPlain !== isPlainPattern(path)) other.push(path);
    }
  }
  assertEquals(other, []);
});
