/** Tests that middleware fails closed: nothing that `before` returns by mistake lets a request in. */

import {
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  Engine,
  Framework,
  html,
  HttpError,
  type Middleware,
} from "@framework/core";
import { call, visit } from "./forms.ts";
import { logOf } from "./log.ts";

/** An application whose route `/@id` writes "inside" behind the middleware, and what the route was called with. */
function guarded(...middleware: Middleware[]): [Engine, string[]] {
  const app = new Engine();
  const inside: string[] = [];
  app.map("error", (error: Error) => error.message);
  app.route("/@id", (id) => {
    inside.push(id);
    return "inside";
  }).addMiddleware(...middleware);
  return [app, inside];
}

Deno.test("an error after the seal is logged, also when an `error` hook fails by another one", async () => {
  const app = new Engine();
  app.set("framework.log_errors", true);
  app.route("/", () => app.redirect("/x")).addMiddleware({
    error: () => {
      throw new Error("second");
    },
  }, {
    after: () => {
      throw new Error("first");
    },
  });
  const log = await logOf(async () => {
    assertEquals((await app.fetch("/")).status, 303);
  });
  for (const text of ["first", "second"]) {
    assertEquals(
      log.filter((line) => line.includes(`Error: ${text}`)).length,
      1,
    );
  }
});

Deno.test("`addMiddleware()` refuses what expects `next()`, which would let everybody in without a call of it", () => {
  // deno-lint-ignore no-explicit-any -- as code without types has it
  const members = async (context: any, next: any) => {
    if (context.user) await next();
  };
  class Members {
    // deno-lint-ignore no-explicit-any -- the same
    before(context: any, next: any): Promise<void> {
      return members(context, next);
    }
  }
  for (const middleware of [members, { before: members }, Members]) {
    assertThrows(
      () => guarded(middleware as unknown as Middleware),
      TypeError,
      "Cannot add middleware: it is called with only the route's parameters, not with a context or next()",
    );
  }
});

/** Middleware of each form whose `before` returns a value. */
function formsOf(value: unknown): [form: string, Middleware][] {
  const before = () => value as boolean;
  class MiddlewareHooks {
    before = before;
  }
  class Later {
    before(): Promise<boolean> {
      return Promise.resolve(before());
    }
  }
  return [
    ["a function", before],
    ["an async function", async () => await before()],
    ["an object", { before }],
    ["an object of a class", new MiddlewareHooks()],
    ["a class", Later],
  ];
}

const RESPONSES: [what: string, make: () => unknown, status: number][] = [
  ["a web response", () => new Response("Log in", { status: 401 }), 401],
  ["text", () => "Log in", 200],
  ["markup", () => html`Log in`, 200],
];

for (const [what, make, status] of RESPONSES) {
  for (const [form] of formsOf(undefined)) {
    Deno.test(`\`before\` of ${form} responds with ${what} in place of the callback`, async () => {
      const after: string[] = [];
      const made = new Map(formsOf(make())).get(form)!;
      const outer = { after: () => void after.push("outer") };
      const inner = { before: () => void after.push("inner") };
      const [app, inside] = guarded(outer, made, inner);
      const response = await visit(app, "/1");
      assertEquals([response.status, await response.text()], [
        status,
        "Log in",
      ]);
      assertEquals([inside, after], [[], ["outer"]]);
    });
  }
}

Deno.test("`before` goes on after nothing, true and objects of the framework", async () => {
  const app = new Engine();
  app.route("/", () => "inside").addMiddleware(
    () => {},
    () => true,
    () => Promise.resolve(true),
    () => app.response().header("x-a", "1"),
    () => app.request(),
    () => app.router(),
    () => app.request().route!,
    () => app.view(),
    () => app,
    () => Framework,
    { before: () => Promise.resolve() },
  );
  assertEquals(await (await visit(app, "/")).text(), "inside");
});

for (const value of [null, 0, 1, {}, [], new Map(), new Error("x")]) {
  Deno.test(`\`before\` that returns ${Deno.inspect(value, { depth: 0 }).split("\n")[0]} lets nobody in`, async () => {
    for (const [form, middleware] of formsOf(value)) {
      const [app, inside] = guarded(middleware);
      const response = await visit(app, "/1");
      await response.body?.cancel();
      assertEquals([form, response.status, inside], [form, 500, []]);
    }
  });
}

Deno.test("`before` that returns a wrong value is named", async () => {
  function allow(): boolean {
    return { user: "ada" } as never;
  }
  class Members {
    before(): boolean {
      return allow();
    }
  }
  const rule = "it must return nothing, true, false, text or a Response, " +
    'got { user: "ada" }';
  const named: [Middleware, string][] = [
    [allow, 'the middleware "allow"'],
    [Members, 'the middleware "Members"'],
    [new Members(), 'the middleware "Members"'],
    [{ before: allow }, "a middleware"],
  ];
  for (const [middleware, name] of named) {
    const [app] = guarded(middleware);
    assertEquals(
      await (await visit(app, "/1")).text(),
      `Cannot continue after ${name} of the route "/@id": ${rule}`,
    );
  }
});

Deno.test("`before` that has sealed the response keeps it, whatever it returns", async () => {
  for (const value of [true, undefined, 1, "text", new Response("other")]) {
    const [app, inside] = guarded(() => {
      app.redirect("/login");
      return value as boolean;
    });
    const response = await visit(app, "/1");
    assertEquals([response.status, await response.text()], [303, ""]);
    assertEquals(inside, []);
  }
});

Deno.test("`before` that did not await a response lets nobody in", async () => {
  const guards: [string, (app: Engine) => unknown, number][] = [
    ["redirect", (app) => void app.redirect("/login"), 303],
    ["halt", (app) => void app.halt(401), 401],
    ["requireLogin", (app) => void call(app, "requireLogin"), 403],
  ];
  for (const [name, guard, status] of guards) {
    const [app, inside] = guarded(() => void guard(app));
    app.map("requireLogin", async () => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      throw new HttpError(403);
    });
    app.before(name, () => Promise.resolve());
    const response = await visit(app, "/1");
    await response.body?.cancel();
    assertEquals([name, response.status, inside], [name, status, []]);
  }
});

Deno.test("`before` that leaves a call waiting for too long lets nobody in", async () => {
  const [app, inside] = guarded(function check() {
    call(app, "wait");
  });
  app.set("framework.wait_timeout", 0.01);
  const { promise, resolve } = Promise.withResolvers<void>();
  app.map("wait", () => promise);
  assertEquals(
    await (await visit(app, "/1")).text(),
    'Cannot continue after the middleware "check": calls that were not awaited did not finish within 0.01 s (wait)',
  );
  assertEquals(inside, []);
  resolve();
});

Deno.test("`before` waits for its own calls alone", async () => {
  const [app, inside] = guarded(() => true);
  app.map("around", (work: () => unknown) => Promise.resolve(work()));
  app.map("start", () => call(app, "around", app.original("start")));
  app.set("framework.wait_timeout", 0.01);
  assertEquals(await (await visit(app, "/1")).text(), "inside");
  assertEquals(inside, ["1"]);
});

Deno.test("`addMiddleware()` refuses hooks that nothing would call", () => {
  function Members(): void {}
  Members.prototype.before = () => false;
  class Guests {
    static before(): boolean {
      return false;
    }
    after(): void {}
  }
  for (const middleware of [Members, Guests]) {
    assertThrows(
      () => guarded(middleware),
      TypeError,
      'Cannot add middleware: "before" must be an instance method of a class',
    );
  }
});

Deno.test("`addMiddleware()` refuses a misspelled hook beside a valid one, which would let everybody in", () => {
  const refuse = () => false;
  class Auth {
    befor(): boolean {
      return false;
    }
    after(): void {}
  }
  class Members extends Auth {}
  const others: [name: string, meant: string, Middleware][] = [
    ["befor", "before", Auth],
    ["befor", "before", Members],
    ["befor", "before", new Members()],
    ["Before", "before", { Before: refuse, after() {} } as Middleware],
    ["onBefore", "before", { onBefore: refuse, error() {} } as Middleware],
    ["befroe", "before", { befroe: refuse } as Middleware],
    ["aftr", "after", { before() {}, aftr() {} } as Middleware],
    ["errror", "error", { before() {}, errror() {} } as Middleware],
  ];
  for (const [name, meant, middleware] of others) {
    assertThrows(
      () => guarded(middleware),
      TypeError,
      `Cannot add middleware: nothing calls its method "${name}"; did you mean "${meant}"?`,
    );
  }
});

Deno.test("a misspelled hook in a field of a class of middleware lets nobody in", async () => {
  class Auth {
    readonly befor = () => false;
    after(): void {}
  }
  const [app, inside] = guarded(Auth);
  for (const path of ["/1", "/2"]) {
    const message = await (await visit(app, path)).text();
    assertStringIncludes(message, 'did you mean "before"?');
  }
  assertEquals(inside, []);
});

Deno.test("`addMiddleware()` takes other methods beside the hooks, and those that are like a hook that is there", async () => {
  class Auth {
    readonly #user = "ada";
    before(): boolean {
      return this.isMember(this.user);
    }
    get user(): string {
      return this.#user;
    }
    isMember(user: string): boolean {
      return user === "ada";
    }
    restore(): void {}
    befores(): void {}
  }
  for (const middleware of [Auth, new Auth()]) {
    const [app] = guarded(middleware);
    assertEquals(await (await visit(app, "/1")).text(), "inside");
  }
});

/** Never called: the compiler accepts what may be returned, and refuses the rest. */
export function types(app: Engine): void {
  const route = app.route("/", () => {});
  route.addMiddleware(
    () => {},
    async () => {},
    (params) => params.id === "1",
    () => app.redirect("/login"),
    () => app.halt(403),
    () => new Response("Log in", { status: 401 }),
    () => Promise.resolve(new Response()),
    () => html`Log in`,
    () => app.response().status(401),
    ({ id }) => id === "1" ? undefined : app.halt(403),
  );
  // @ts-expect-error -- a record is no response of middleware
  route.addMiddleware(() => ({ user: "ada" }));
  // @ts-expect-error -- nor is a number, such as a status
  route.addMiddleware(() => 401);
  // @ts-expect-error -- nor a promise of one
  route.addMiddleware(() => Promise.resolve(401));
  // @ts-expect-error -- null is no permission
  route.addMiddleware(() => null);
  // @ts-expect-error -- nor in an object
  route.addMiddleware({ before: () => 401 });
  class Wrong {
    before = (): number => 401;
  }
  // @ts-expect-error -- nor in a class
  route.addMiddleware(Wrong);
}

Deno.test("hooks of middleware do not run once a mapped `start` has halted and the request is over", async () => {
  const app = new Engine();
  const ran: string[] = [];
  const wait = (milliseconds: number) =>
    new Promise((resolve) => setTimeout(resolve, milliseconds));
  app.map("start", async () => {
    await Promise.race([app.original("start")(), wait(5)]);
    app.halt(503);
  });
  app.route("/", async () => {
    await wait(20);
    return { late: true };
  }).addMiddleware({
    after: () => void ran.push("after"),
    error: () => void ran.push("error"),
  });
  await logOf(async () => {
    assertEquals((await app.fetch("/")).status, 503);
    await wait(40);
  });
  assertEquals(ran, []);
});

Deno.test("the `error` of middleware gets an empty body, and may respond with bytes", async () => {
  const app = new Engine();
  let respond: () => unknown;
  app.route("/", () => {
    app.response().write("half");
    throw new Error("boom");
  }).addMiddleware({ error: () => respond() });
  for (respond of [() => "failed", () => new TextEncoder().encode("failed")]) {
    await logOf(async () => {
      const response = await app.fetch("/");
      assertEquals([response.status, await response.text()], [500, "failed"]);
    });
  }
});

Deno.test("the `error` of middleware learns of an error after the seal, and changes nothing", async () => {
  const app = new Engine();
  const learned: unknown[] = [];
  let respond: () => unknown;
  app.route("/", () => {
    app.json({ a: 1 }, 201);
    throw new Error("boom");
  }).addMiddleware({
    error(error) {
      learned.push(error);
      return respond();
    },
  });
  for (respond of [() => "text", () => ({ b: 2 }), () => new Map()]) {
    const log = await logOf(async () => {
      const response = await app.fetch("/");
      assertEquals([response.status, await response.text()], [201, '{"a":1}']);
    });
    assertEquals(log.length, 1);
    assertStringIncludes(log[0]!, "boom");
  }
  assertEquals(learned.length, 3);
});

Deno.test("the page of an error that the `error` of middleware throws is that of the second one", async () => {
  const app = new Engine();
  app.set("framework.log_errors", true);
  app.route("/", () => {
    throw new Error("first");
  }).addMiddleware({
    error() {
      throw new HttpError(503, "second");
    },
  });
  const log = await logOf(async () => {
    assertEquals((await app.fetch("/")).status, 503);
  });
  assertEquals(log.length, 2);
});

Deno.test("an error stands where the `error` of middleware neither writes nor returns anything", async () => {
  const app = new Engine();
  app.map("error", (error: Error) => `page of ${error.message}`);
  app.route("/", () => {
    throw new Error("boom");
  }).addMiddleware({ error() {} });
  await logOf(async () => {
    assertEquals(await (await app.fetch("/")).text(), "page of boom");
  });
});

Deno.test("an error for which the `error` of middleware redirects is no line in the log", async () => {
  const app = new Engine();
  app.set("framework.log_errors", true);
  app.route("/", () => {
    throw new Error("boom");
  }).addMiddleware({ error: () => app.redirect("/login") });
  const log = await logOf(async () => {
    assertEquals((await app.fetch("/")).status, 303);
  });
  assertEquals(log, []);
});

Deno.test("the `error` of middleware may respond by a mapped `json()` that it does not await", async () => {
  const app = new Engine();
  app.map("json", async (data: unknown) => {
    await null;
    return JSON.stringify({ data });
  });
  app.route("/", () => {
    throw new Error("boom");
  }).addMiddleware({
    error() {
      app.json("failed");
    },
  });
  await logOf(async () => {
    const response = await app.fetch("/");
    assertEquals(await response.text(), '{"data":"failed"}');
  });
});

Deno.test("the `error` of middleware does not wait for the call by which a mapped `start` waits for it", async () => {
  const app = new Engine();
  app.map("limited", async (work: Promise<unknown>) => await work);
  app.map("start", () => call(app, "limited", app.original("start")()));
  app.route("/", async () => {
    await null;
    throw new HttpError(403);
  }).addMiddleware({ error() {} });
  const log = await logOf(async () => {
    assertEquals((await app.fetch("/")).status, 403);
  });
  assertEquals(log, []);
});

Deno.test("`framework.handle_errors` false rejects with what the `error` of middleware throws, and logs what it got", async () => {
  const first = new Error("first");
  for (const thrown of [first, new Error("second")]) {
    const app = new Engine();
    app.set({ "framework.handle_errors": false, "framework.log_errors": true });
    app.route("/", () => {
      throw first;
    }).addMiddleware({
      error() {
        throw thrown;
      },
    });
    const log = await logOf(async () => {
      await assertRejects(
        async () => await app.fetch("/"),
        Error,
        thrown.message,
      );
    });
    assertEquals(log.length, thrown === first ? 0 : 1);
  }
});
