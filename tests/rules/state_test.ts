/** State: what a request sets is its own, in whatever work it sets it; what is declared belongs to the application. */

import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Engine, Framework, type Route } from "@framework/core";
import { AsyncLocalStorage } from "node:async_hooks";
import { type App, call, visit } from "../support/forms.ts";

const QUIET = { port: 0, signals: false, onListen() {} };

/** Starts a server; `get` requests a path of it and returns the text. */
function serve(app: Engine) {
  const server = app.start(QUIET);
  const { port } = server.addr as Deno.NetAddr;
  const get = async (path: string): Promise<string> =>
    await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
  return { get, port, [Symbol.asyncDispose]: () => server.shutdown() };
}

/** Resolves in a later turn of the event loop. */
const turn = () => new Promise<void>((resolve) => setTimeout(resolve));

/** Runs work where no request is current. */
const outside = AsyncLocalStorage.snapshot();

type Kind = (done: () => void) => unknown;

/** Kinds of work that the runtime leaves in the request that began them. */
const KINDS: Readonly<Record<string, Kind>> = {
  "an async function": async (done) => {
    for (let count = 0; count < 3; count++) await turn();
    done();
  },
  "what follows a promise that other work resolves": async (done) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    outside(() => setTimeout(resolve));
    await promise;
    done();
  },
  "`setTimeout`": (done) => setTimeout(done),
  "a dynamic import": (done) =>
    import(`data:text/javascript,//${crypto.randomUUID()}`).then(done),
  "the `pull` of a stream": async (done) => {
    const stream = new ReadableStream({
      pull(controller) {
        done();
        controller.close();
      },
    }, { highWaterMark: 0 });
    await stream.pipeTo(new WritableStream());
  },
  "a bound callback, called from outside": (done) => {
    const bound = AsyncLocalStorage.bind(done);
    outside(() => setTimeout(bound));
  },
};

/** Kinds of work in which the runtime may forget the request. */
const FORGETFUL: Readonly<Record<string, Kind>> = {
  "a snapshot of the outside": (done) => outside(() => setTimeout(done)),
  "`AbortSignal.timeout`": (done) =>
    AbortSignal.timeout(1).addEventListener("abort", done),
  "a `MessageChannel`": (done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      port2.close();
      done();
    };
    port2.postMessage("");
  },
};

for (const [kind, work] of Object.entries({ ...KINDS, ...FORGETFUL })) {
  Deno.test(`what a request sets in ${kind} is its own, and never the application's`, async () => {
    const app = new Engine();
    app.route("/set/@user", async (user) => {
      const { promise, resolve } = Promise.withResolvers<string>();
      work(() => {
        try {
          app.set("user", user);
          turn().then(() => resolve(`${app.get("user")}`));
        } catch (error) {
          resolve((error as Error).message);
        }
      });
      return await promise;
    });
    app.route("/who", () => `${app.get("user")}`);
    await using server = serve(app);
    const users = ["ada", "grace", "edsger"];
    const texts = users.map((user) => server.get(`/set/${user}`));
    for (const [place, text] of (await Promise.all(texts)).entries()) {
      if (kind in FORGETFUL && text.match(/configure\(\)|has ended/)) continue;
      assertEquals(text, users[place]);
    }
    assertEquals(await server.get("/who"), "undefined");
    assertEquals(app.get("user"), undefined);
  });
}

Deno.test("work that outlives its request gets an error, and no other request", async () => {
  const app = new Engine();
  const late = Promise.withResolvers<unknown>();
  const gate = Promise.withResolvers<void>();
  app.route("/first", () => {
    app.set("name", "first");
    gate.promise.then(() => app.get("name")).then(late.reject, late.resolve);
    return "first";
  });
  app.route("/second", async () => {
    app.set("name", "second");
    gate.resolve();
    await late.promise;
    return "second";
  });
  await visit(app, "/first");
  await visit(app, "/second");
  assertStringIncludes(String(await late.promise), "has ended");
});

/** What a request can set, and how it is read. */
const SETTABLE: Readonly<
  Record<
    string,
    [set: (app: App, user: string) => void, read: (app: App) => unknown]
  >
> = {
  "a variable": [
    (app, user) => app.set("user", user),
    (app) => app.get("user"),
  ],
  "a cleared variable": [
    (app, user) => app.clear(user === "ada" ? "declared" : []),
    (app) => app.get("declared"),
  ],
  "a setting": [
    (app, user) => app.set("framework.base_url", `/${user}`),
    (app) => app.getUrl("home"),
  ],
  "a view variable": [
    (app, user) => app.view().set("user", user),
    (app) => app.view().get("user"),
  ],
  "a mapped method": [
    (app, user) => app.map("greet", () => user),
    (app) => call(app, "greet"),
  ],
  "a filter": [
    (app, user) =>
      app.after("greet", (_params, output) => void (output.value += user)),
    (app) => call(app, "greet"),
  ],
  "a registered class": [
    (app, user) => app.register("list", Array, [user]),
    (app) => call(app, "list").join(),
  ],
};

for (const [what, [set, read]] of Object.entries(SETTABLE)) {
  Deno.test(`${what} of a request belongs to that request`, async () => {
    const app = new Engine() as App;
    app.set("declared", "declared");
    app.map("greet", () => "hello");
    app.register("list", Array, ["declared"]);
    app.route("/", () => "", false, "home");
    const declared = read(app);
    app.route("/read", () => `${read(app)}`);
    app.route("/set/@user", async (user) => {
      set(app, user);
      const own = `${read(app)}`;
      await turn();
      return [own !== `${declared}`, own === `${read(app)}`];
    });
    const responses = ["ada", "grace"].map((user) =>
      visit(app, `/set/${user}`)
    );
    for (const response of await Promise.all(responses)) {
      assertEquals(await response.json(), [true, true]);
    }
    assertEquals(await (await visit(app, "/read")).text(), `${declared}`);
    assertEquals(read(app), declared);
  });
}

Deno.test("a route that a request declares is matched in that request alone", async () => {
  const app = new Engine();
  app.before("start", () => {
    const { user } = app.request().query;
    if (typeof user === "string") app.route(`/${user}`, () => `only ${user}`);
  });
  assertEquals(await (await visit(app, "/ada?user=ada")).text(), "only ada");
  assertEquals((await visit(app, "/ada")).status, 404);
});

Deno.test("a shared instance that a request makes is the application's, and knows no request", async () => {
  class Pool {
    readonly failure: string;
    constructor(app: App) {
      this.failure = assertThrows(() => app.request(), Error).message;
    }
  }
  const app = new Engine() as App;
  app.register("pool", Pool, [app]);
  app.route("/", () => call(app, "pool").failure);
  const text = await (await visit(app, "/")).text();
  assertStringIncludes(text, "no request is being handled");
  assertStrictEquals(call(app, "pool"), call(app, "pool"));
  assertEquals(call(app, "pool").failure, text);
});

Deno.test("a request cannot change a route of the application, but its own", async () => {
  const app = new Engine();
  const shared = app.route("/", () => "shared");
  const changes: ((route: Route) => unknown)[] = [
    (route) => route.addMiddleware(() => false),
    (route) => route.streamed(),
    (route) => route.bodyLimit(1),
  ];
  app.before("start", () => {
    const own = app.route("/own", () => "own");
    for (const change of changes) {
      assertThrows(() => change(shared), Error, 'route "/"');
      change(own);
    }
  });
  assertEquals((await visit(app, "/own")).status, 403);
  assertEquals(await (await visit(app, "/")).text(), "shared");
});

Deno.test("`request()` and `response()` outside a request throw", async () => {
  const [app, other] = [new Engine(), new Engine()];
  for (const name of ["request", "response"] as const) {
    const message = `Cannot call ${name}() here: no request is being handled`;
    assertThrows(() => outside(() => app[name]()), Error, message);
    other.route(`/${name}`, () => {
      return assertThrows(() => app[name](), Error).message;
    });
    const text = await (await visit(other, `/${name}`)).text();
    assertMatch(text, /other application/);
  }
});

Deno.test("a write that belongs to no request throws while the application serves", async () => {
  const app = new Engine();
  app.map("hello", () => "Hello");
  const route = app.route("/", () => "declared");
  const writes: Record<string, () => unknown> = {
    set: () => app.set("name", 1),
    clear: () => app.clear("name"),
    map: () => app.map("other", () => {}),
    register: () => app.register("thing", Map),
    before: () => app.before("hello", () => {}),
    after: () => app.after("hello", () => {}),
    route: () => app.route("/late", () => "late"),
    group: () => app.group("/late", (router) => void router.get("/", () => "")),
    mount: () => app.mount("/late", () => new Response()),
    path: () => app.path("./classes"),
    addMiddleware: () => route.addMiddleware(() => {}),
    streamed: () => route.streamed(),
    bodyLimit: () => route.bodyLimit(1),
    "view().clear": () => app.view().clear(),
    "view().set": () => app.view().set("name", 1),
  };
  {
    await using _server = serve(app);
    for (const [name, write] of Object.entries(writes)) {
      assertThrows(write, Error, "configure()", name);
      app.configure(write);
    }
  }
  app.route("/again", () => "again"); // after the server has shut down
  assertEquals(await (await app.fetch("/again")).text(), "again");
});

Deno.test("the first request of a server of one's own ends declaring, and `init()` begins it anew", async () => {
  const app = new Engine();
  await app.fetch("/");
  app.route("/", () => "first"); // a request that the program makes ends nothing
  const options = { port: 0, hostname: "127.0.0.1", onListen() {} };
  {
    await using server = Deno.serve(options, app.fetch);
    const response = await fetch(`http://127.0.0.1:${server.addr.port}/`);
    assertEquals(await response.text(), "first");
    assertThrows(() => app.set("name", 1), Error, "configure()");
  }
  app.init();
  app.route("/", () => "second");
  assertEquals(await (await app.fetch("/")).text(), "second");
});

Deno.test("`configure()` changes the application from a handler and from outside, also later, and has no request inside", async () => {
  const app = new Engine();
  app.route("/count", async () => {
    await app.configure(async () => {
      assertThrows(() => app.request(), Error, "no request is being handled");
      await null;
      app.set("count", (app.get<number>("count") ?? 0) + 1);
    });
    return `${app.get("count")}`;
  });
  await using server = serve(app);
  assertEquals(await server.get("/count"), "1");
  assertEquals(await server.get("/count"), "2");
  app.configure(() => app.set("count", 10));
  assertEquals(await server.get("/count"), "11");
});

Deno.test("`configure()` returns what its work returns, and passes its error on", async () => {
  const app = new Engine();
  assertEquals(app.configure(() => 1), 1);
  assertEquals(await app.configure(() => Promise.resolve(2)), 2);
  const failing = () => Promise.reject(new RangeError("boom"));
  await assertRejects(() => app.configure(failing), RangeError, "boom");
});

Deno.test("`init()` is refused in `configure()` and while a server runs", async () => {
  const app = new Engine();
  assertThrows(() => app.configure(() => app.init()), Error, "configure()");
  await using _server = serve(app);
  assertThrows(() => app.init(), Error, "serving");
  assertThrows(() => app.configure(() => app.init()), Error, "serving");
});

Deno.test("`init()` and `start()` are refused while a request is handled", async () => {
  const app = new Engine();
  app.route("/", () => [
    assertThrows(() => app.init(), Error).message,
    assertThrows(() => app.start(), Error).message,
  ]);
  assertEquals(await (await visit(app, "/")).json(), [
    "Cannot initialize in a request, in configure() or while it is serving",
    "Cannot start the server in a request, or while it is listening",
  ]);
});

Deno.test("`Framework.app()` takes no other engine while the one behind it serves", async () => {
  const before = Framework.app();
  {
    await using _server = serve(Framework.app(new Engine()));
    const replace = () => Framework.app(new Engine());
    assertThrows(replace, Error, "is serving");
  }
  assertStrictEquals(Framework.app(before), before);
});
