/** Tests `json()` and `jsonp()`: what they send, and what they refuse. */

import { Engine, HttpError, markup } from "@framework/core";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { type App, onBothForms, onEngine, visit } from "./forms.ts";
import { logOf } from "./log.ts";

onEngine(
  "`json()` sends data as JSON, with its charset and indentation",
  async (app) => {
    type Params = Parameters<App["json"]>;
    const cases: [Params, string, string][] = [
      [[{ a: "ü" }], '{"a":"ü"}', "utf-8"],
      [[{ a: 1 }, 200, true, "utf8", 2], '{\n  "a": 1\n}', "utf-8"],
      [['{"a":1}', 200, false], '{"a":1}', "utf-8"],
      [
        ["ü😀", 200, true, "iso-8859-1"],
        '"\\u00fc\\ud83d\\ude00"',
        "iso-8859-1",
      ],
      [[undefined], "null", "utf-8"],
      [[null], "null", "utf-8"],
      [[NaN], "null", "utf-8"],
      [[""], '""', "utf-8"],
      [[false], "false", "utf-8"],
      [[new Date(0)], '"1970-01-01T00:00:00.000Z"', "utf-8"],
      [["</script>\u2028"], '"</script>\u2028"', "utf-8"],
    ];
    for (const [params, body, charset] of cases) {
      app.init();
      app.route("/", () => app.json(...params));
      const response = await visit(app, "/");
      assertEquals(await response.text(), body);
      assertEquals(
        response.headers.get("content-type"),
        `application/json; charset=${charset}`,
      );
    }
  },
);

onEngine(
  "`json()` keeps a status that was set unless a code is given",
  async (app) => {
    app.route("/set", () => {
      app.response().status(201);
      return { a: 1 };
    });
    app.route("/given", () => {
      app.response().status(201);
      app.json({ a: 1 }, 200);
    });
    assertEquals((await visit(app, "/set")).status, 201);
    assertEquals((await visit(app, "/given")).status, 200);
  },
);

const loop: Record<string, unknown> = { list: [1] };
loop.list = [1, { "a-b": loop }];
const shared = { x: 1 };

/** What has no JSON, and the message that names its place. */
const FAULTS: [unknown, string][] = [
  [1n, "$ is a BigInt"],
  [{ a: [{ b: 1n }] }, "$.a[0].b is a BigInt"],
  [{ "a-b": 1n }, '$["a-b"] is a BigInt'],
  [loop, '$.list[1]["a-b"] is a circular reference to $'],
  [{ one: shared, two: { shared }, three: 1n }, "$.three is a BigInt"],
  [{ hidden: { value: 1n, toJSON: () => 1 }, seen: 2n }, "$.seen is a BigInt"],
];

onEngine(
  "`json()` is a 500 that names the place of what has no JSON",
  async (app) => {
    app.set("framework.log_errors", true);
    for (const [index, [value, message]] of FAULTS.entries()) {
      app.route(`/${index}`, () => app.json(value));
      const log = await logOf(async () => {
        assertEquals((await visit(app, `/${index}`)).status, 500);
      });
      assertStringIncludes(
        log.join(),
        `TypeError: Cannot encode JSON: ${message}`,
      );
    }
  },
);

class Hidden {
  #name = "ada";
  get name(): string {
    return this.#name;
  }
}

/** What JSON would send as `{}`, and the message that names its place. */
const LOST: [what: string, value: unknown, message: string][] = [
  ["a promise", Promise.resolve(1), "$ is a promise: await it"],
  ["a member", { user: Promise.resolve(1) }, "$.user is a promise: await it"],
  [
    "a promise of a library",
    { user: { then: () => {}, [Symbol.toStringTag]: "Query" } },
    "$.user is a promise: await it",
  ],
  [
    "a deep member",
    { list: [1, { "a b": Promise.resolve(1) }] },
    '$.list[1]["a b"] is a promise: await it',
  ],
  [
    "what `toJSON()` returns",
    { a: { toJSON: () => [Promise.resolve(1)] } },
    "$.a[0] is a promise: await it",
  ],
  ["a Map", { a: new Map([[1, 2]]) }, "$.a is a Map: JSON cannot represent it"],
  ["a Set", [new Set([1])], "$[0] is a Set: JSON cannot represent it"],
  [
    "an error",
    { a: new Error("x") },
    "$.a is an Error: JSON cannot represent it",
  ],
  [
    "an error with members",
    { a: new HttpError(404) },
    "$.a is an HttpError: JSON cannot represent it",
  ],
  [
    "a web request",
    { a: new Request("http://localhost") },
    "$.a is a Request: JSON cannot represent it",
  ],
  [
    "an upload",
    [new File([], "x")],
    "$[0] is a File: JSON cannot represent it",
  ],
  ["an expression", { a: /x/ }, "$.a is a RegExp: JSON cannot represent it"],
  [
    "a query",
    { a: new URLSearchParams("b=1") },
    "$.a is a URLSearchParams: JSON cannot represent it",
  ],
  [
    "private fields",
    { a: new Hidden() },
    "$.a is a Hidden: JSON cannot represent it",
  ],
];

for (const [what, value, message] of LOST) {
  Deno.test(`\`json()\`, \`jsonp()\` and returned objects refuse ${what} that would be lost`, async () => {
    const app = new Engine();
    app.map("error", (error: Error) => error.message);
    app.route("/json", () => app.json(value));
    app.route("/spaced", () => app.json(value, 200, true, "utf8", 2));
    app.route("/jsonp", () => app.jsonp(value));
    app.route("/returned", () => ({ a: value }) as unknown);
    for (const path of ["/json", "/spaced", "/jsonp?jsonp=go", "/returned"]) {
      const response = await visit(app, path);
      assertEquals(response.status, 500, path);
      const place = path === "/returned"
        ? message.replace("$", "$.a")
        : message;
      assertEquals(await response.text(), `Cannot encode JSON: ${place}`, path);
    }
  });
}

class Tagged {
  readonly [Symbol.toStringTag] = "Tagged";
  constructor(readonly name: string) {}
}

class Pair {
  constructor(readonly left: number, readonly right: number) {}
  *[Symbol.iterator](): Generator<number> {
    yield* [this.left, this.right];
  }
}

/** Objects of which a rule of the whole decides, and what is sent; null for what is refused. */
const WHOLES: [what: string, value: object, text: string | null][] = [
  ["a tag", new Tagged("ada"), '{"name":"ada"}'],
  [
    "a tag that is a member",
    { tagged: new Tagged("ada") },
    '{"tagged":{"name":"ada"}}',
  ],
  ["an iterator besides its members", new Pair(1, 2), '{"left":1,"right":2}'],
  ["no members", new class Empty {}(), "{}"],
  ["a `toJSON()`", Object.assign(new Error(), { toJSON: () => [1] }), "[1]"],
  ["private fields", new Hidden(), null],
  ["the tag of a Map", new Map([[1, 2]]), null],
  ["a Map and a member", Object.assign(new Map([[1, 2]]), { a: 1 }), null],
  ["a Set and a member", Object.assign(new Set([1]), { a: 1 }), null],
  ["an error and a member", Object.assign(new Error("x"), { a: 1 }), null],
];

for (const [what, value, text] of WHOLES) {
  const verb = text === null ? "refuse" : "send";
  Deno.test(`\`json()\` and returned objects ${verb} an object with ${what}`, async () => {
    const app = new Engine();
    app.map("error", (error: Error) => error.message);
    app.route("/json", () => app.json(value));
    app.route("/returned", () => value as unknown);
    const json = await visit(app, "/json");
    const returned = await visit(app, "/returned");
    if (text !== null) {
      assertEquals([await json.text(), await returned.text()], [text, text]);
      return;
    }
    assertEquals([json.status, returned.status], [500, 500]);
    assertStringIncludes(await json.text(), "Cannot encode JSON: $ is a");
    assertStringIncludes(
      await returned.text(),
      'Cannot send what the route "/returned" returned: ',
    );
  });
}

Deno.test("`json()` sends what is empty, and texts with braces", async () => {
  class Empty {}
  const values = [
    {},
    [{}, []],
    { a: Object.create(null), b: new Empty(), c: "{}" },
    { a: {}, b: Object("x"), c: new Date(0), d: markup("") },
    {
      a: { f() {}, u: undefined },
      b: {
        get c(): undefined {
          return undefined;
        },
      },
    },
  ];
  const app = new Engine();
  for (const [index, value] of values.entries()) {
    app.route(`/${index}`, () => value);
    const response = await visit(app, `/${index}`);
    assertEquals(await response.text(), JSON.stringify(value));
  }
});

onEngine("`json()` passes on what a `toJSON()` throws", async (app) => {
  app.map("error", (error: Error) => error.message);
  app.route("/", () => ({
    a: shared,
    ab: shared,
    c: {
      toJSON() {
        throw new Error("no JSON today");
      },
    },
  }));
  assertEquals(await (await visit(app, "/")).text(), "no JSON today");
});

onEngine(
  "`json()` takes only text for what is not to be encoded",
  async (app) => {
    app.map("error", (error: Error) => error.message);
    app.route("/", () => app.json({ a: 1 }, 200, false));
    assertEquals(
      await (await visit(app, "/")).text(),
      "Cannot send JSON that is already encoded: it must be text, got { a: 1 }",
    );
  },
);

onBothForms(
  "`jsonp()` calls the function that the query names",
  async (app) => {
    app.route("/", () => app.jsonp({ a: "ü</script>\u2028\u2029" }));
    app.route("/other", () => app.jsonp([1], "callback", 201));
    const response = await visit(app, "/?jsonp=app.on_$1.ü");
    assertEquals(
      await response.text(),
      'app.on_$1.ü({"a":"ü\\u003c/script>\\u2028\\u2029"});',
    );
    const { headers } = response;
    assertEquals(
      headers.get("content-type"),
      "application/javascript; charset=utf-8",
    );
    assertEquals(headers.get("x-content-type-options"), "nosniff");
    const other = await visit(app, "/other?callback=go");
    assertEquals([other.status, await other.text()], [201, "go([1]);"]);
  },
);

onEngine(
  "`jsonp()` is a 400 without the name of a function",
  async (app) => {
    app.route("/", () => app.jsonp(1));
    const hostile = [
      "",
      "?jsonp=",
      "?jsonp=alert(1)//",
      "?jsonp=a;b",
      "?jsonp=a[0]",
      "?jsonp=a..b",
      "?jsonp=.a",
      "?jsonp=1a",
      "?jsonp=a%0Ab",
      "?jsonp=%3Cscript%3E",
      "?jsonp[]=a",
      `?jsonp=${"a".repeat(129)}`,
    ];
    for (const query of hostile) {
      assertEquals((await visit(app, `/${query}`)).status, 400, query);
    }
    const longest = "a".repeat(128);
    assertEquals((await visit(app, `/?jsonp=${longest}`)).status, 200);
  },
);
