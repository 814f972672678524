/**
 * Tests the difference between declaring and serving: once a server serves, what belongs to no request
 * cannot change the application, whichever callback of the runtime it comes from.
 */

import {
  assert,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Engine, Framework, type Route } from "@framework/core";
import { cors } from "@framework/core/cors";
import { guard } from "@framework/core/guard";
import { log } from "@framework/core/log";
import { sessions } from "@framework/core/sessions";
import { telemetry } from "@framework/core/telemetry";
import { EventEmitter } from "node:events";
import * as net from "node:net";
import { nextTick } from "node:process";
import { promisify } from "node:util";
import { onBothForms, visit } from "./forms.ts";

type Done = () => void;

/** Waits in one way and calls back; `world` lives outside of every request. */
type Kind = (
  done: Done,
  world: { target: EventTarget; emitter: EventEmitter; port: number },
) => unknown;

const KINDS: Readonly<Record<string, Kind>> = {
  "a call": (done) => done(),
  "a promise": (done) => Promise.resolve().then(done),
  "a rejected promise": (done) => Promise.reject(new Error()).catch(done),
  "`finally`": (done) => Promise.resolve().finally(done),
  "`await` in an async function": async (done) => {
    await null;
    done();
  },
  "`await` of a thenable": async (done) => {
    await { then: (resolve: Done) => resolve() };
    done();
  },
  "`Promise.all`": (done) => Promise.all([1, 2]).then(done),
  "`Promise.withResolvers`, resolved by a timer": (done) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    setTimeout(resolve);
    return promise.then(done);
  },
  "`queueMicrotask`": (done) => queueMicrotask(done),
  "`process.nextTick`": (done) => nextTick(done),
  "`setTimeout`": (done) => setTimeout(done),
  "`setInterval`": (done) => {
    const timer = setInterval(() => {
      clearInterval(timer);
      done();
    });
  },
  "`setImmediate`": (done) => setImmediate(done),
  "a promisified timer": (done) => promisify(setTimeout)(1).then(done),
  "an async generator": async (done) => {
    for await (const _ of words()) done();
  },
  "`Array.fromAsync`": (done) => Array.fromAsync(words()).then(done),
  "`AbortSignal.timeout`": (done) =>
    AbortSignal.timeout(1).addEventListener("abort", done),
  "`AbortSignal.any`": (done) =>
    AbortSignal.any([AbortSignal.timeout(1)]).addEventListener("abort", done),
  "an aborted controller": (done) => {
    const controller = new AbortController();
    controller.signal.addEventListener("abort", done);
    setTimeout(() => controller.abort());
  },
  "an `EventTarget` of its own": (done) => {
    const target = new EventTarget();
    target.addEventListener("event", done);
    setTimeout(() => target.dispatchEvent(new Event("event")));
  },
  "an `EventTarget` fired from outside": (done, { target }) =>
    target.addEventListener("event", done, { once: true }),
  "an `EventEmitter` of its own": (done) => {
    const emitter = new EventEmitter();
    emitter.once("event", done);
    setTimeout(() => emitter.emit("event"));
  },
  "an `EventEmitter` fired from outside": (done, { emitter }) =>
    emitter.once("event", done),
  "a `MessageChannel`": (done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      port2.close();
      done();
    };
    port2.postMessage("");
  },
  "a `BroadcastChannel`": (done) => {
    const [one, other] = [1, 2].map(() => new BroadcastChannel("declaring"));
    one!.onmessage = () => {
      one!.close();
      other!.close();
      done();
    };
    other!.postMessage("");
  },
  "`data` of `node:net`": (done, { port }) => {
    const socket = net.connect(port, "127.0.0.1");
    socket.on("data", () => {
      socket.destroy();
      done();
    });
  },
  "`connect` of `node:net`": (done, { port }) => {
    const socket = net.connect(port, "127.0.0.1", () => {
      socket.destroy();
      done();
    });
  },
  "`Deno.connect`": async (done, { port }) => {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port });
    await connection.read(new Uint8Array(1));
    done();
  },
  "a file": (done) => Deno.stat(".").then(done),
  "`crypto.subtle`": (done) =>
    crypto.subtle.digest("SHA-256", new Uint8Array()).then(done),
  "the `pull` of a stream": async (done) => {
    const stream = new ReadableStream({
      pull(controller) {
        done();
        controller.close();
      },
    }, { highWaterMark: 0 });
    await stream.pipeTo(new WritableStream());
  },
  "a `TransformStream`": async (done) => {
    const transform = new TransformStream({ transform: () => done() });
    await ReadableStream.from(["a"]).pipeThrough(transform)
      .pipeTo(new WritableStream());
  },
  "a dynamic import": (done) =>
    import(`data:text/javascript,//${crypto.randomUUID()}`).then(done),
};

async function* words(): AsyncGenerator<string> {
  await null;
  yield "word";
}

Deno.test("what a request sets never reaches the application, whatever calls it", async () => {
  const world = {
    target: new EventTarget(),
    emitter: new EventEmitter(),
    port: 0,
  };
  const peer = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  world.port = (peer.addr as Deno.NetAddr).port;
  const greeting = (async () => {
    for await (const connection of peer) {
      await connection.write(new Uint8Array([1])).catch(() => {});
      connection.close();
    }
  })();
  const app = new Engine();
  app.route("/set/@kind", async (kind) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    KINDS[kind]!(() => {
      try {
        app.set("user", kind);
        resolve(app.get("user") === kind ? "kept" : "lost");
      } catch (error) {
        resolve((error as Error).message);
      }
    }, world);
    return await promise;
  });
  app.route("/who", () => String(app.get("user")));
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const get = async (path: string): Promise<string> =>
    await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
  const ticker = setInterval(() => {
    world.target.dispatchEvent(new Event("event"));
    world.emitter.emit("event");
  }, 5);
  const outcomes: Record<string, string> = {};
  for (const kind of Object.keys(KINDS)) {
    const text = await get(`/set/${encodeURIComponent(kind)}`);
    outcomes[kind] = text;
    assert(
      text === "kept" || text.includes("configure()") ||
        text.includes("has ended"),
      `${kind}: ${text}`,
    );
    assertEquals(await get("/who"), "undefined", kind);
  }
  clearInterval(ticker);
  const kept = Object.values(outcomes).filter((text) => text === "kept");
  assert(kept.length >= 25, JSON.stringify(outcomes, null, 2));
  await server.shutdown();
  peer.close();
  await greeting;
  assertEquals(app.get("user"), undefined);
});

Deno.test("a write that belongs to no request throws while the application serves", async () => {
  const app = new Engine();
  app.map("hello", () => "Hello");
  const route = app.route("/declared", () => "declared");
  const server = app.start({ port: 0, signals: false, onListen() {} });
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
    "view().clear": () => app.view().clear(),
    "view().set": () => app.view().set("name", 1),
    init: () => app.init(),
  };
  for (const [name, write] of Object.entries(writes)) {
    const error = assertThrows(write, Error, "configure()", name);
    assertEquals(error instanceof TypeError, false);
    app.configure(name === "init" ? () => {} : write);
  }
  await server.shutdown();
  app.route("/again", () => "again");
  const response = await app.fetch(new Request("http://localhost/again"));
  assertEquals(await response.text(), "again");
});

Deno.test("a request changes its own routes, and none of the application's", async () => {
  const app = new Engine();
  const shared = app.route("/", () => "shared");
  const change = (route: Route): unknown => route.addMiddleware(() => false);
  app.before("start", () => {
    assertThrows(() => change(shared), Error, 'Cannot change the route "/"');
    assertThrows(() => shared.streamed(), Error, 'Cannot change the route "/"');
    change(app.route("/own", () => "own"));
  });
  const own = await app.fetch(new Request("http://localhost/own"));
  assertEquals(own.status, 403);
  const response = await app.fetch(new Request("http://localhost/"));
  assertEquals(await response.text(), "shared");
  change(shared);
  assertEquals(
    (await app.fetch(new Request("http://localhost/"))).status,
    403,
  );
});

Deno.test("a served request changes no other application, unless it has made that one itself", async () => {
  const [app, other] = [new Engine(), new Engine()];
  app.mount("/other", other);
  other.route("/", () => `${other.get("user")}`);
  app.route("/login/@user", (user) => {
    assertThrows(() => other.set("user", user), Error, "configure()");
    other.configure(() => other.set("visits", 1));
    const own = new Engine();
    own.set("user", user);
    return `${own.get("user")}`;
  });
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const get = async (path: string): Promise<string> =>
    await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
  assertEquals(await get("/login/ada"), "ada");
  assertEquals(await get("/other"), "undefined");
  assertEquals(other.get("visits"), 1);
  await server.shutdown();
});

Deno.test("`configure()` changes the application from a handler and from a timer, also later", async () => {
  const app = new Engine();
  app.route("/count", async () => {
    await app.configure(async () => {
      await null;
      app.set("count", (app.get<number>("count") ?? 0) + 1);
    });
    return `${app.get("count")}`;
  });
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const get = async (): Promise<string> =>
    await (await fetch(`http://127.0.0.1:${port}/count`)).text();
  assertEquals([await get(), await get()], ["1", "2"]);
  await new Promise<void>((resolve) =>
    setTimeout(() => {
      app.configure(() => app.set("count", 10));
      resolve();
    })
  );
  assertEquals(await get(), "11");
  await server.shutdown();
});

Deno.test("`configure()` has no request inside, and its work has an end", async () => {
  const app = new Engine();
  const late: unknown[] = [];
  app.route("/", async () => {
    app.configure(() => {
      assertThrows(() => app.request(), Error, "no request is being handled");
      setTimeout(() => {
        try {
          app.set("late", true);
        } catch (error) {
          late.push(error);
        }
      });
    });
    await new Promise((resolve) => setTimeout(resolve, 5));
    return "done";
  });
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const response = await fetch(`http://127.0.0.1:${port}/`);
  assertEquals(await response.text(), "done");
  await server.shutdown();
  assertStringIncludes(String(late), "belongs to none");
  assertEquals(app.has("late"), false);
});

Deno.test("`fetch()` of a request that the program made leaves the application open to changes", async () => {
  const app = new Engine();
  await app.fetch(new Request("http://localhost/"));
  app.route("/late", () => "late");
  const response = await app.fetch(new Request("http://localhost/late"));
  assertEquals(await response.text(), "late");
});

Deno.test("a server of the user's own closes the application to changes, also without connection info", async () => {
  const app = new Engine();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => app.fetch(request),
  );
  const { port } = server.addr;
  await (await fetch(`http://127.0.0.1:${port}/`)).text();
  assertThrows(() => app.set("name", 1), Error, "configure()");
  await server.shutdown();
});

Deno.test("`init()` begins anew after a server of the user's own has shut down, as the message says", async () => {
  const app = new Engine();
  app.route("/", () => "first");
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    app.fetch,
  );
  const { port } = server.addr;
  await (await fetch(`http://127.0.0.1:${port}/`)).text();
  await server.shutdown();
  assertThrows(() => app.set("name", 1), Error, "init()");
  app.init();
  app.set("name", 1);
  app.route("/", () => "second");
  assertEquals(await (await app.fetch("/")).text(), "second");
});

Deno.test("`init()` throws while a server of `start()` runs, and inside a request", async () => {
  const app = new Engine();
  app.route("/", () => app.init());
  const server = app.start({ port: 0, signals: false, onListen() {} });
  assertThrows(() => app.init(), Error, "it has started serving");
  const around = () => app.configure(() => app.init());
  assertThrows(around, Error, "Cannot initialize inside configure()");
  await server.shutdown();
  const response = await app.fetch("/");
  assertStringIncludes(await response.text(), "a request is being handled");
});

Deno.test("`init()` that is refused in a request of another application leaves an application that serves", async () => {
  const [app, other] = [new Engine(), new Engine()];
  app.route("/", () => "text");
  other.route("/", () => {
    assertThrows(() => app.init(), Error, "it has started serving");
    return "refused";
  });
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  for (const { fetch: handler } of [app, other]) {
    await using server = Deno.serve(options, handler);
    const response = await fetch(`http://127.0.0.1:${server.addr.port}/`);
    assertEquals(
      await response.text(),
      handler === app.fetch ? "text" : "refused",
    );
  }
  assertThrows(() => app.set("name", 1), Error, "it has started serving");
});

Deno.test("`Framework.app()` takes no other engine while the one behind it serves", async () => {
  const before = Framework.app();
  const engine = Framework.app(new Engine());
  const server = engine.start({ port: 0, signals: false, onListen() {} });
  assertThrows(() => Framework.app(new Engine()), Error, "is serving");
  await server.shutdown();
  assertEquals(Framework.app(before), before);
});

Deno.test("`Framework.app()` says what to do after a server of one's own has shut down", async () => {
  const before = Framework.app();
  Framework.app(new Engine());
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const server = Deno.serve(
    options,
    Framework.fetch,
  );
  await (await fetch(`http://127.0.0.1:${server.addr.port}`)).text();
  await server.shutdown();
  assertThrows(
    () => Framework.app(before),
    Error,
    "if you called Deno.serve yourself, call Framework.init() once that server has shut down, " +
      "because the framework cannot detect it",
  );
  Framework.init();
  assertEquals(Framework.app(before), before);
});

Deno.test("an engine that is mounted serves as the one around it", async () => {
  const [app, inner] = [new Engine(), new Engine()];
  app.mount("/inner", inner);
  inner.route("/set", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    AbortSignal.timeout(1).addEventListener("abort", () => {
      try {
        inner.set("user", "ada");
      } catch (error) {
        resolve((error as Error).message);
      }
    });
    return await promise;
  });
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const response = await fetch(`http://127.0.0.1:${port}/inner/set`);
  assertStringIncludes(await response.text(), "configure()");
  await server.shutdown();
});

Deno.test("what a shared instance leaves running reads the application, and configures it", async () => {
  const app = new Engine();
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  class Rates {
    constructor() {
      setTimeout(() => {
        try {
          app.configure(() => app.set("rate", app.get("base")));
          resolve(app.get("rate"));
        } catch (error) {
          reject(error);
        }
      });
    }
  }
  app.set("base", 7);
  const made = app.register("rates", Rates);
  app.route("/", () => void made.rates());
  await app.fetch(new Request("http://localhost/"));
  assertEquals(await promise, 7);
});

Deno.test("`configure()` leaves a query that begins with `then()` to who awaits it", async () => {
  let begun = 0;
  const query = { then: (done: (rows: number) => void) => done(++begun) };
  assertEquals(await new Engine().configure(() => query), 1);
  assertEquals(begun, 1);
});

Deno.test("`configure()` of one engine within that of another one configures both", () => {
  const [outer, inner] = [new Engine(), new Engine()];
  const server = outer.start({ port: 0, signals: false, onListen() {} });
  outer.configure(() => inner.configure(() => outer.set("name", 1)));
  inner.configure(() => assertThrows(() => outer.set("name", 2), Error));
  assertEquals(outer.get("name"), 1);
  return server.shutdown();
});

const EXTENSIONS: Readonly<Record<string, (app: Engine) => unknown>> = {
  cors: (app) => cors(app, { origins: "*" }),
  guard: (app) => guard(app),
  log: (app) => log(app, { write: () => {} }),
  sessions: (app) => sessions(app, { secret: "s".repeat(32) }),
  telemetry: (app) => telemetry(app),
};

for (const [name, add] of Object.entries(EXTENSIONS)) {
  onBothForms(
    `\`${name}()\` refuses to be added in a request, with which it would end`,
    async (app) => {
      app.map("error", (error: Error) => error.message);
      app.route("/", () => void add(app as Engine));
      app.route(
        "/configured",
        () => app.configure(() => void add(app as Engine)),
      );
      const response = await visit(app, "/");
      assertEquals(
        await response.text(),
        `Cannot call ${name}() here: a request is being handled; call it once, where the application is declared`,
      );
      const path = "/configured";
      assertEquals((await visit(app, path)).status, 200);
    },
  );
}

Deno.test("`sessions()` in a request returns the session that was declared before", async () => {
  const app = new Engine();
  const options = { secret: "s".repeat(32) };
  sessions(app, options);
  app.route("/", () => {
    const session = sessions<{ count: number }>(app, options)();
    session.set("count", 2);
    return `${session.get("count")}`;
  });
  const response = await visit(app, "/");
  assertEquals(await response.text(), "2");
  assertEquals(response.headers.has("set-cookie"), true);
});
