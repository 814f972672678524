/** What a request sets is its own: who is current in every kind of work, and what leaks to nobody. */

import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Engine, HttpRequest } from "@framework/core";
import { assertIsolated } from "@framework/core/testing";
import { AsyncLocalStorage } from "node:async_hooks";
import { EventEmitter } from "node:events";
import { busyText, declareBusy } from "./busy.ts";
import { call, onBothForms, onEngine, visit } from "./forms.ts";
import { logOf } from "./log.ts";
import { ServerProcess } from "./server_child.ts";

const sleep = (milliseconds = 0): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Calls back from a place that belongs to no request, and to no other request either. */
const elsewhere = new AsyncLocalStorage<unknown>();
const outside = AsyncLocalStorage.snapshot();

/** A thenable that is no promise, and calls back from outside. */
function thenable<Value>(make: () => Value): PromiseLike<Value> {
  return {
    then(resolve: (value: Value) => unknown) {
      outside(() => setTimeout(() => resolve(make())));
    },
  } as PromiseLike<Value>;
}

/** Every kind of handler and work in which the current request must be found. */
const kinds: Record<string, (who: () => string) => unknown> = {
  "a synchronous function": (who) => who(),
  "an asynchronous function": async (who) => (await undefined, who()),
  "several awaits": async (who) => {
    for (let turn = 0; turn < 3; turn++) await sleep();
    return who();
  },
  "a plain function that returns a promise": (who) => sleep().then(who),
  "a plain function that returns a foreign thenable": (who) => {
    const before = who();
    return thenable(() => before);
  },
  "what follows an awaited foreign thenable": async (who) => (
    await thenable(() => 1), who()
  ),
  "a timer": (who) =>
    new Promise((resolve) => setTimeout(() => resolve(who()))),
  "an interval": (who) =>
    new Promise((resolve) => {
      const timer = setInterval(() => {
        clearInterval(timer);
        resolve(who());
      });
    }),
  "queueMicrotask": (who) =>
    new Promise((resolve) => queueMicrotask(() => resolve(who()))),
  "process.nextTick": (who) =>
    new Promise((resolve) =>
      import("node:process").then(({ nextTick }) =>
        nextTick(() => resolve(who()))
      )
    ),
  "an event listener": (who) => {
    const target = new EventTarget();
    let found = "";
    target.addEventListener("ask", () => found = who());
    target.dispatchEvent(new Event("ask"));
    return found;
  },
  "an emitter's listener after an await": async (who) => {
    const emitter = new EventEmitter();
    let found = "";
    emitter.on("ask", () => found = who());
    await sleep();
    emitter.emit("ask");
    return found;
  },
  "a bound callback, called from outside": (who) => {
    const bound = AsyncLocalStorage.bind(who);
    return new Promise((resolve) =>
      outside(() => setTimeout(() => resolve(bound())))
    );
  },
  "a snapshot, called from outside": async (who) => {
    const snapshot = AsyncLocalStorage.snapshot();
    return await outside(() => sleep().then(() => snapshot(who)));
  },
  "a promise that another context resolves": async (who) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    outside(() => setTimeout(resolve));
    await promise;
    return who();
  },
  "an aborted signal": async (who) => {
    const controller = new AbortController();
    let found = "";
    controller.signal.addEventListener("abort", () => found = who());
    await sleep();
    controller.abort();
    return found;
  },
  "Promise.all": async (who) =>
    (await Promise.all([sleep().then(who), who()]))[0],
  "an asynchronous generator": async (who) => {
    async function* names() {
      await sleep();
      yield who();
    }
    for await (const name of names()) return name;
  },
  "a generator that is kept over an await": async (who) => {
    const names = (function* () {
      yield "";
      yield who();
    })();
    names.next();
    await sleep();
    return names.next().value;
  },
  "reading a file": async (who) => {
    await Deno.stat(new URL(import.meta.url));
    return who();
  },
  "a dynamic import": async (who) => {
    await import("./fixtures/classes/greeting.ts");
    return who();
  },
  "a stream that is pulled": (who) =>
    new ReadableStream<string>({
      async pull(controller) {
        await sleep();
        controller.enqueue(who());
        controller.close();
      },
    }, { highWaterMark: 0 }),
  "an asynchronous iterable as the body": async function* (who) {
    await sleep();
    yield who();
  },
  "a returned Response with a stream": (who) =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          await sleep();
          controller.enqueue(new TextEncoder().encode(who()));
          controller.close();
        },
      }, { highWaterMark: 0 }),
    ),
  "another storage's context": (who) =>
    elsewhere.run({}, async () => {
      await sleep();
      return who();
    }),
};

for (const [kind, work] of Object.entries(kinds)) {
  onEngine(`the current request is found in ${kind}`, async (app) => {
    app.route("/@name", (name) => {
      app.set("name", name);
      return work(() => app.get<string>("name") + app.request().url);
    });
    const names = ["ada", "grace", "edsger", "barbara"];
    const texts = await Promise.all(names.map(async (name) => {
      const response = await outside(() => visit(app, `/${name}`));
      return await outside(() => response.text());
    }));
    assertEquals(texts, names.map((name) => `${name}/${name}`));
  });
}

onEngine(
  "filters, middleware, methods, classes and pages see the request they run for",
  async (app) => {
    const seen: string[] = [];
    const see = (place: string) => async () => {
      await sleep();
      seen.push(`${place} ${app.request().url}`);
    };
    app.before("start", see("before"));
    app.after("start", see("after"));
    app.map("work", see("method"));
    app.register("thing", class {}, [], see("callback"));
    app.map("error", see("error"));
    app.get("/@name", async () => {
      await call(app, "work");
      call(app, "thing", false);
      app.defer(see("deferred"));
      await sleep(2);
      throw new Error();
    }).addMiddleware(see("middleware"));
    await Promise.all([visit(app, "/a"), visit(app, "/b")]);
    const places = [
      "before",
      "middleware",
      "method",
      "callback",
      "error",
      "deferred",
    ];
    for (let turn = 0; turn < 1_000; turn++) {
      if (seen.length === 2 * places.length) break;
      await sleep();
    }
    for (const url of ["/a", "/b"]) {
      const own = seen.filter((line) => line.endsWith(url));
      assertEquals(own, places.map((place) => `${place} ${url}`));
    }
  },
);

onEngine(
  "a bound callback finds its own request inside another one",
  async (app) => {
    let ask = (): unknown => undefined;
    app.route("/outer", () => {
      app.set("name", "outer");
      ask = AsyncLocalStorage.bind(() => app.get("name"));
      return visit(app, "/inner").then(async (inner) =>
        `${await inner.text()}, ${app.get("name")}`
      );
    });
    app.route("/inner", () => {
      app.set("name", "inner");
      return `${ask()} and ${app.get("name")}`;
    });
    const response = await visit(app, "/outer");
    assertEquals(await response.text(), "outer and inner, outer");
  },
);

onEngine(
  "a request inside a request of another engine sees both",
  async (app) => {
    const inner = new Engine();
    inner.route("/@name", async (name) => {
      inner.set("name", name);
      await sleep();
      return `${inner.get("name")} in ${app.get("name")}`;
    });
    app.route("/@name", async (name) => {
      app.set("name", name);
      const response = await inner.fetch(new Request("http://localhost/inner"));
      return `${await response.text()}, ${app.get("name")}, ${
        inner.get("name")
      }`;
    });
    const response = await visit(app, "/outer");
    assertEquals(await response.text(), "inner in outer, outer, undefined");
  },
);

onEngine(
  "work that outlives its request gets an error, whatever runs then",
  async (app) => {
    const late = Promise.withResolvers<unknown>();
    app.route("/first", () => {
      app.set("name", "first");
      sleep(2).then(() => app.get("name")).then(late.reject, late.resolve);
      return "first";
    });
    app.route("/second", async () => {
      app.set("name", "second");
      await sleep(6);
      return "second";
    });
    await Promise.all([visit(app, "/first"), visit(app, "/second")]);
    assertEquals(
      String(await late.promise),
      "EndedError: Cannot use the framework here: the request this work belongs to has ended",
    );
  },
);

onEngine("a stream keeps its request until it ends", async (app) => {
  let ask = (): unknown => undefined;
  app.route("/", () => {
    app.set("name", "streamed");
    ask = AsyncLocalStorage.bind(() => app.get("name"));
    return new ReadableStream({
      async pull(controller) {
        await sleep();
        controller.close();
      },
    }, { highWaterMark: 0 });
  });
  const response = await visit(app, "/");
  assertEquals(ask(), "streamed");
  await response.text();
  await sleep();
  assertThrows(() => ask(), Error, "has ended");
});

onBothForms(
  "`request()` outside a request is an error that names the call",
  (app) => {
    assertThrows(
      () => app.request(),
      Error,
      "Cannot call request() here: no request is being handled",
    );
  },
);

onEngine(
  "1,000 interleaved requests get the responses that they get one after the other",
  async (app) => {
    declareBusy(app);
    const paths = Array.from(
      { length: 1000 },
      (_, seed) => `/user${seed}/${seed}`,
    );
    assertEquals(
      await (await visit(app, paths[5]!)).text(),
      busyText("user5", 5),
    );
    await assertIsolated(app, paths, { rounds: 1 });
    assertEquals([app.has("name"), app.view().has("title")], [false, false]);
    assertEquals(call(app, "who", "hello"), "hello nobody");
    assertEquals(call(app, "box").name, "shared");
    assertEquals(app.router().routes().length, 1);
    assertThrows(() => app.getUrl("own"), ReferenceError);
  },
);

onEngine(
  "a method mapped in a request is known in that request alone",
  async (app) => {
    app.route("/map", async () => {
      app.map("greet", () => "hello");
      await sleep();
      return call(app, "greet");
    });
    const mapped = visit(app, "/map");
    assertThrows(() => call(app, "greet"), TypeError);
    assertEquals(await (await mapped).text(), "hello");
    assertThrows(() => call(app, "greet"), TypeError);
    assertEquals(Object.hasOwn(app, "greet"), false);
  },
);

onEngine(
  "a default method mapped in a request is another's default still",
  async (app) => {
    app.route("/own", () => {
      app.map("notFound", () => "mine");
      return app.notFound();
    });
    assertEquals(await (await visit(app, "/own")).text(), "mine");
    assertEquals(
      (await (await visit(app, "/none")).text()).includes("mine"),
      false,
    );
  },
);

onEngine(
  "a filter added in a request runs behind the application's, there alone",
  async (app) => {
    app.map("list", () => "");
    const add = (text: string) =>
      app.after("list", (_params, output) => void (output.value += text));
    add("a");
    app.route("/", () => {
      add("b");
      return call(app, "list");
    });
    assertEquals(await (await visit(app, "/")).text(), "ab");
    assertEquals(await (await visit(app, "/")).text(), "ab");
    assertEquals(call(app, "list"), "a");
  },
);

onEngine(
  "a class registered in a request has its instances there alone",
  async (app) => {
    const made: string[] = [];
    class Cart {
      constructor(readonly name: string) {
        made.push(name);
      }
    }
    app.route("/@name", async (name) => {
      app.register("cart", Cart, [name]);
      const cart = call(app, "cart");
      await sleep();
      return `${call(app, "cart").name} ${call(app, "cart") === cart}`;
    });
    const texts = await Promise.all(
      ["ada", "grace"].map(async (name) =>
        (await visit(app, `/${name}`)).text()
      ),
    );
    assertEquals(texts, ["ada true", "grace true"]);
    assertEquals(made, ["ada", "grace"]);
    assertThrows(() => call(app, "cart"), TypeError);
  },
);

onEngine(
  "a shared instance made in a request cannot keep that request",
  async (app) => {
    class Pool {
      readonly failure = String(new Error());
      constructor() {
        this.failure = app.has("name")
          ? "saw a request"
          : assertThrows(() => app.request(), Error).message;
      }
    }
    app.register("pool", Pool);
    app.route("/", () => {
      app.set("name", "ada");
      return call(app, "pool").failure;
    });
    const text = await (await visit(app, "/")).text();
    assertStringIncludes(text, "no request is being handled");
    assertStrictEquals(call(app, "pool"), call(app, "pool"));
  },
);

onEngine(
  "a route declared in a request is matched in that request alone",
  async (app) => {
    app.before("start", () => {
      const { user } = app.request().query;
      if (typeof user === "string") app.route(`/${user}`, () => `only ${user}`);
    });
    assertEquals(await (await visit(app, "/ada?user=ada")).text(), "only ada");
    assertEquals((await visit(app, "/ada")).status, 404);
  },
);

onEngine(
  "a folder added in a request is searched in that request alone",
  async (app) => {
    app.register("greeting", "Greeting");
    app.route("/", async () => {
      app.path(new URL("fixtures/classes", import.meta.url));
      return (await call(app, "greeting", false)).hello("Ada");
    });
    assertEquals(await (await visit(app, "/")).text(), "Hello, Ada!");
    await assertRejects(() => call(app, "greeting"), ReferenceError);
  },
);

Deno.test("an engine is usable where a module load left an ended request behind", async () => {
  const app = new Engine();
  app.route("/import", async () => {
    await import(
      `data:text/javascript,${crypto.randomUUID()}`.replace(",", ",//")
    );
    return "imported";
  });
  app.route("/", () => "plain");
  let before = (): void => {};
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request, info) => {
      before();
      return app.fetch(request, info);
    },
  );
  const get = async (path: string) =>
    await (await fetch(`http://127.0.0.1:${server.addr.port}${path}`)).text();
  assertEquals(await get("/import"), "imported");
  assertEquals(await get("/"), "plain");
  before = () => app.configure(() => app.set("name", "application"));
  assertEquals(await get("/"), "plain");
  assertEquals(app.get("name"), "application");
  await server.shutdown();
});

Deno.test("a request that late work makes belongs to none", async () => {
  const [outer, inner] = [new Engine(), new Engine()];
  const gate = Promise.withResolvers<void>();
  let late: Promise<Response> | undefined;
  inner.route("/", () => inner.request().id);
  outer.route("/", () => {
    late = gate.promise.then(() => inner.fetch("/"));
    return outer.request().id;
  });
  const id = await (await outer.fetch("/")).text();
  gate.resolve();
  const lateId = await (await late!).text();
  assertEquals([id, lateId].includes(""), false);
  assertEquals(id === lateId, false);
});

Deno.test("a request that outlives the one around it finds that no more", async () => {
  const [outer, inner] = [new Engine(), new Engine()];
  const gate = Promise.withResolvers<void>();
  let late: Promise<Response> | undefined;
  inner.set("framework.handle_errors", false);
  inner.route("/", async () => {
    await gate.promise;
    return outer.request().url;
  });
  outer.route("/", () => {
    late = Promise.resolve(inner.fetch("/"));
    return "done";
  });
  await (await outer.fetch("/")).text();
  gate.resolve();
  await assertRejects(() => late!, Error, "has ended");
});

Deno.test("a request may turn its 404 into a 405", async () => {
  const app = new Engine();
  app.route("POST /", () => "posted");
  app.before("start", () => {
    const isStrict = "strict" in app.request().query;
    if (isStrict) app.set("framework.method_not_allowed", true);
  });
  assertEquals((await app.fetch("/?strict")).status, 405);
  assertEquals((await app.fetch("/")).status, 404);
});

Deno.test("the callback of the registered class `HttpRequest` gets each request", async () => {
  const app = new Engine();
  const seen: string[] = [];
  app.register("request", HttpRequest, [], ({ url }) => void seen.push(url));
  app.route("/*", () => app.request().url);
  for (const path of ["/a", "/b"]) {
    assertEquals(await (await app.fetch(path)).text(), path);
  }
  assertEquals(seen, ["/a", "/b"]);
});

Deno.test("a group of one request is not that of another, where an import in it leaves its context behind", async () => {
  const app = new Engine();
  const imported: Promise<unknown>[] = [];
  app.before("start", () => {
    const isFirst = app.request().url === "/first";
    if (!isFirst) return void app.route("/own", () => "own");
    app.group("/group", () => {
      const source = `data:text/javascript,export default ${Math.random()}`;
      for (let n = 0; n < 8; n++) imported.push(import(`${source}${n}`));
    });
  });
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    app.fetch,
  );
  const origin = `http://127.0.0.1:${server.addr.port}`;
  const statuses: number[] = [];
  for (const path of ["/first", ...Array(10).fill("/own")]) {
    const response = await fetch(origin + path);
    await response.body?.cancel();
    statuses.push(response.status);
  }
  await Promise.all(imported);
  await server.shutdown();
  assertEquals(statuses, [404, ...Array(10).fill(200)]);
});

Deno.test("the error of a `configure()` that nobody awaits is logged", async () => {
  const app = new Engine();
  const work = async () => {
    await null;
    throw new Error("boom");
  };
  app.route("/", () => {
    app.configure(work);
    return "done";
  });
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const lines = await logOf(async () => {
    const response = await fetch(`http://127.0.0.1:${port}/`);
    assertEquals(await response.text(), "done");
    await server.shutdown();
  });
  assertEquals(lines.length, 1, lines.join("\n"));
  assertStringIncludes(lines[0]!, "Error: boom");
});

Deno.test("`configure()` rejects with the error of its work, for its caller alone", async () => {
  const app = new Engine();
  const work = async () => {
    await null;
    throw new Error("boom");
  };
  await assertRejects(() => app.configure(work), Error, "boom");
  await sleep();
});

Deno.test("a request may say how its own path is read", async () => {
  const app = new Engine();
  app.before("start", () => void app.set("framework.case_sensitive", true));
  app.route("/about", () => "about");
  assertEquals((await app.fetch("/about")).status, 200);
  assertEquals((await app.fetch("/ABOUT")).status, 404);
});

Deno.test("the first request that turns `framework.debug` on, for itself, has its error whole in the log", async () => {
  const app = new Engine();
  app.map("error", () => "sorry");
  app.route("/", () => {
    app.set("framework.debug", true);
    throw new Error("boom");
  });
  const log = await logOf(async () => {
    assertEquals((await app.fetch("/")).status, 500);
  });
  assertStringIncludes(log.join("\n"), "\n    at ");
});

Deno.test("requests that are over leave nothing in memory", async () => {
  const source = `
    import { Engine } from "@framework/core";
    const app = new Engine();
    app.map("json", async (data) => {
      await null;
      app.response().write(JSON.stringify(data));
    });
    app.route("/late", () => app.json({ a: 1 }));
    app.route("/text", () => "text");
    const used = async (count) => {
      for (; count > 0; count--) {
        for (const path of ["/late", "/text"]) {
          await (await app.fetch(path)).text();
        }
      }
      await new Promise((resolve) => setTimeout(resolve));
      globalThis.gc();
      return Deno.memoryUsage().heapUsed;
    };
    const before = await used(500);
    console.log("grown by " + (await used(3_000) - before) + " bytes");
  `;
  const command = ["run", "--v8-flags=--expose-gc"];
  await using child = await ServerProcess.start(source, { command });
  const [, bytes] = await child.prints(/grown by (-?\d+) bytes/);
  assert(Number(bytes) < 2 ** 20, bytes);
});

Deno.test("calls that come after the response leave nothing in memory while a stream goes on", async () => {
  const source = `
    import { Engine } from "@framework/core";
    const app = new Engine();
    const names = ["halt", "stop", "error", "notFound", "redirect", "json", "render"];
    for (const name of names) app.before(name, () => {});
    app.map("render", () => {});
    const used = async (count) => {
      for (; count > 0; count--) {
        for (const name of names) {
          try {
            await app[name](name === "error" ? new Error("late") : "200");
          } catch { /* the signal of halt and stop */ }
        }
      }
      await new Promise((resolve) => setTimeout(resolve));
      globalThis.gc();
      return Deno.memoryUsage().heapUsed;
    };
    app.route("/", async function* () {
      const before = await used(200);
      yield "grown by " + (await used(3_000) - before) + " bytes";
    });
    console.error = () => {};
    console.log(await (await app.fetch("/")).text());
  `;
  const command = ["run", "--v8-flags=--expose-gc"];
  await using child = await ServerProcess.start(source, { command });
  const [, bytes] = await child.prints(/grown by (-?\d+) bytes/);
  assert(Number(bytes) < 2 ** 20, bytes);
});
