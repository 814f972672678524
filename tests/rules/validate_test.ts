/** DESIGN.md, section 4, `request().validate()`: input checked and typed by any Standard Schema. */

import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import {
  Engine,
  type Schema,
  type SchemaResult,
  ValidationError,
} from "@framework/core";
import { visit } from "../support/forms.ts";

/** A schema by hand, as libraries make them. */
function schemaOf<Output>(
  validate: (
    value: Record<string, unknown>,
  ) => SchemaResult<Output>,
): Schema<unknown, Output> {
  return {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value) => validate(value as Record<string, unknown>),
    },
  };
}

/** A name and a whole number, which a form sends as text. */
const person = schemaOf(({ name, age }) => {
  const issues = [];
  if (!name) issues.push({ message: "must be a name", path: ["name"] });
  if (!Number.isInteger(Number(age))) {
    issues.push({ message: "must be a number", path: [{ key: "age" }] });
  }
  if (issues.length > 0) return { issues };
  return { value: { name: String(name), age: Number(age) } };
});

/** Takes anything as it is. */
const anything = schemaOf((value) => ({ value }));

function json(value: unknown): RequestInit {
  const type = "application/json";
  const headers = { "content-type": type, accept: type };
  return { method: "POST", headers, body: JSON.stringify(value) };
}

Deno.test("`validate()` gives the typed output of a schema, from JSON and from a form", async () => {
  const app = new Engine();
  app.post("/", async () => {
    const { name, age } = await app.request().validate(person);
    const next: number = age + 1;
    return `${name} ${next}`;
  });
  const response = await visit(app, "/", json({ name: "Ada", age: 36 }));
  assertEquals(await response.text(), "Ada 37");
  const body = new URLSearchParams({ name: "Ada", age: "36" });
  const form = await visit(app, "/", { method: "POST", body });
  assertEquals(await form.text(), "Ada 37");
});

Deno.test("what does not fit is a 422 that lists path and message of each issue", async () => {
  const app = new Engine();
  app.post("/", () => app.request().validate(person));
  const response = await visit(app, "/", json({ age: "x" }));
  assertEquals(response.status, 422);
  const { errors, status } = await response.json();
  assertEquals(status, 422);
  assertEquals(errors, [
    { path: ["name"], message: "must be a name" },
    { path: ["age"], message: "must be a number" },
  ]);
  const page = await visit(app, "/", { method: "POST" });
  assertStringIncludes(await page.text(), "name: must be a name");
});

Deno.test("`ValidationError` has the first message of each field by its dotted path", () => {
  const { fields, issues, message } = new ValidationError([
    { message: "is empty" },
    { path: ["a", { key: "b" }, 0], message: "first" },
    { path: ["a", "b", 0], message: "second" },
    { path: ["__proto__"], message: "is data" },
  ]);
  assertEquals(Object.entries(fields), [
    ["", "is empty"],
    ["a.b.0", "first"],
    ["__proto__", "is data"],
  ]);
  assertEquals(issues[0], { path: [], message: "is empty" });
  assertStringIncludes(message, "a.b.0: first");
});

Deno.test("`validate()` reports 100 issues at most", async () => {
  const issues = Array.from({ length: 1_000 }, (_, index) => ({
    message: "is wrong",
    path: [index],
  }));
  const app = new Engine();
  app.post("/", () => app.request().validate(schemaOf(() => ({ issues }))));
  const response = await visit(app, "/", json({}));
  const { detail, errors } = await response.json();
  assertEquals(errors.length, 100);
  assert(detail.length < 1_000, detail);
});

Deno.test("a client's long keys and messages are repeated by their beginning", async () => {
  const long = "k".repeat(100_000);
  const path = Array.from(Array(100_000).keys());
  const issues = [{ message: long, path: [long] }, { message: "deep", path }];
  const app = new Engine();
  app.post("/", () => app.request().validate(schemaOf(() => ({ issues }))));
  const response = await visit(app, "/", json({}));
  assertEquals(response.status, 422);
  assert((await response.text()).length < 50_000);
});

Deno.test("`validate()` of a body of another type is a 415, an empty body is `{}`", async () => {
  const app = new Engine();
  app.post("/", async () => [await app.request().validate(anything)]);
  for (const type of ["text/plain", "application/octet-stream"]) {
    const init = { method: "POST", headers: { "content-type": type } };
    const refused = await visit(app, "/", { ...init, body: "a" });
    assertEquals(refused.status, 415, type);
    assertEquals(await (await visit(app, "/", init)).json(), [{}], type);
  }
  const empty = { ...json(1), body: "" };
  assertEquals(await (await visit(app, "/", empty)).json(), [{}]);
});

Deno.test("`validate()` takes the query and the parameters of the route", async () => {
  const app = new Engine();
  app.route("/post/@id(/@part)", async () => {
    const query = await app.request().validate(anything, "query");
    const params = await app.request().validate(anything, "params");
    return [query, params];
  });
  const response = await visit(app, "/post/7?page=2");
  const params = { id: "7", part: null };
  assertEquals(await response.json(), [{ page: "2" }, params]);
});

Deno.test("`validate()` takes the fields of a form with its files", async () => {
  const app = new Engine();
  app.post("/", async () => {
    const form = await app.request().validate(anything);
    const { title, cover, entries } = form as Record<string, unknown>;
    const [{ name, photo }] = entries as [{ name: string; photo: File }];
    return [title, cover ?? null, name, await photo.text()];
  });
  const body = new FormData();
  body.set("title", "Trip");
  body.set("cover", new File([], "")); // as browsers send an input that was left empty
  body.set("entries[0][name]", "Sea");
  body.set("entries[0][photo]", new File(["pixels"], "sea.png"));
  const response = await visit(app, "/", { method: "POST", body });
  assertEquals(await response.json(), ["Trip", null, "Sea", "pixels"]);
});

Deno.test("`validate()` refuses an unknown source with `TypeError`", async () => {
  const app = new Engine();
  app.post("/", async () => {
    const request = app.request();
    for (const source of ["cookies", "__proto__", ""]) {
      await assertRejects(
        async () => await request.validate(anything, source as "body"),
        TypeError,
      );
    }
    return "done";
  });
  assertEquals(await (await visit(app, "/", json({}))).text(), "done");
});
