/** Tests `json`, `validate()`, `accepts()` and `signal` of a request. */

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
  UploadedFile,
  ValidationError,
} from "@framework/core";
import { z } from "npm:zod@^4.6.7";
import { onEngine, visit } from "./forms.ts";

interface Person {
  readonly name: string;
  readonly age: number;
}

/** A schema as libraries make it; a form has its numbers as text. */
function personSchema(isAsync: boolean): Schema<unknown, Person> {
  const validate = (value: unknown) => {
    const { name, age } = Object(value);
    const issues = [
      ...typeof name === "string" && name !== ""
        ? []
        : [{ message: "must be a name", path: ["name"] }],
      ...Number.isInteger(Number(age))
        ? []
        : [{ message: "must be a number", path: [{ key: "age" }] }],
    ];
    return issues.length > 0
      ? { issues }
      : { value: { name, age: Number(age) } };
  };
  return {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: isAsync
        ? async (value) => await Promise.resolve(validate(value))
        : validate,
    },
  };
}

const json = (value: unknown): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", accept: "application/json" },
  body: JSON.stringify(value),
});

for (const isAsync of [false, true]) {
  const kind = isAsync ? "an asynchronous" : "a synchronous";
  onEngine(
    `\`validate()\` by ${kind} schema gives typed output, from JSON and from a form`,
    async (app) => {
      app.route("POST /", async () => {
        const person = await app.request().validate(personSchema(isAsync));
        const next: number = person.age + 1;
        return `${person.name} ${next}`;
      });
      const ada = { name: "Ada", age: 36 };
      assertEquals(await (await visit(app, "/", json(ada))).text(), "Ada 37");
      const body = new URLSearchParams({ name: "Ada", age: "36" });
      const form = await visit(app, "/", { method: "POST", body });
      assertEquals(await form.text(), "Ada 37");
    },
  );

  onEngine(
    `\`validate()\` by ${kind} schema is a 422 that lists path and message of each issue`,
    async (app) => {
      app.route("POST /", async () => {
        return await app.request().validate(personSchema(isAsync));
      });
      const response = await visit(app, "/", json({ age: "x" }));
      assertEquals(response.status, 422);
      assertEquals(
        response.headers.get("content-type"),
        "application/problem+json",
      );
      const { errors, status } = await response.json();
      assertEquals(status, 422);
      assertEquals(errors, [
        { path: ["name"], message: "must be a name" },
        { path: ["age"], message: "must be a number" },
      ]);
      const page = await visit(app, "/", { method: "POST" });
      assertStringIncludes(await page.text(), "name: must be a name");
    },
  );
}

onEngine(
  "`validate()` takes a schema of zod, typed by what it makes of the body",
  async (app) => {
    const person = z.object({
      name: z.string().min(1),
      born: z.coerce.number().int(),
      address: z.object({ city: z.string() }).optional(),
    });
    app.route("POST /", async () => {
      const { name, born, address } = await app.request().validate(person);
      const city: string | undefined = address?.city;
      return { name, century: Math.ceil(born / 100), city };
    });
    const ada = { name: "Ada", born: "1815", address: { city: "London" } };
    const response = await visit(app, "/", json(ada));
    const city = "London";
    assertEquals(await response.json(), { name: "Ada", century: 19, city });

    const wrong = { name: "", born: 1815, address: { city: 1 } };
    const refused = await visit(app, "/", json(wrong));
    assertEquals(refused.status, 422);
    const { errors } = await refused.json();
    assertEquals(
      errors.map(({ path }: { path: string[] }) => path),
      [["name"], ["address", "city"]],
    );
    assertStringIncludes(errors[1].message, "expected string");
  },
);

onEngine(
  "`validate()` waits for an asynchronous schema of zod",
  async (app) => {
    const isFree = async (name: string) =>
      await Promise.resolve(name !== "root");
    const account = z.object({
      name: z.string().refine(isFree, "is taken").transform((name) =>
        name.toUpperCase()
      ),
    });
    app.route("POST /", async () => {
      const { name } = await app.request().validate(account);
      return name;
    });
    const post = (name: string) =>
      visit(app, "/", { method: "POST", body: new URLSearchParams({ name }) });
    assertEquals(await (await post("ada")).text(), "ADA");
    const refused = await post("root");
    assertEquals(refused.status, 422);
    assertStringIncludes(await refused.text(), "name: is taken");
  },
);

Deno.test("`validate()` throws a `ValidationError` with `issues` and `fields`, for a handler to catch", async () => {
  const app = new Engine();
  const post = z.object({
    title: z.string().min(1, "is missing").max(0, "is long"),
    tags: z.array(z.string("is no text")),
  });
  app.route("POST /", async () => {
    try {
      return await app.request().validate(post);
    } catch (error) {
      if (!(error instanceof ValidationError)) throw error;
      const { fields, issues, message, name, status } = error;
      return { fields, issues, message, name, status };
    }
  });
  const response = await visit(app, "/", json({ title: "", tags: ["a", 1] }));
  assertEquals(await response.json(), {
    fields: { title: "is missing", "tags.1": "is no text" },
    issues: [
      { path: ["title"], message: "is missing" },
      { path: ["tags", 1], message: "is no text" },
    ],
    message: "title: is missing; tags.1: is no text",
    name: "ValidationError",
    status: 422,
  });
});

Deno.test("`ValidationError` has the first message of each field, and that of the whole under an empty name", () => {
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
  assertEquals(message, "is empty; a.b.0: first; a.b.0: second; and 1 more");
});

Deno.test("`ValidationError` keeps the first 100 keys of a path", () => {
  const path = Array.from(Array(100_000).keys());
  const error = new ValidationError([{ path, message: "is deep" }]);
  assertEquals(error.issues[0]!.path, path.slice(0, 100));
  const [field] = Object.keys(error.fields);
  assert(field!.length < 300 && error.message.length < 500);
});

Deno.test("`validate()` reports 100 issues at most, and names three", async () => {
  const app = new Engine();
  app.route("POST /", () => app.request().validate(z.array(z.string("text"))));
  const response = await visit(app, "/", json(Array(1_000).fill(1)));
  const { detail, errors } = await response.json();
  assertEquals(errors.length, 100);
  assertEquals(detail, "0: text; 1: text; 2: text; and 997 more");
});

Deno.test("`validate()` repeats a client's long keys and messages by their beginning", async () => {
  const app = new Engine();
  app.route("POST /", () => app.request().validate(z.strictObject({})));
  app.route("POST /record", () => {
    return app.request().validate(z.record(z.string(), z.array(z.string())));
  });
  const key = "k".repeat(100_000);
  for (const path of ["/", "/record"]) {
    const body = { [key]: Array(100).fill(1) };
    const response = await visit(app, path, json(body));
    assertEquals(response.status, 422);
    assert((await response.text()).length < 50_000, path);
  }
});

Deno.test("`validate()` of a body of another type is a 415, an empty body is `{}`", async () => {
  const app = new Engine();
  const partial = z.object({ name: z.string() }).partial();
  app.route("POST /", async () => [await app.request().validate(partial)]);
  const types = ["text/plain", "application/xml", "application/octet-stream"];
  for (const type of types) {
    const headers = { "content-type": type };
    const init = { method: "POST", headers };
    assertEquals((await visit(app, "/", { ...init, body: "a" })).status, 415);
    assertEquals(await (await visit(app, "/", init)).json(), [{}], type);
  }
  const empty = { ...json(1), body: "" };
  assertEquals(await (await visit(app, "/", empty)).json(), [{}]);
  const bytes = { method: "POST", body: new Uint8Array(1) };
  assertEquals((await visit(app, "/", bytes)).status, 415);
});

Deno.test("`validate()` calls a schema's method with its `this`", async () => {
  class Standard {
    readonly version = 1;
    readonly vendor = "test";
    readonly value = "made by its own";
    validate(): SchemaResult<string> {
      return { value: this.value };
    }
  }
  const schema: Schema<unknown, string> = { "~standard": new Standard() };
  const app = new Engine();
  app.route("POST /", () => app.request().validate(schema));
  const response = await visit(app, "/", json({}));
  assertEquals(await response.text(), "made by its own");
});

Deno.test("`validate()` takes the query and the parameters of the route", async () => {
  const app = new Engine();
  const page = z.object({ page: z.coerce.number().default(1) });
  const post = z.object({ id: z.coerce.number(), part: z.string().nullable() });
  app.route("/post/@id(/@part)", async () => {
    const query = await app.request().validate(page, "query");
    const params = await app.request().validate(post, "params");
    return [query.page + 1, params.id + 1, params.part];
  });
  const response = await app.fetch("/post/7?page=2");
  assertEquals(await response.json(), [3, 8, null]);
  const refused = await app.fetch("/post/x?page=2");
  assertEquals(refused.status, 422);
  assertEquals((await app.fetch("/post/7?page=x")).status, 422);
});

Deno.test("`validate()` takes the fields of a form with its files", async () => {
  const app = new Engine();
  const entry = z.object({ name: z.string(), photo: z.instanceof(File) });
  const form = z.object({
    title: z.string().min(1),
    cover: z.instanceof(UploadedFile).optional(),
    entries: z.array(entry),
  });
  app.route("POST /", async () => {
    const { title, cover, entries } = await app.request().validate(form);
    const { name, photo } = entries[0]!;
    return [title, cover?.name ?? null, name, await photo.text()];
  });
  const body = new FormData();
  body.set("title", "Trip");
  body.set("cover", new File([], "")); // as browsers send an input that was left empty
  body.set("entries[0][name]", "Sea");
  body.set("entries[0][photo]", new File(["pixels"], "sea.png"));
  const response = await visit(app, "/", { method: "POST", body });
  assertEquals(await response.json(), ["Trip", null, "Sea", "pixels"]);
  body.set("title", "");
  const refused = await visit(app, "/", { method: "POST", body });
  assertEquals(refused.status, 422);
});

Deno.test("`validate()` throws for an unknown source and for what is no schema", async () => {
  const app = new Engine();
  app.route("POST /", async () => {
    const request = app.request();
    const schema = z.object({});
    for (const source of ["cookies", "__proto__", ""]) {
      const validate = () => request.validate(schema, source as "body");
      await assertRejects(validate, TypeError, '"body", "query" or "params"');
    }
    const validate = () => request.validate({} as Schema);
    await assertRejects(validate, TypeError, "a Standard Schema");
    return "done";
  });
  const response = await visit(app, "/", json({}));
  assertEquals(await response.text(), "done");
});

onEngine("`json` is the body as it was sent", async (app) => {
  app.route(
    "POST /",
    () => [app.request().json, Object.keys(app.request().data)],
  );
  for (const value of [[1, [2]], { a: [1] }, "text", 1, null, true]) {
    const [got] = await (await visit(app, "/", json(value))).json();
    assertEquals(got, value);
  }
});

onEngine(
  "`json` of a body that is not JSON is a 415, of a malformed one a 400",
  async (app) => {
    app.route("POST /", () => [app.request().json]);
    const text = await visit(app, "/", { method: "POST", body: "text" });
    assertEquals(text.status, 415);
    const malformed = { ...json(1), body: "{" };
    assertEquals((await visit(app, "/", malformed)).status, 400);
  },
);

onEngine(
  "`data` of JSON keeps a member named `__proto__` as data",
  async (app) => {
    app.route("POST /", () => {
      const { data } = app.request();
      return [
        Object.getPrototypeOf(data),
        Object.keys(data),
        data["__proto__"],
      ];
    });
    const init = { ...json(1), body: '{"__proto__":{"a":1},"b":2}' };
    const response = await visit(app, "/", init);
    assertEquals(await response.json(), [null, ["__proto__", "b"], { a: 1 }]);
  },
);

onEngine("`accepts()` weighs what the client likes", async (app) => {
  app.route(
    "/",
    () => app.request().accepts("text/html", "application/json") ?? "none",
  );
  const cases: Record<string, string> = {
    "application/json": "application/json",
    "text/html;q=0.5, application/json": "application/json",
    "text/*": "text/html",
    "*/*": "text/html",
    "image/png": "none",
  };
  for (const [accept, type] of Object.entries(cases)) {
    const response = await visit(app, "/", { headers: { accept } });
    assertEquals(await response.text(), type, accept);
  }
});

Deno.test("`signal` aborts when the client leaves, after the body was read", async () => {
  const app = new Engine();
  const left = Promise.withResolvers<string>();
  app.route("POST /", async () => {
    const { signal, data } = app.request();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    left.resolve(String(data.name));
  });
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n" +
    "Content-Type: application/x-www-form-urlencoded\r\n\r\n";
  await connection.write(new TextEncoder().encode(`${head}name=Ada`));
  await new Promise((resolve) => setTimeout(resolve, 20));
  connection.close();
  assertEquals(await left.promise, "Ada");
  await server.shutdown();
});

Deno.test("`validate()` of the params where no route matches gets none", async () => {
  const schema = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value: unknown) => ({ value }),
    },
  } as const;
  const app = new Engine();
  app.map("notFound", async () => {
    const params = await app.request().validate(schema, "params");
    return JSON.stringify(params);
  });
  assertEquals(await (await app.fetch("/")).text(), "{}");
});
