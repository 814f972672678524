/** SPEC, behaviour rule 9: `json` and `jsonp`. */

import { assertEquals } from "@std/assert";
import { type App, onBothForms, visit } from "../support/forms.ts";

onBothForms("`json()` sends data as JSON", async (app) => {
  app.route("/", () => app.json({ name: "Ada", tags: [1, null] }));
  const response = await visit(app, "/");
  assertEquals(response.status, 200);
  assertEquals(
    response.headers.get("content-type"),
    "application/json; charset=utf-8",
  );
  assertEquals(await response.text(), '{"name":"Ada","tags":[1,null]}');
});

type Params = Parameters<App["json"]>;

/** What `json()` is called with, and the status, type and text that it sends. */
const CALLS: [Params, number, charset: string, text: string][] = [
  [[{ a: 1 }, 201], 201, "utf-8", '{"a":1}'],
  [['{"a": 1}', 200, false], 200, "utf-8", '{"a": 1}'],
  [["é", 200, true, "iso-8859-1"], 200, "iso-8859-1", '"\\u00e9"'],
  [[{ a: 1 }, 200, true, "utf8", 2], 200, "utf-8", '{\n  "a": 1\n}'],
];

onBothForms("`json()` takes code, encode, charset and option", async (app) => {
  for (const [index, [params, status, charset, text]] of CALLS.entries()) {
    app.route(`/${index}`, () => app.json(...params));
    const response = await visit(app, `/${index}`);
    const type = response.headers.get("content-type");
    assertEquals(
      [response.status, type, await response.text()],
      [status, `application/json; charset=${charset}`, text],
    );
  }
});

onBothForms(
  "`jsonp()` calls the function that the query names",
  async (app) => {
    app.route("/", () => app.jsonp({ a: 1 }));
    const response = await visit(app, "/?jsonp=app.show");
    assertEquals([response.status, await response.text()], [
      200,
      'app.show({"a":1});',
    ]);
  },
);

onBothForms(
  "`jsonp()` takes the name of the query parameter and a code",
  async (app) => {
    app.route("/", () => app.jsonp([1], "callback", 201));
    const response = await visit(app, "/?callback=go&jsonp=other");
    assertEquals([response.status, await response.text()], [201, "go([1]);"]);
  },
);
