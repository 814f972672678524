/** What `json()`, `jsonp()` and returned objects send, and what they refuse. */

import { Engine } from "@framework/core";
import { assertEquals, assertStringIncludes } from "@std/assert";

/** An application whose errors are responses with their message. */
function telling(): Engine {
  const app = new Engine();
  app.map("error", (error: Error) => error.message);
  return app;
}

const TEXTS: [value: unknown, text: string][] = [
  [undefined, "null"],
  [null, "null"],
  ["", '""'],
  [{ a: "ü" }, '{"a":"ü"}'],
  [new Date(0), '"1970-01-01T00:00:00.000Z"'],
  ["</script>\u2028", '"</script>\u2028"'],
  [{ a: undefined, b: () => 1 }, "{}"],
  [Object.assign(new Error(), { toJSON: () => [1] }), "[1]"],
];

Deno.test("`json()` sends what `JSON.stringify()` makes, and null for nothing", async () => {
  const app = new Engine();
  for (const [index, [value, text]] of TEXTS.entries()) {
    app.route(`/${index}`, () => app.json(value));
    assertEquals(await (await app.fetch(`/${index}`)).text(), text);
  }
});

Deno.test("`json()` keeps a status that was set unless a code is given", async () => {
  const app = new Engine();
  app.before("start", () => void app.response().status(201));
  app.route("/set", () => app.json({ a: 1 }));
  app.route("/given", () => app.json({ a: 1 }, 200));
  assertEquals((await app.fetch("/set")).status, 201);
  assertEquals((await app.fetch("/given")).status, 200);
});

const TYPES: [set: string, sent: string][] = [
  ["application/geo+json", "application/geo+json"],
  ["Application/Problem+JSON; a=b", "Application/Problem+JSON; a=b"],
  ["text/html", "application/json; charset=utf-8"],
  ["text/x; a=+json", "application/json; charset=utf-8"],
];

for (const [set, sent] of TYPES) {
  Deno.test(`\`json()\` and returned objects after the content type ${set} have the type ${sent}`, async () => {
    const app = new Engine();
    app.before("start", () => void app.response().header("content-type", set));
    app.route("/called", () => app.json({ a: 1 }));
    app.route("/returned", () => ({ a: 1 }));
    for (const path of ["/called", "/returned"]) {
      const { headers } = await app.fetch(path);
      assertEquals(headers.get("content-type"), sent, path);
    }
  });
}

const loop: Record<string, unknown> = {};
loop.list = [1, { "a-b": loop }];

/** What has no JSON or would silently be `{}` in it, and the message that names its place. */
const REFUSED: [value: unknown, message: string][] = [
  [{ a: [{ "b-c": 1n }] }, '$.a[0]["b-c"] is a BigInt'],
  [loop, '$.list[1]["a-b"] is a circular reference to $'],
  [{ users: [Promise.resolve(1)] }, "$.users[0] is a promise: await it"],
  [{ user: { then: () => {} } }, "$.user is a promise: await it"],
  [{ toJSON: () => [Promise.resolve(1)] }, "$[0] is a promise: await it"],
  [{ a: new Map([[1, 2]]) }, "$.a is a Map: JSON cannot represent it"],
  [{ a: new Error("x") }, "$.a is an Error: JSON cannot represent it"],
  [[new File([], "x")], "$[0] is a File: JSON cannot represent it"],
];

for (const [value, message] of REFUSED) {
  Deno.test(`\`json()\` and \`jsonp()\` refuse what would be lost: ${message}`, async () => {
    const app = telling();
    app.route("/json", () => app.json(value));
    app.route("/jsonp", () => app.jsonp(value));
    for (const path of ["/json", "/jsonp?jsonp=go"]) {
      const response = await app.fetch(path);
      assertEquals(response.status, 500, path);
      assertEquals(await response.text(), `Cannot encode JSON: ${message}`);
    }
  });
}

Deno.test("a returned object is refused where `json()` would be", async () => {
  const app = telling();
  app.route("/", () => ({ user: [new Map()] }) as unknown);
  assertEquals(
    await (await app.fetch("/")).text(),
    "Cannot encode JSON: $.user[0] is a Map: JSON cannot represent it",
  );
});

Deno.test("`json()` takes only text for what is not to be encoded", async () => {
  const app = telling();
  app.route("/", () => app.json({ a: 1 }, 200, false));
  assertStringIncludes(
    await (await app.fetch("/")).text(),
    "it must be text, got { a: 1 }",
  );
});

Deno.test("`jsonp()` escapes what would end a script, and forbids another type", async () => {
  const app = new Engine();
  app.route("/", () => app.jsonp("</script>\u2028\u2029"));
  const response = await app.fetch("/?jsonp=app.on_$1.ü");
  assertEquals(
    await response.text(),
    'app.on_$1.ü("\\u003c/script>\\u2028\\u2029");',
  );
  assertEquals(
    response.headers.get("content-type"),
    "application/javascript; charset=utf-8",
  );
  assertEquals(response.headers.get("x-content-type-options"), "nosniff");
});

Deno.test("`jsonp()` is a 400 unless the callback is a dotted identifier of at most 128 characters", async () => {
  const app = new Engine();
  app.route("/", () => app.jsonp(1));
  const hostile = [
    ...["", "?jsonp=", "?jsonp=alert(1)//", "?jsonp=a[0]", "?jsonp=a..b"],
    ...["?jsonp=1a", "?jsonp=a%0Ab", "?jsonp=%3Cscript%3E", "?jsonp[]=a"],
    `?jsonp=${"a".repeat(129)}`,
  ];
  for (const query of hostile) {
    assertEquals((await app.fetch(`/${query}`)).status, 400, query);
  }
  const longest = `/?jsonp=${"a".repeat(128)}`;
  assertEquals((await app.fetch(longest)).status, 200);
});
