/** What a request sets is its own: who is current in every kind of work, and what leaks to nobody. */

import {
  assertEquals,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Engine } from "@framework/core";
import { assertIsolated } from "@framework/core/testing";
import { AsyncLocalStorage } from "node:async_hooks";
import { EventEmitter } from "node:events";
import { type App, call, onBothForms, visit } from "./forms.ts";

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
  "a plain function that answers a promise": (who) => sleep().then(who),
  "a plain function that answers a foreign thenable": (who) => {
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
  "another storage's context": (who) => elsewhere.run({}, async () => {
    await sleep();
    return who();
  }),
};

for (const [kind, work] of Object.entries(kinds)) {
  onBothForms(`the current request is found in ${kind}`, async (app) => {
    app.route("/@name", (name) => {
      app.set("name", name);
      return work(() => app.get<string>("name") + app.request().url);
    });
    const names = ["ada", "grace", "edsger", "barbara"];
    const answers = await Promise.all(names.map(async (name) => {
      const response = await outside(() => visit(app, `/${name}`));
      return await outside(() => response.text());
    }));
    assertEquals(answers, names.map((name) => `${name}/${name}`));
  });
}
