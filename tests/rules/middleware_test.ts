/** Middleware, and that a guard fails closed: nothing that `before` does by mistake lets a request in. */

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  Engine,
  Framework,
  html,
  HttpError,
  type Middleware,
} from "@framework/core";
import { secondsOf } from "../support/clock.ts";
import { call, visit } from "../support/forms.ts";
import { logOf } from "../support/log.ts";

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

/** Middleware of each form whose `before` returns a value. */
function formsOf(value: unknown): [form: string, Middleware][] {
  const before = () => value as boolean;
  class Later {
    before(): Promise<boolean> {
      return Promise.resolve(before());
    }
  }
  return [
    ["a function", before],
    ["an async function", async () => await before()],
    ["an object", { before }],
    ["a class", Later],
  ];
}

Deno.test("middleware runs `before` in order and `after` in reverse, with the parameters", async () => {
  const log: string[] = [];
  const hooks = (name: string) => ({
    before: ({ id }: { id?: string | null }) => void log.push(`${name} ${id}`),
    after: ({ id }: { id?: string | null }) => void log.push(`/${name} ${id}`),
  });
  const [app] = guarded(hooks("outer"), hooks("inner"));
  await visit(app, "/7");
  assertEquals(log, ["outer 7", "inner 7", "/inner 7", "/outer 7"]);
});

Deno.test("the middleware of a group runs before that of its routes", async () => {
  const app = new Engine();
  const log: string[] = [];
  const note = (text: string) => () => void log.push(text);
  app.group("/admin", (router) => {
    router.get("/", note("callback")).addMiddleware(note("route"));
  }, [note("group")]);
  await visit(app, "/admin");
  assertEquals(log, ["group", "route", "callback"]);
});

Deno.test("a class is middleware with an instance for each request", async () => {
  const counts: number[] = [];
  class Counter {
    #count = 0;
    before(): void {
      this.#count++;
    }
    after(): void {
      counts.push(this.#count);
    }
  }
  const [app] = guarded(Counter);
  await visit(app, "/1");
  await visit(app, "/2");
  assertEquals(counts, [1, 1]);
});

Deno.test("`before` goes on after nothing, true and objects of the framework", async () => {
  const [app] = guarded(
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
  assertEquals(await (await visit(app, "/1")).text(), "inside");
});

Deno.test("`before` that returns false is a 403", async () => {
  for (const [form, middleware] of formsOf(false)) {
    const [app, inside] = guarded(middleware);
    assertEquals([form, (await visit(app, "/1")).status], [form, 403]);
    assertEquals(inside, []);
  }
});

for (
  const [what, make, status] of [
    ["a web `Response`", () => new Response("Log in", { status: 401 }), 401],
    ["text", () => "Log in", 200],
    ["markup", () => html`Log in`, 200],
  ] as const
) {
  Deno.test(`\`before\` responds with ${what} in place of everything inside`, async () => {
    for (const [form] of formsOf(undefined)) {
      const log: string[] = [];
      const guard = new Map(formsOf(make())).get(form)!;
      const outer = { after: () => void log.push("outer") };
      const inner = { before: () => void log.push("inner") };
      const [app, inside] = guarded(outer, guard, inner);
      const response = await visit(app, "/1");
      const text = await response.text();
      assertEquals([form, response.status, text], [form, status, "Log in"]);
      assertEquals([inside, log], [[], ["outer"]]);
    }
  });
}

for (const value of [null, 0, {}, new Error("x")]) {
  const [shown] = Deno.inspect(value, { depth: 0 }).split("\n");
  Deno.test(`\`before\` that returns ${shown} lets nobody in`, async () => {
    for (const [form, middleware] of formsOf(value)) {
      const [app, inside] = guarded(middleware);
      const response = await visit(app, "/1");
      assertEquals([form, response.status, inside], [form, 500, []]);
    }
  });
}

Deno.test("`before` that returns a wrong value is a `TypeError` that names the middleware", async () => {
  function allow(): boolean {
    return { user: "ada" } as never;
  }
  class Members {
    before(): boolean {
      return allow();
    }
  }
  const named: [Middleware, string][] = [
    [allow, 'the middleware "allow"'],
    [Members, 'the middleware "Members"'],
    [new Members(), 'the middleware "Members"'],
    [{ before: allow }, "a middleware"],
  ];
  for (const [middleware, name] of named) {
    const [app] = guarded(middleware);
    const rule = "it must return nothing, true, false, text or a Response";
    const text = await (await visit(app, "/1")).text();
    assertStringIncludes(text, `${name} of the route "/@id": ${rule}`);
  }
});

/** What a guard does that responds, without a word on whether the request may go on. */
const RESPONDING: [
  what: string,
  guard: (app: Engine) => void,
  status: number,
][] = [
  ["has redirected", (app) => app.redirect("/login"), 303],
  ["has set a status of 400 or above", setStatus, 401],
  ["catches its own `halt()`", haltCaught, 403],
  ["did not await `json()`", (app) => void app.json({}, 401), 401],
  ["did not await a method", (app) => void call(app, "requireLogin"), 403],
];

function setStatus(app: Engine): void {
  app.response().status(401);
}

function haltCaught(app: Engine): void {
  try {
    app.halt(403);
  } catch { /* as a guard that catches everything does */ }
}

for (const [what, guard, status] of RESPONDING) {
  Deno.test(`\`before\` that ${what} lets nobody in`, async () => {
    for (const value of [undefined, true]) {
      const [app, inside] = guarded(() => {
        guard(app);
        return value;
      });
      app.before("json", () => Promise.resolve());
      app.map("requireLogin", async () => {
        await null;
        throw new HttpError(403);
      });
      const response = await visit(app, "/1");
      assertEquals([response.status, inside], [status, []]);
    }
  });
}

Deno.test("`before` that leaves a call waiting for too long lets nobody in", async () => {
  const [app, inside] = guarded(function check() {
    call(app, "wait");
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  app.map("wait", () => promise);
  const seconds = await secondsOf(async () => {
    const text = await (await visit(app, "/1")).text();
    const message = 'Cannot continue after the middleware "check"';
    assertStringIncludes(text, message);
  });
  assertEquals([seconds, inside], [10, []]); // `framework.wait_timeout`
  resolve();
});

// deno-lint-ignore no-explicit-any -- as code without types has it
async function withNext(context: any, next: any): Promise<void> {
  if (context.user) await next();
}

class NextHook {
  before = withNext;
}

class StaticHook {
  static before(): boolean {
    return false;
  }
  after(): void {}
}

Deno.test("`addMiddleware()` refuses what would let everybody in", () => {
  const refused: [middleware: unknown, message: string][] = [
    [withNext, "not with a context or next()"],
    [{ before: withNext }, "not with a context or next()"],
    [new NextHook(), "not with a context or next()"],
    [StaticHook, 'nothing calls its method "before"'],
    ...[undefined, null, "auth", {}, class {}]
      .map((wrong): [unknown, string] => [wrong, "Cannot add middleware"]),
  ];
  for (const [middleware, message] of refused) {
    const add = () => guarded(middleware as Middleware);
    assertThrows(add, TypeError, message);
  }
});

Deno.test("`addMiddleware()` refuses a misspelled hook, which would let everybody in", () => {
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
    ["befor", "before", new Members()],
    ["Before", "before", { Before: refuse, after() {} } as Middleware],
    ["onBefore", "before", { onBefore: refuse, error() {} } as Middleware],
    ["aftr", "after", { before() {}, aftr() {} } as Middleware],
  ];
  for (const [name, meant, middleware] of others) {
    const message =
      `nothing calls its method "${name}"; did you mean "${meant}"?`;
    assertThrows(() => guarded(middleware), TypeError, message);
  }
});

/** Never called: the compiler refuses what may not be returned. */
export function types(app: Engine): void {
  const route = app.route("/", () => {});
  // @ts-expect-error -- a record is no response of middleware
  route.addMiddleware(() => ({ user: "ada" }));
  // @ts-expect-error -- null is no permission
  route.addMiddleware(() => null);
  class Wrong {
    before = (): number => 401;
  }
  // @ts-expect-error -- nor a number, in a class
  route.addMiddleware(Wrong);
}

Deno.test("`error` of middleware responds with an empty body, throws an error of its own, or leaves the one it got", async () => {
  const outcomes: [error: Middleware, status: number, text: string][] = [
    [{ error: (_thrown, { id }) => `sorry, ${id}` }, 500, "sorry, 7"],
    [{ error: () => {} }, 500, "boom"],
    [
      {
        error(thrown) {
          throw new HttpError(503, `after ${(thrown as Error).message}`);
        },
      },
      503,
      "after boom",
    ],
  ];
  for (const [middleware, status, text] of outcomes) {
    const app = new Engine();
    app.map("error", (error: Error) => error.message);
    app.route("/@id", () => {
      app.response().write("half");
      throw new Error("boom");
    }).addMiddleware(middleware);
    await logOf(async () => {
      const response = await visit(app, "/7");
      assertEquals([response.status, await response.text()], [status, text]);
    });
  }
});

Deno.test("a filter before `start` that returns a response is a `TypeError`, and lets nobody in", async () => {
  const web = new Response("Log in", { status: 401 });
  for (const returned of [web, "Log in", html`Log in`, { reason: "Log in" }]) {
    const [app, inside] = guarded();
    app.map("error", (error: Error) => `${error}`);
    app.before("start", () => returned);
    const response = await visit(app, "/1");
    assertEquals([response.status, inside], [500, []]);
    const text = await response.text();
    assertStringIncludes(text, "TypeError: ");
    assertStringIncludes(text, "(call halt() or redirect()");
  }
});

Deno.test("a filter before `start` that did not await its response lets nobody in", async () => {
  const [app, inside] = guarded();
  app.before("redirect", () => Promise.resolve());
  app.before("start", () => void app.redirect("/login"));
  assertEquals([(await visit(app, "/1")).status, inside], [303, []]);
});

Deno.test("`error` of middleware begins with the status and the headers of the error", async () => {
  const app = new Engine();
  app.route("/slow", () => {
    throw new HttpError(429, "", { headers: { "retry-after": "9" } });
  }).addMiddleware({ error: () => "Later" });
  const response = await app.fetch("/slow");
  assertEquals(response.status, 429);
  assertEquals(response.headers.get("retry-after"), "9");
});

Deno.test("`before` that sets a status and returns false refuses with that status", async () => {
  const app = new Engine();
  app.route("/", () => "inside").addMiddleware(() => {
    app.response().status(401);
    return false;
  });
  assertEquals((await visit(app, "/")).status, 401);
});
