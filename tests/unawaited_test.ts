/** Work that nobody awaits: what becomes of its output, its errors, and the process. */

import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { secondsOf } from "./clock.ts";
import {
  Engine,
  html,
  HttpError,
  HttpResponse,
  type UploadedFile,
  type View,
} from "@framework/core";
import { settled } from "@framework/core/testing";
import { call, limitTime, onBothForms, onEngine, visit } from "./forms.ts";
import { logOf } from "./log.ts";
import { ServerProcess } from "./server_child.ts";

const sleep = (milliseconds = 0): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

onEngine("calls that nobody awaits are waited for", async (app) => {
  app.map("save", async (text: string) => {
    await sleep(3);
    app.response().header("x-saved", text);
  });
  app.route("/", () => {
    call(app, "save", "yes");
    return "done";
  });
  const response = await visit(app, "/");
  assertEquals(response.headers.get("x-saved"), "yes");
  assertEquals(await response.text(), "done");
});

onEngine(
  "a call that nobody awaits and that fails is the error of whatever a callback returns",
  async (app) => {
    const cancelled: unknown[] = [];
    const returned: Readonly<Record<string, () => unknown>> = {
      text: () => "fine",
      object: () => ({ fine: true }),
      list: () => [1],
      instance: () => new Date(),
      response: () => new Response("fine"),
      stream: () =>
        new Response(
          new ReadableStream({ cancel: () => void cancelled.push(1) }),
        ),
    };
    for (const [name, make] of Object.entries(returned)) {
      const callback = () => {
        app.render("no-such-template");
        return make() as string;
      };
      app.route(`/${name}`, callback);
      app.route(`/async/${name}`, () => Promise.resolve(callback()));
      app.route(`/guarded/${name}`, callback).addMiddleware(() => {});
      app.route(`/passed/${name}`, () => true);
      app.route(`/passed/${name}`, callback);
    }
    for (const name of Object.keys(returned)) {
      for (const prefix of ["", "/async", "/guarded", "/passed"]) {
        const path = `${prefix}/${name}`;
        assertEquals((await visit(app, path)).status, 500, path);
      }
    }
    assertEquals(cancelled.length, 4);
  },
);

onEngine(
  "what a callback returns waits for the calls that it did not await, in their order",
  async (app) => {
    app.map("save", async () => {
      await sleep(3);
      app.response().header("x-saved", "yes");
    });
    app.route("/", () => {
      call(app, "save");
      return { done: true };
    });
    const response = await visit(app, "/");
    assertEquals(response.headers.get("x-saved"), "yes");
    assertEquals(await response.json(), { done: true });
  },
);

onEngine(
  "`validate()` that nobody awaits lets nothing invalid through",
  async (app) => {
    const schema = {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: async (value: unknown) => {
          await sleep(1);
          const isValid = Object(value).name === "Ada";
          return isValid ? { value } : { issues: [{ message: "unknown" }] };
        },
      },
    } as const;
    app.route("/forgotten", () => {
      app.request().validate(schema, "query");
      return "valid";
    });
    app.route("/caught", async () => {
      await app.request().validate(schema, "query").catch(() => {});
      return "caught";
    });
    const statuses = ["/forgotten", "/forgotten?name=Ada", "/caught"]
      .map(async (path) => (await visit(app, path)).status);
    assertEquals(await Promise.all(statuses), [422, 200, 200]);
  },
);

onEngine(
  "storing an upload that nobody awaits is waited for, and its failure is the request's",
  async (app) => {
    const folder = await Deno.makeTempDir();
    await Deno.writeTextFile(`${folder}/taken`, "");
    const photo = () => app.request().files.photo as UploadedFile;
    app.post("/forgotten/@name", (name) => {
      photo().moveTo(`${folder}/${name}`);
      return "stored";
    });
    app.post("/caught/@name", async (name) => {
      await photo().moveTo(`${folder}/${name}`).catch(() => {});
      return "caught";
    });
    app.map("error", (error: Error) => error.name);
    const sent = async (path: string) => {
      const body = new FormData();
      body.set("photo", new File(["pixels"], "me.png"));
      const response = await visit(app, path, { method: "POST", body });
      return [response.status, await response.text()];
    };
    assertEquals(await sent("/forgotten/free"), [200, "stored"]);
    assertEquals(await Deno.readTextFile(`${folder}/free`), "pixels");
    assertEquals(await sent("/forgotten/taken"), [500, "AlreadyExists"]);
    assertEquals(await sent("/caught/taken"), [200, "caught"]);
    await Deno.remove(folder, { recursive: true });
  },
);

onEngine(
  "a template that fails in `view().fetch()`, which nobody awaits, fails the request",
  async (app) => {
    app.set("framework.views.path", await Deno.makeTempDir());
    const view = () => call(app, "view") as View;
    app.get("/forgotten", () => {
      view().fetch("missing");
      return "rendered";
    });
    app.get("/caught", async () => {
      const text = view().fetch("missing");
      await sleep(1);
      return await text.catch(() => "caught");
    });
    app.map("error", (error: Error) => error.message.split(":")[0]);
    const texts = ["/forgotten", "/caught"]
      .map(async (path) => await (await visit(app, path)).text());
    assertEquals(await Promise.all(texts), [
      'Cannot find the template "missing"',
      "caught",
    ]);
  },
);

onEngine("calls that such calls make are waited for too", async (app) => {
  const log: string[] = [];
  app.map("outer", async () => {
    await sleep(1);
    call(app, "inner");
    log.push("outer");
  });
  app.map("inner", async () => {
    await sleep(1);
    log.push("inner");
  });
  app.route("/", () => void call(app, "outer"));
  await visit(app, "/");
  assertEquals(log, ["outer", "inner"]);
});

onBothForms(
  "the output of renders that nobody awaits lands in the order of the calls",
  async (app) => {
    app.map("render", async (text: string, { wait }: { wait: number }) => {
      await sleep(wait);
      app.response().write(text);
    });
    app.route("/", () => {
      app.render("1", { wait: 6 });
      app.response().write("2");
      app.render("3", { wait: 1 });
      app.render("4", { wait: 3 });
    });
    assertEquals(await (await visit(app, "/")).text(), "1234");
  },
);

onEngine(
  '`original("render")` that nobody awaits lands in its place, and fails the request',
  async (app) => {
    const folder = await Deno.makeTempDir({ prefix: "unawaited" });
    await Deno.writeTextFile(`${folder}/greeting.vto`, "Hello, {{ name }}");
    await Deno.writeTextFile(`${folder}/page.vto`, "<{{ text }}>");
    app.set("framework.views.path", folder);
    app.map("render", (file: string, ...rest: unknown[]) => {
      app.response().write("(");
      app.original("render")(file, ...rest);
      app.response().write(")");
    });
    app.route("/", () => {
      app.render("greeting", { name: "Ada" });
      app.response().write(" ");
      app.render("greeting", { name: "Bob" }, "text");
      app.render("page");
    });
    app.route("/missing", () => void app.render("missing"));
    const response = await visit(app, "/");
    assertEquals(await response.text(), "(Hello, Ada) ()(<Hello, Bob>)");
    assertEquals((await visit(app, "/missing")).status, 500);
    await Deno.remove(folder, { recursive: true });
  },
);

onEngine(
  '`original("notFound")` that nobody awaits is the page, also under debug',
  async (app) => {
    app.set("framework.debug", true);
    app.map("notFound", () => void app.original("notFound")());
    const response = await visit(app, "/");
    assertEquals(response.status, 404);
    assertStringIncludes(await response.text(), "<h1>404 Not Found</h1>");
  },
);

onEngine(
  "a rejection that nobody takes is the request's error",
  async (app) => {
    app.map("save", async () => {
      await sleep(1);
      throw new RangeError("disk full");
    });
    app.map("error", (error: Error) => `${error.name}: ${error.message}`);
    app.route("/", () => {
      call(app, "save");
      return "saved";
    });
    const response = await visit(app, "/");
    assertEquals(response.status, 500);
    assertEquals(await response.text(), "RangeError: disk full");
  },
);

onEngine(
  "a rejection that was awaited and caught is no error",
  async (app) => {
    app.map("save", async () => {
      await sleep(1);
      throw new RangeError("disk full");
    });
    app.route("/caught", async () => {
      const saving = call(app, "save");
      await sleep(3);
      return await saving.catch((error: Error) => `caught ${error.message}`);
    });
    app.route("/later", () => {
      call(app, "save").catch(() => {});
      return "fine";
    });
    assertEquals(
      await (await visit(app, "/caught")).text(),
      "caught disk full",
    );
    assertEquals(await (await visit(app, "/later")).text(), "fine");
  },
);

onEngine(
  "the rejection of one request is no other request's",
  async (app) => {
    app.map("save", async (name: string) => {
      await sleep(1);
      if (name === "bad") throw new Error("failed");
    });
    app.route("/@name", async (name) => {
      call(app, "save", name);
      await sleep(4);
      return name;
    });
    const names = ["good", "bad", "fine"];
    const responses = await Promise.all(
      names.map((name) => visit(app, `/${name}`)),
    );
    assertEquals(responses.map(({ status }) => status), [200, 500, 200]);
  },
);

onEngine(
  "a promise of the application's own counts, while the request lasts",
  async (app) => {
    app.map("error", (error: Error) => error.message);
    app.route("/", async () => {
      (async () => {
        await undefined;
        throw new Error("in the background");
      })();
      await sleep(3);
      return "done";
    });
    const response = await visit(app, "/");
    assertEquals([response.status, await response.text()], [
      500,
      "in the background",
    ]);
  },
);

onEngine(
  "an error in a microtask or a listener is the request's too",
  async (app) => {
    app.map("error", (error: Error) => error.message);
    const explode = () => {
      throw new Error("out of reach");
    };
    app.route("/microtask", async () => {
      queueMicrotask(explode);
      await sleep(2);
    });
    app.route("/listener", async () => {
      const target = new EventTarget();
      target.addEventListener("go", explode);
      target.dispatchEvent(new Event("go"));
      await sleep(2);
    });
    for (const path of ["/microtask", "/listener"]) {
      const response = await visit(app, path);
      assertEquals([response.status, await response.text()], [
        500,
        "out of reach",
      ]);
    }
  },
);

onEngine(
  "a rejection after the response is a line in the log",
  async (app) => {
    app.route("/", () => {
      sleep(1).then(() => {
        throw new RangeError("too late");
      });
      return "sent";
    });
    const log = await logOf(async () => {
      assertEquals(await (await visit(app, "/")).text(), "sent");
      await sleep(5);
    });
    assertEquals(log.length, 1);
    assertMatch(
      log[0]!,
      /^Error in work that was not awaited: RangeError: too late/,
    );
  },
);

onEngine(
  "a timer that calls the framework after the response is a line in the log",
  async (app) => {
    app.route("/", () => {
      setTimeout(() => app.get("name"), 2);
      return "sent";
    });
    const log = await logOf(async () => {
      await visit(app, "/");
      await sleep(6);
    });
    assertEquals(log.length, 1);
    assertStringIncludes(log[0]!, "the request this work belongs to has ended");
  },
);

onEngine(
  "`halt()` in work that nobody awaits ends the request, and is no error",
  async (app) => {
    app.map("check", async () => {
      await sleep(1);
      app.halt(403, "no");
    });
    app.route("/method", () => void call(app, "check"));
    app.route("/timer", async () => {
      setTimeout(() => app.halt(403, "no"), 1);
      await sleep(5);
      return "yes";
    });
    const log = await logOf(async () => {
      for (const path of ["/method", "/timer"]) {
        const response = await visit(app, path);
        assertEquals([response.status, await response.text()], [403, "no"]);
      }
    });
    assertEquals(log, []);
  },
);

onEngine(
  "waiting ends after `framework.wait_timeout`, and what did not settle is named",
  async (app) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    app.map("dawdle", () => promise);
    app.map("finish", () => sleep(2_000));
    app.route("/", () => {
      call(app, "dawdle");
      call(app, "finish");
      return "sent";
    });
    let waited = 0;
    const log = await logOf(async () => {
      waited = await secondsOf(async () =>
        assertEquals(await (await visit(app, "/")).text(), "sent")
      );
    });
    resolve();
    assertEquals(waited, 10);
    assertEquals(log, [
      "Sent the response without waiting for: dawdle (over 10 s)",
    ]);
  },
);

onEngine("a wait without end may be set", async (app) => {
  app.set("framework.wait_timeout", Infinity);
  app.map(
    "save",
    () => sleep(20_000).then(() => app.response().write("saved")),
  );
  app.route("/", () => void call(app, "save"));
  await secondsOf(async () =>
    assertEquals(await (await visit(app, "/")).text(), "saved")
  );
});

onEngine(
  "a rejected autoload that nobody awaits is the request's error",
  async (app) => {
    app.register("nobody", "NoBody");
    app.route("/", () => {
      call(app, "nobody");
      return "found";
    });
    assertEquals((await visit(app, "/")).status, 500);
  },
);

onEngine(
  "a failure in a class's callback is a line in the log",
  async (app) => {
    app.register("pool", Map, [], () => Promise.reject(new Error("refused")));
    app.route("/", () => `${call(app, "pool").size}`);
    const log = await logOf(async () => {
      assertEquals(await (await visit(app, "/")).text(), "0");
      await sleep();
    });
    assertMatch(
      log.join("\n"),
      /^Error in the callback of "pool": Error: refused/,
    );
  },
);

onEngine("a thenable that a method returns stays what it is", (app) => {
  const query = {
    then: () => assert(false, "it was started"),
    where: () => "lazy",
  };
  app.map("users", () => query);
  assertEquals(call(app, "users").where(), "lazy");
});

onEngine(
  "a route that passes on after the request has ended calls no other",
  async (app) => {
    const called: string[] = [];
    app.route("/", async () => {
      await sleep(20);
      return true;
    });
    app.route("/", () => void called.push("late"));
    limitTime(app);
    assertEquals((await visit(app, "/")).status, 503);
    await sleep(40);
    assertEquals(called, []);
  },
);

onEngine(
  "a callback behind slow middleware is not called once the request has failed",
  async (app) => {
    let isCalled = false;
    app.set("framework.handle_errors", false);
    app.route("/", () => void (isCalled = true))
      .addMiddleware(() => sleep(20) as Promise<undefined>);
    app.map("start", () => {
      const late = sleep(1).then(() => Promise.reject(new Error("time-out")));
      return Promise.race([app.original("start")(), late]);
    });
    await assertRejects(() => visit(app, "/"), Error, "time-out");
    await sleep(40);
    assertEquals(isCalled, false);
  },
);

Deno.test("a render has the variables of the time of its call, also the first one", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/page.vto`, "{{ x }};");
  const app = new Engine();
  app.set("framework.views.path", folder);
  app.route("/", () => {
    for (const x of [1, 2]) {
      app.view().set("x", x);
      app.render("page");
    }
  });
  assertEquals(await (await app.fetch("/")).text(), "1;2;");
  await Deno.remove(folder, { recursive: true });
});

onEngine(
  "middleware that comes after the request has ended is not called",
  async (app) => {
    const called: string[] = [];
    app.route("/", () => sleep(20)).addMiddleware({
      after: () => void called.push("late"),
    });
    limitTime(app);
    assertEquals((await visit(app, "/")).status, 503);
    await sleep(40);
    assertEquals(called, []);
  },
);

onEngine(
  "a route whose body arrives after the request has ended is not called",
  async (app) => {
    const called: string[] = [];
    app.route("POST /", () => true).streamed();
    app.route("POST /", () => void called.push("late"));
    limitTime(app);
    let controller!: ReadableStreamDefaultController;
    const body = new ReadableStream({
      start: (made) => void (controller = made),
    });
    assertEquals((await visit(app, "/", { method: "POST", body })).status, 503);
    controller.enqueue(new TextEncoder().encode("late"));
    controller.close();
    await sleep(20);
    assertEquals(called, []);
  },
);

onEngine(
  'a second `original("start")` begins with the first route again',
  async (app) => {
    const called: string[] = [];
    app.route("/", () => {
      called.push("first");
      return true;
    });
    app.route("/", () => void called.push("second"));
    app.map("start", async () => {
      await app.original("start")();
      await app.original("start")();
    });
    await visit(app, "/");
    assertEquals(called, ["first", "second", "first", "second"]);
  },
);

/** Serves an application as a process of its own, and requests it once. */
async function serve(
  source: string,
): Promise<[child: ServerProcess, url: string]> {
  const child = await ServerProcess.start(`
    import { Engine, type UploadedFile, type View } from "@framework/core";
    const app = new Engine();
    ${source}
    app.start({ port: 0 });
  `);
  const url = `http://127.0.0.1:${await child.port()}/`;
  await (await fetch(url)).text();
  return [child, url];
}

/** Errors of requests: what is served, and what is printed. */
const SURVIVED: Readonly<Record<string, readonly [string, RegExp]>> = {
  "a rejection after the response": [
    `app.route("/", () => {
      setTimeout(async () => { throw new Error("boom"); });
      return "ok";
    });`,
    /Error in work that was not awaited: Error: boom/,
  ],
  "a rejected call that nobody awaits": [
    `app.set("framework.log_errors", true);
    app.map("save", async () => { throw new Error("boom"); });
    app.route("/", () => void app.save());`,
    /[0-9a-f]{8} GET .*Error: boom/,
  ],
  "a timer that throws": [
    `app.route("/", () => {
      setTimeout(() => { throw new Error("boom"); });
      return "ok";
    });`,
    /Error in work that was not awaited: Error: boom/,
  ],
  "a listener that throws when a signal times out": [
    `app.route("/", () => {
      AbortSignal.timeout(1)
        .addEventListener("abort", () => { throw new Error("boom"); });
      return "ok";
    });`,
    /Error in work that was not awaited: Error: boom/,
  ],
  "a rejection with what throws when it is looked at": [
    `app.route("/", () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      setTimeout(async () => { throw proxy; });
      return "ok";
    });`,
    /a value that throws when inspected/,
  ],
  "a late timer that calls the framework": [
    `app.route("/", () => {
      setTimeout(() => app.get("name"));
      return "ok";
    });`,
    /EndedError: Cannot use the framework here/,
  ],
};

for (const [what, [source, printed]] of Object.entries(SURVIVED)) {
  Deno.test(`the process goes on after ${what}`, async () => {
    const [child, url] = await serve(source);
    await using _ = child;
    await child.prints(printed);
    await (await fetch(url)).text();
  });
}

/** Errors that nobody can tell from a request's, while a server runs that the process ends with. */
const OUTLIVED: Readonly<Record<string, string>> = {
  "a rejection in a listener of a signal that times out": `
    app.route("/", () => {
      AbortSignal.timeout(1)
        .addEventListener("abort", async () => { throw new Error("boom"); });
      return "ok";
    });`,
  "a rejection of the application": `
    app.route("/", () => "ok");
    setTimeout(async () => { throw new Error("boom"); }, 300);`,
};

for (const [what, source] of Object.entries(OUTLIVED)) {
  Deno.test(`the process goes on after ${what}`, async () => {
    const [child, url] = await serve(source);
    await using _ = child;
    await child.prints(/Error in work that was not awaited: Error: boom/);
    await (await fetch(url)).text();
  });
}

/** What ends the process as Deno lets it: no server runs that the process must not end under. */
const FATAL: Readonly<Record<string, string>> = {
  "a rejection before a server runs": `
    setTimeout(async () => { throw new Error("boom"); });
    setTimeout(() => app.start({ port: 0 }), 300);`,
  "a timer that throws beside a server without signals": `
    app.start({ port: 0, signals: false });
    setTimeout(() => { throw new Error("boom"); });`,
};

for (const [what, source] of Object.entries(FATAL)) {
  Deno.test(`the process ends at ${what}, as Deno lets it`, async () => {
    await using child = await ServerProcess.start(`
      import { Engine, type UploadedFile, type View } from "@framework/core";
      const app = new Engine();
      ${source}
    `);
    assertEquals((await child.ended()).code, 1);
    assertStringIncludes(child.printed, "error: Uncaught");
  });
}

onEngine(
  "`clearBody()` in a render that nobody awaits drops the body, and leaves the render its place",
  async (app) => {
    app.map("render", async (text: string) => {
      await sleep();
      if (text === "second") app.response().write("gone").clearBody();
      app.response().write(text);
    });
    app.route("/", () => {
      app.response().write("before");
      app.render("second");
    });
    assertEquals(await (await visit(app, "/")).text(), "second");
  },
);

onEngine(
  "one promise of two calls rejects once, and is not lost",
  async (app) => {
    const failing = sleep(1).then(() => {
      throw new Error("no database");
    });
    failing.catch(() => {});
    app.map("database", () => failing);
    app.route("/", () => {
      call(app, "database");
      call(app, "database");
      return "done";
    });
    await logOf(async () => {
      assertEquals((await visit(app, "/")).status, 500);
    });
  },
);

Deno.test("a call that rejects beside work that takes long is not missed", async () => {
  const app = new Engine();
  app.map("save", async () => {
    await null;
    throw new Error("boom");
  });
  app.route("/", () => {
    call(app, "save");
    busyAfter(100);
    return "done";
  });
  await using server = app.start({ port: 0, signals: false });
  const { port } = server.addr as Deno.NetAddr;
  const lines = await logOf(async () => {
    const response = await fetch(`http://127.0.0.1:${port}/`);
    await response.body?.cancel();
    assertEquals(response.status, 500);
  });
  assertMatch(lines.join(), /[0-9a-f]{8} GET .*Error: boom/);
});

/** Keeps the processor busy for some milliseconds, after a number of microtasks. */
async function busyAfter(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await null;
  const end = performance.now() + 5;
  while (performance.now() < end);
}

/** What a route may do before it returns `true`, so that the ones behind it are not called, and the status it gives. */
const FORBIDDING: Record<string, [status: number, (app: Engine) => unknown]> = {
  "redirects": [303, (app) => app.redirect("/login")],
  "sends JSON": [401, (app) => app.json({}, 401)],
  "shows the page for an unknown path": [404, (app) => app.notFound()],
  "begins a call that responds": [401, (app) => call(app, "slowly", 401)],
  "begins a call that fails": [403, (app) => call(app, "slowly", 403)],
};

for (const [what, [status, forbid]] of Object.entries(FORBIDDING)) {
  Deno.test(`a route that ${what} and passes lets no other one run`, async () => {
    const app = new Engine();
    let deleted = 0;
    app.map("slowly", async (status: number) => {
      await sleep(2);
      if (status === 403) throw new HttpError(403);
      app.json({}, status);
    });
    app.route("/admin/*", () => {
      forbid(app);
      return true;
    });
    app.route("DELETE /admin/post", () => void deleted++);
    const response = await visit(app, "/admin/post", { method: "DELETE" });
    assertEquals([response.status, deleted], [status, 0]);
  });
}

for (const method of ["async", "synchronous"]) {
  Deno.test(`a page that forgets to await a call which fails is an error, from ${method} code`, async () => {
    const app = new Engine();
    const map = (name: string, work: () => unknown) =>
      app.map(name, method === "async" ? async () => await work() : work);
    map("notFound", () => {
      app.render("missing");
    });
    const missing = await visit(app, "/");
    assertEquals(missing.status, 500);
    assertStringIncludes(await missing.text(), "Internal Server Error");
    map("error", () => {
      app.render("missing");
    });
    app.route("/boom", () => {
      throw new HttpError(418, "teapot");
    });
    const failed = await visit(app, "/boom");
    assertEquals(failed.status, 418);
    assertStringIncludes(await failed.text(), "teapot");
  });
}

Deno.test("a page stays when a call fails that the handler did not await", async () => {
  const app = new Engine();
  app.map("late", async () => {
    await sleep(2);
    throw new Error("late");
  });
  app.map("error", async () => {
    const waited = sleep(10);
    (call(app, "late") as Promise<void>).catch(() => {});
    await waited;
    return "mapped";
  });
  app.route("/", () => {
    call(app, "late");
    throw new HttpError(418);
  });
  const response = await visit(app, "/");
  assertEquals([response.status, await response.text()], [418, "mapped"]);
});

/** An application with a call that refuses after a while, mounted or not, and what awaits nothing of it. */
for (const what of ["middleware", "a route that passes"]) {
  Deno.test(`a call of the outer application keeps ${what} of a mounted one from letting anybody in`, async () => {
    const [outer, inner] = [new Engine(), new Engine()];
    let entered = 0;
    outer.map("requireLogin", async () => {
      await sleep(2);
      throw new HttpError(401);
    });
    const check = () => void call(outer, "requireLogin");
    const secret = () => void entered++;
    if (what === "middleware") {
      inner.route("/secret", secret).addMiddleware(check);
    } else {
      inner.route("/*", () => {
        check();
        return true;
      });
      inner.route("/secret", secret);
    }
    outer.mount("/m", inner);
    assertEquals([(await visit(outer, "/m/secret")).status, entered], [401, 0]);
  });
}

for (const end of ["stop", "halt", "throw", "guard"]) {
  Deno.test(`a page that fails after ${end} is the default page of its error`, async () => {
    const app = new Engine();
    app.map("notFound", () => {
      app.render("missing");
    });
    const respond = () => {
      app.notFound();
      if (end === "stop") app.stop();
      if (end === "halt") app.halt(403);
      throw new HttpError(403);
    };
    const route = app.route("/", end === "guard" ? () => "text" : respond);
    if (end === "guard") route.addMiddleware(respond);
    const response = await visit(app, "/");
    assertEquals(response.status, 500);
    assertStringIncludes(await response.text(), "500 Internal Server Error");
  });
}

for (const shape of ["a route that passes", "middleware"]) {
  Deno.test(`a mapped \`start\` can limit the time of ${shape} by a call of its own`, async () => {
    const app = new Engine();
    app.map("limited", async (work: Promise<unknown>) => await work);
    app.map("start", () => call(app, "limited", app.original("start")()));
    const wait = async () => {
      await sleep(1);
      return true as const;
    };
    if (shape === "middleware") {
      app.route("/", () => "next").addMiddleware(wait);
    } else {
      app.route("/", wait);
      app.route("/", () => "next");
    }
    app.set("framework.wait_timeout", 1);
    const response = await visit(app, "/");
    assertEquals([response.status, await response.text()], [200, "next"]);
  });
}

Deno.test("a call of a page that hangs costs `framework.wait_timeout`, and one line in the log", async () => {
  const app = new Engine();
  app.set("framework.wait_timeout", 0.2);
  app.map("hang", () => new Promise(() => {}));
  app.map("notFound", () => {
    call(app, "hang");
    return "no such page";
  });
  const lines = await logOf(async () => {
    const response = await visit(app, "/");
    assertEquals([response.status, await response.text()], [
      404,
      "no such page",
    ]);
  });
  assertEquals(lines.length, 1, lines.join("\n"));
});

Deno.test("each call that fails, and that nobody awaits, has its effect or its line in the log", async () => {
  const app = new Engine();
  app.map("bad", async (name: string) => {
    await sleep(1);
    throw new Error(name);
  });
  app.map("notFound", () => {
    call(app, "bad", "of the page");
    return "no such page";
  });
  app.route("/", async () => {
    call(app, "bad", "of the route");
    await app.notFound();
  });
  const lines = await logOf(async () => {
    assertEquals((await visit(app, "/")).status, 500);
  });
  assert(
    lines.some((line) => /GET \/ .*of the route/.test(line)),
    lines.join(),
  );
});

Deno.test("the `error` of middleware ends when its calls have", async () => {
  const app = new Engine();
  app.before("redirect", async () => await sleep(2));
  app.route("/", () => {
    throw new Error("boom");
  }).addMiddleware({
    error: () => {
      app.redirect("/login");
    },
  });
  assertEquals((await visit(app, "/")).status, 303);
});

for (const kind of ["async", "synchronous"]) {
  Deno.test(`pages that call each other end with an error, from ${kind} code`, async () => {
    const app = new Engine();
    let calls = 0;
    const call = (work: () => unknown) =>
      kind === "async"
        ? async () => {
          if (calls++ < 50) await work();
        }
        : () => calls++ < 50 ? work() : undefined;
    app.map("notFound", call(() => app.error(new Error("none"))));
    app.map("error", call(() => app.notFound()));
    assertEquals((await visit(app, "/")).status, 500);
    assert(calls < 10, String(calls));
  });
}

for (
  const place of ["middleware", "a filter of `start`", "a route that passes"]
) {
  Deno.test(`${place} of a mounted application lets nobody in once it has responded for the outer one`, async () => {
    const [outer, inner] = [new Engine(), new Engine()];
    let entered = 0;
    const refuse = () => {
      outer.redirect("/login");
    };
    if (place === "a filter of `start`") inner.before("start", refuse);
    if (place === "a route that passes") {
      inner.route("/*", () => {
        refuse();
        return true;
      });
    }
    const route = inner.route("/secret", () => void entered++);
    if (place === "middleware") route.addMiddleware(refuse);
    outer.mount("/m", inner);
    assertEquals([(await visit(outer, "/m/secret")).status, entered], [303, 0]);
  });
}

Deno.test("a request that an application makes of another one after it has responded is handled", async () => {
  const [app, other] = [new Engine(), new Engine()];
  let entered = 0;
  other.route("/log", () => void entered++).addMiddleware(() => {});
  app.route("/", async () => {
    app.json({});
    await other.fetch("/log");
  });
  await visit(app, "/");
  assertEquals(entered, 1);
});

Deno.test("`response()` is one object in a mapped `start` and in its routes", async () => {
  class Titled extends HttpResponse {
    title = "none";
  }
  const app = new Engine().register("response", Titled);
  app.map("start", async () => {
    await app.original("start")();
    app.response().write((app.response() as Titled).title);
  });
  app.route("/", () => {
    (app.response() as Titled).title = "set";
  });
  assertEquals(await (await visit(app, "/")).text(), "set");
});

Deno.test("a call of the route that hangs costs the `error` of middleware nothing but time", async () => {
  const app = new Engine();
  app.set("framework.wait_timeout", 0.05);
  app.map("hang", () => new Promise(() => {}));
  app.route("/", () => {
    call(app, "hang");
    throw new HttpError(409);
  }).addMiddleware({ error: () => "handled" });
  const lines = await logOf(async () => {
    const response = await visit(app, "/");
    assertEquals([response.status, await response.text()], [409, "handled"]);
  });
  assertEquals(lines.length, 1, lines.join("\n"));
});

Deno.test("`framework.handle_errors` false rejects with the error of a page that fails late", async () => {
  const app = new Engine();
  app.set("framework.handle_errors", false);
  app.map("notFound", () => {
    app.render("missing");
  });
  app.route("/", () => {
    app.notFound();
    app.halt(403);
  });
  await assertRejects(async () => await app.fetch("/"), Error, "missing");
});

for (const kind of ["a mounted application", "the application"]) {
  Deno.test(`a route of ${kind} whose body arrives after the response is not called`, async () => {
    const [outer, inner] = [new Engine(), new Engine()];
    const app = kind === "the application" ? outer : inner;
    let charged = 0;
    if (app === outer) {
      app.route("POST /api/*", () => {
        app.defer(() => sleep(60));
        return true;
      }).streamed();
    }
    app.route(
      `POST ${app === outer ? "/api/pay" : "/pay"}`,
      () => void charged++,
    )
      .addMiddleware(() => void charged++);
    if (app === inner) outer.mount("/api", inner);
    const halted = Promise.withResolvers<void>();
    outer.map("start", () => {
      const late = sleep(5).then(() => {
        halted.resolve();
        return outer.halt(503);
      });
      return Promise.race([outer.original("start")(), late]);
    });
    const body = new ReadableStream({
      async start(controller) {
        await halted.promise;
        await sleep(30);
        controller.close();
      },
    });
    const init = { method: "POST", body };
    assertEquals((await visit(outer, "/api/pay", init)).status, 503);
    await sleep(80);
    await settled(outer); // on a busy machine, the deferred work takes longer
    assertEquals(charged, 0);
  });
}

function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** Mapped `start` methods that do not await the default one. */
const FORGETFUL: Readonly<Record<string, (app: Engine) => unknown>> = {
  "a mapped `start`": (app) => void app.original("start")(),
  "an asynchronous mapped `start`": async (app) => {
    await later();
    void app.original("start")();
  },
};

for (const [what, start] of Object.entries(FORGETFUL)) {
  Deno.test(`${what} that does not await the default one has its response`, async () => {
    const app = new Engine();
    app.map("start", () => start(app));
    app.route("/", async () => {
      await later();
      return "late";
    });
    app.route("/failing", async () => {
      await later();
      throw new HttpError(409, "taken");
    });
    const response = await app.fetch("/");
    assertEquals([response.status, await response.text()], [200, "late"]);
    const failed = await app.fetch("/failing");
    assertEquals(failed.status, 409);
    assertStringIncludes(await failed.text(), "taken");
  });
}

Deno.test("a mapped `start` that does not await the default one has its whole response, whatever was written before", async () => {
  const app = new Engine();
  let before = "";
  app.map("start", () => {
    app.response().write(before);
    void app.original("start")();
  });
  app.route("/", async () => {
    app.response().write("a");
    await later();
    return "b";
  });
  app.route("/failing", async () => {
    app.response().write("a");
    await later();
    throw new HttpError(409, "taken");
  });
  for (before of ["", "<nav>"]) {
    const response = await app.fetch("/");
    assertEquals(await response.text(), `${before}ab`);
    const failed = await app.fetch("/failing");
    assertEquals(failed.status, 409);
    await failed.body?.cancel();
  }
});

Deno.test("the error of a call that deferred work does not await is logged", async () => {
  const app = new Engine();
  const { promise, resolve } = Promise.withResolvers<void>();
  app.route("/", () => {
    app.defer(async () => {
      void app.render("missing");
      await sleep(20);
      resolve();
    });
    return "x";
  });
  const log = await logOf(async () => {
    await (await visit(app, "/")).text();
    await promise;
  });
  assertStringIncludes(log.join("\n"), "missing");
});

Deno.test("of two calls that fail with one error, the one that nobody awaits is the error of the request", async () => {
  const down = new Error("down"); // as a cached rejected promise has it
  for (const isSecondCaught of [false, true]) {
    const app = new Engine();
    app.map("save", async () => {
      await sleep(1);
      throw down;
    });
    app.route("/", async () => {
      call(app, "save");
      const second = isSecondCaught ? call(app, "save") : undefined;
      await sleep(20);
      try {
        await second;
      } catch { /* the other one stands */ }
      return "saved";
    });
    await logOf(async () => {
      assertEquals((await visit(app, "/")).status, 500, `${isSecondCaught}`);
    });
  }
});

Deno.test("a filtered `render()` into a variable writes nothing", async () => {
  const app = new Engine();
  app.map("view", () => ({ fetch: () => Promise.resolve("x"), set() {} }));
  app.before("render", () => {});
  app.route("/", () => {
    throw new HttpError(409, "taken");
  }).addMiddleware({
    async error() {
      await app.render("x", {}, "header");
    },
  });
  const response = await visit(app, "/");
  assertEquals(response.status, 409);
  assertStringIncludes(await response.text(), "taken");
});

Deno.test("a call that fails in the turn in which its handler ends is the error of the request", async () => {
  const app = new Engine();
  app.map("render", () => Promise.reject(new Error("boom")));
  app.route("/", async () => {
    app.render("x");
    for (let turn = 0; turn < 10; turn++) await null;
    return "text";
  });
  await logOf(async () => {
    assertEquals((await app.fetch("/")).status, 500);
  });
});

Deno.test("an error that two calls share, and that nobody awaits, is one line in the log", async () => {
  const shared = new Error("boom");
  for (const status of [500, 403]) {
    const app = new Engine();
    app.set("framework.log_errors", true);
    app.map("render", () => sleep().then(() => Promise.reject(shared)));
    app.route("/", () => {
      app.render("x");
      app.render("y");
      if (status === 403) app.halt(403);
    });
    const log = await logOf(async () => {
      assertEquals((await app.fetch("/")).status, status);
    });
    assertEquals(log.join("\n").match(/boom/g)?.length, 1);
  }
});

Deno.test("a rejection of the application's own that is handled late, but before the response, is no error", async () => {
  const app = new Engine();
  app.route("/", async () => {
    const own = Promise.reject(new Error("boom"));
    await sleep(1);
    own.catch(() => {});
    return "text";
  });
  const log = await logOf(async () => {
    assertEquals(await (await app.fetch("/")).text(), "text");
  });
  assertEquals(log, []);
});

Deno.test("a call that hangs beside one that halts is named once in the log", async () => {
  const app = new Engine();
  app.set("framework.wait_timeout", 0.05);
  app.before("halt", () => sleep());
  app.map(
    "render",
    (file: string) =>
      file === "hangs"
        ? new Promise(() => {})
        : sleep().then(() => app.halt(403, "no")),
  );
  app.route("/", () => {
    app.render("hangs");
    app.render("halts");
  });
  const log = await logOf(async () => {
    assertEquals((await app.fetch("/")).status, 403);
  });
  const line = "Sent the response without waiting for: render (over 0.05 s)";
  assertEquals(log, [line]);
});

Deno.test("`framework.wait_timeout` is how long an error page waits in all, whatever its calls begin", async () => {
  for (const end of ["error", "halt"]) {
    const app = new Engine();
    app.set("framework.wait_timeout", 1);
    app.map("fails", () => sleep(100).then(() => Promise.reject(Error("no"))));
    app.route("/", () => {
      const again = (): unknown =>
        Promise.resolve(call(app, "fails")).catch(again);
      again();
      if (end === "halt") app.halt(400);
      throw new Error("boom");
    });
    let waited = 0;
    const log = await logOf(async () => {
      waited = await secondsOf(async () => await app.fetch("/"));
    });
    assert(waited < 2.5, `${waited}`);
    const line = "Sent the response without waiting for: fails (over 1 s)";
    assertEquals(log.filter((each) => each.startsWith("Sent")), [line]);
  }
});

/** Declares what waits for a gate, and what must not run once it is open; returns the status that is sent before. */
const LATE: Readonly<
  Record<
    string,
    (app: Engine, gate: PromiseWithResolvers<void>, ran: () => void) => number
  >
> = {
  "a `before` of middleware": (app, gate, ran) => {
    app.route("POST /", ran).addMiddleware(() => gate.promise);
    return 503;
  },
  "a callback inside of an `after` of middleware": (app, gate, ran) => {
    app.route("POST /", () => gate.promise).addMiddleware({ after: ran });
    return 503;
  },
  "a callback": (app, gate) => {
    app.route("POST /", () => gate.promise.then(() => "late"));
    return 503;
  },
  "a callback behind one that has passed": (app, gate) => {
    app.route("*", () => true);
    app.route("POST /", () => gate.promise.then(() => "late"));
    return 503;
  },
  "a call of a callback that passes": (app, gate, ran) => {
    app.map("slow", () => sleep(5).then(gate.resolve));
    app.route("*", () => {
      call(app, "slow");
      return true;
    });
    app.route("POST /", ran);
    return 503;
  },
  "the body": (app, _gate, ran) => {
    app.route("*", () => true).streamed();
    app.route("POST /", ran);
    return 503;
  },
  "a mapped `notFound`": (app, gate) => {
    app.map("notFound", () => gate.promise);
    return 404;
  },
  "a filter of `notFound`": (app, gate, ran) => {
    app.before("notFound", () => gate.promise);
    app.map("notFound", ran);
    return 404;
  },
};

for (const [what, declare] of Object.entries(LATE)) {
  Deno.test(`what waits for ${what} gets an error once the request is over`, async () => {
    const app = new Engine();
    app.set("framework.wait_timeout", 0.1);
    const gate = Promise.withResolvers<void>();
    let hasRun = false;
    const status = declare(app, gate, () => void (hasRun = true));
    const ended = Promise.withResolvers<unknown>();
    app.map("start", async () => {
      const routing: unknown = app.original("start")();
      Promise.resolve(routing).then(ended.resolve, ended.reject);
      await sleep();
      app.halt(503);
    });
    const late = new ReadableStream({
      async pull(controller) {
        await gate.promise;
        controller.close();
      },
    });
    const body = what === "the body" ? late : null;
    await logOf(async () => {
      const response = await visit(app, "/", { method: "POST", body });
      assertEquals(response.status, status);
      await response.body?.cancel();
      gate.resolve();
      await assertRejects(() => ended.promise, Error, "has ended");
    });
    assertEquals(hasRun, false);
  });
}

Deno.test("what an asynchronous mapped `start` returns is the response, whatever the routes still do", async () => {
  const app = new Engine();
  const gate = Promise.withResolvers<void>();
  app.route("/", () => gate.promise);
  let respond: () => unknown;
  app.map("start", async () => {
    void app.original("start")();
    await sleep();
    return respond();
  });
  respond = () => "busy";
  const response = await app.fetch("/");
  assertEquals([response.status, await response.text()], [200, "busy"]);
  respond = () => app.redirect("/busy");
  assertEquals((await app.fetch("/")).status, 303);
  gate.resolve();
});

Deno.test("a call that a filter of `start` does not await keeps the routes from running", async () => {
  const app = new Engine();
  let hasRun = false;
  app.map("check", () => sleep().then(() => app.halt(403)));
  app.before("start", () => void call(app, "check"));
  app.route("/", () => void (hasRun = true));
  assertEquals((await app.fetch("/")).status, 403);
  assertEquals(hasRun, false);
});

Deno.test("a mapped `start` can call the routes inside of a render", async () => {
  const app = new Engine();
  app.map("render", async () => {
    app.response().write("<");
    await app.original("start")();
    app.response().write(">");
  });
  app.map("start", () => app.render("layout"));
  app.route("/", () => "content");
  assertEquals(await (await app.fetch("/")).text(), "<content>");
});

Deno.test("text, `html` and what a callback writes wait for calls behind `after` hooks", async () => {
  for (const make of [() => "text", () => html`text`, () => {}]) {
    const app = new Engine();
    const log: string[] = [];
    app.map("slow", () => sleep(5).then(() => void log.push("slow")));
    app.route("/", () => {
      call(app, "slow");
      return make();
    }).addMiddleware({ after: () => void log.push("after") });
    await app.fetch("/");
    assertEquals(log, ["after", "slow"]);
  }
});

Deno.test("a render into a variable that fails, and is caught, costs no later render", async () => {
  const app = new Engine();
  app.register(
    "view",
    class {
      fetch = (file: string) =>
        file === "fails"
          ? Promise.reject(new Error("no"))
          : Promise.resolve(file);
      set(): void {}
    },
  );
  app.route("/", async () => {
    await Promise.resolve(app.render("fails", {}, "part")).catch(() => {});
    await app.render("page");
  });
  assertEquals(await (await app.fetch("/")).text(), "page");
});

Deno.test("a call that nobody awaits and that fails is the error of what a mapped `start`, or `error` of middleware, returns", async () => {
  const returned: readonly (() => unknown)[] = [
    () => "secret",
    () => ({ secret: 1 }),
    () => new Response("secret"),
  ];
  for (const make of returned) {
    const app = new Engine();
    app.map(
      "check",
      () => sleep(2).then(() => Promise.reject(new HttpError(403))),
    );
    const checked = (): unknown => {
      call(app, "check");
      return make();
    };
    app.route("/", () => {
      throw new Error("boom");
    }).addMiddleware({ error: checked });
    await logOf(async () => {
      assertEquals((await app.fetch("/")).status, 403);
      app.map("start", checked);
      assertEquals((await app.fetch("/")).status, 403);
      app.map("start", () => Promise.resolve(checked()));
      assertEquals((await app.fetch("/")).status, 403);
    });
  }
});

Deno.test("an object that a route returns waits for no call of a mapped `start` that waits for the route", async () => {
  const app = new Engine();
  app.map("within", async () => await app.original("start")());
  app.map("start", () => call(app, "within"));
  app.route("/", () => {
    call(app, "within2");
    return { a: 1 };
  });
  app.map("within2", () => sleep());
  const log = await logOf(async () => {
    assertEquals(await (await app.fetch("/")).json(), { a: 1 });
  });
  assertEquals(log, []);
});
