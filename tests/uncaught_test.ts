/**
 * Errors that no code catches, in a process: which a server survives, which end the process, and with
 * which status.
 */

import { assertEquals, assertMatch } from "@std/assert";
import { type ChildOptions, ServerProcess } from "./server_child.ts";

/** Kinds of errors that come after the response, or belong to no request. */
const LATE: Readonly<Record<string, string>> = {
  "a timer": `setTimeout(() => { throw new Error("late") })`,
  "setImmediate": `setImmediate(() => { throw new Error("late") })`,
  "a microtask": `queueMicrotask(() => { throw new Error("late") })`,
  "a rejection": `setTimeout(() => Promise.reject(new Error("late")))`,
  "an emitter": `
    const emitter = new EventEmitter();
    setTimeout(() => emitter.emit("error", new Error("late")));
  `,
  "an abort": `AbortSignal.timeout(1).onabort = () => {
    throw new Error("late");
  }`,
  "a message": `
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { port1.close(); throw new Error("late") };
    port2.postMessage("");
  `,
};

/** An application with a route for each kind of late error; `end` starts it. */
function failing(end: string): string {
  const routes = Object.values(LATE).map((code, index) => `
    Framework.route("/${index}", () => { ${code}; return "responded" });
    Framework.route("/outside/${index}", () => outside(() => {
      ${code};
      return "responded";
    }));
  `);
  return `
    import { Framework } from "@framework/core";
    import { AsyncLocalStorage } from "node:async_hooks";
    import { EventEmitter } from "node:events";
    import { setImmediate } from "node:timers";
    const outside = AsyncLocalStorage.snapshot();
    ${routes.join("")}
    ${end}
  `;
}

const UNDER_SERVE: ChildOptions = {
  command: ["serve", "--host=127.0.0.1", "--port=0"],
  permissions: [],
};

/** The servers that survive late errors. */
const SURVIVING: Readonly<Record<string, readonly [string, ChildOptions]>> = {
  "`start()`": ["Framework.start({ port: 0 });", {}],
  "`deno serve`": ["export default Framework;", UNDER_SERVE],
  "`deno serve --parallel`": ["export default Framework;", {
    ...UNDER_SERVE,
    command: ["serve", "--parallel", "--host=127.0.0.1", "--port=0"],
    env: { DENO_JOBS: "2" },
  }],
  "`deno serve` of an engine": [
    "export default Framework.app();",
    UNDER_SERVE,
  ],
};

for (const [name, [end, options]] of Object.entries(SURVIVING)) {
  Deno.test(`${name} survives late errors, with a line in the log for each`, async () => {
    await using process = await ServerProcess.start(failing(end), options);
    const origin = `http://127.0.0.1:${await process.port()}`;
    let errors = 0;
    for (const prefix of ["", "/outside"]) {
      for (const index of Object.keys(LATE).keys()) {
        const response = await fetch(`${origin}${prefix}/${index}`);
        assertMatch(await response.text(), /responded|500/);
        errors++;
        await process.prints(new RegExp(`(?:Error: late[^]*){${errors}}`));
      }
    }
    assertEquals((await fetch(`${origin}/none`).then(bodyless)).status, 404);
    process.kill("SIGTERM");
    assertEquals((await process.ended()).code, 0);
  });
}

/** Who keeps the rule of Deno: an uncaught error ends the process. */
const DENOS_RULE: Readonly<Record<string, string>> = {
  "`start()` with `signals: false`": `
    const { addr } = Framework.start({
      port: 0,
      signals: false,
      onListen: ({ port }) => console.log("Listening on http://a:" + port + "/"),
    });
  `,
  "`Deno.serve`": `
    Deno.serve({ hostname: "127.0.0.1", port: 0 }, Framework.fetch);
  `,
};

for (const [name, end] of Object.entries(DENOS_RULE)) {
  Deno.test(`${name} leaves late errors that belong to no request to Deno`, async () => {
    await using process = await ServerProcess.start(failing(end));
    const origin = `http://127.0.0.1:${await process.port()}`;
    await fetch(`${origin}/outside/0`).then(bodyless);
    assertEquals((await process.ended()).code, 1);
    assertMatch(process.printed, /Uncaught Error: late/);
  });
}

/** How a main module fails once its server listens. */
const FAILING_MAIN: Readonly<Record<string, string>> = {
  "throws": `throw new Error("no database");`,
  "awaits a rejection": `await Promise.reject(new Error("no database"));`,
  "throws what is no error": `throw "no database";`,
  "fails late": `
    await new Promise((resolve) => setTimeout(resolve, 50));
    throw new Error("no database");
  `,
  "starts a second server that cannot": `
    new Engine().start({ port: server.addr.port });
  `,
  "imports a module that fails": `
    await import("data:text/javascript,throw new Error('no database')");
  `,
};

for (const [how, code] of Object.entries(FAILING_MAIN)) {
  Deno.test(`\`start()\` ends with status 1 when the main module ${how}`, async () => {
    await using process = await ServerProcess.start(`
      import { Engine, Framework } from "@framework/core";
      const server = Framework.start({ port: 0 });
      ${code}
    `);
    assertEquals((await process.ended()).code, 1);
    assertMatch(process.printed, /no database|already in use/);
    assertMatch(
      process.printed,
      /The main module failed: [^]*no database|in use/,
    );
    assertEquals(process.printed.includes("nobody awaited"), false);
    assertMatch(process.printed, /status 1: the main module failed\n$/);
  });
}

Deno.test("`start()` lets requests finish when the main module fails", async () => {
  await using process = await ServerProcess.start(`
    import { Framework } from "@framework/core";
    const asked = Promise.withResolvers();
    Framework.route("/slow", async () => {
      asked.resolve();
      await new Promise((resolve) => setTimeout(resolve, 300));
      return "late";
    });
    Framework.start({ port: 0 });
    await asked.promise;
    throw new Error("no database");
  `);
  const response = fetch(`http://127.0.0.1:${await process.port()}/slow`);
  assertEquals(await (await response).text(), "late");
  assertEquals((await process.ended()).code, 1);
});

Deno.test("`start()` takes a late error for the main module's only when it is", async () => {
  await using process = await ServerProcess.start(`
    import { Framework } from "@framework/core";
    Framework.route("/", () => "alive");
    const server = Framework.start({ port: 0 });
    Promise.reject(new Error("late"));
    await server.finished;
  `);
  await process.prints(/Error: late/);
  const response = await fetch(`http://127.0.0.1:${await process.port()}/`);
  assertEquals(await response.text(), "alive");
  process.kill("SIGTERM");
  assertEquals((await process.ended()).code, 0);
});

async function bodyless(response: Response): Promise<Response> {
  await response.body?.cancel();
  return response;
}
