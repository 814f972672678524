/** Tests `json`, `validate()`, `accepts()` and `signal` of a request. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { Engine, HttpError, type Schema } from "@framework/core";
import { z } from "npm:zod@^4.6.7";
import { onBothForms, visit } from "./forms.ts";

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
  onBothForms(
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

  onBothForms(
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

onBothForms(
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

onBothForms(
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

onBothForms(
  "`validate()` throws an `HttpError` with the issues, for a handler to catch",
  async (app) => {
    app.route("POST /", async () => {
      try {
        return await app.request().validate(personSchema(false));
      } catch (error) {
        if (!(error instanceof HttpError)) throw error;
        app.response().status(error.status);
        return { form: app.request().data, errors: error.problem.errors };
      }
    });
    const body = new URLSearchParams({ name: "Ada", age: "old" });
    const response = await visit(app, "/", { method: "POST", body });
    assertEquals(response.status, 422);
    assertEquals(await response.json(), {
      form: { name: "Ada", age: "old" },
      errors: [{ path: ["age"], message: "must be a number" }],
    });
  },
);

onBothForms("`json` is the body as it was sent", async (app) => {
  app.route(
    "POST /",
    () => [app.request().json, Object.keys(app.request().data)],
  );
  for (const value of [[1, [2]], { a: [1] }, "text", 1, null, true]) {
    const [got] = await (await visit(app, "/", json(value))).json();
    assertEquals(got, value);
  }
});

onBothForms(
  "`json` of a body that is not JSON is a 415, of a malformed one a 400",
  async (app) => {
    app.route("POST /", () => [app.request().json]);
    const text = await visit(app, "/", { method: "POST", body: "text" });
    assertEquals(text.status, 415);
    const malformed = { ...json(1), body: "{" };
    assertEquals((await visit(app, "/", malformed)).status, 400);
  },
);

onBothForms(
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

onBothForms("`accepts()` weighs what the client likes", async (app) => {
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
