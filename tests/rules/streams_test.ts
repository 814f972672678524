/** Bodies that are streams: they run in the scope of their request, and end when nobody reads them. */

import { Engine, html } from "@framework/core";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { logOf } from "../support/log.ts";
import { serving } from "../support/serving.ts";

function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** Three chunks, each with a variable of the request that is read while the stream runs. */
async function* chunks(app: Engine): AsyncGenerator<string> {
  for (let count = 0; count < 3; count++) {
    await later();
    yield `${app.get("user")}${count} `;
  }
}

/** A stream with a `pull` of its own, which would otherwise run in the context of its reader. */
function pulled(app: Engine): ReadableStream<Uint8Array> {
  let count = 0;
  return new ReadableStream({
    async pull(controller) {
      await later();
      const text = `${app.get("user")}${count++} `;
      controller.enqueue(new TextEncoder().encode(text));
      if (count === 3) controller.close();
    },
  }, { highWaterMark: 0 });
}

const STREAMS: Record<string, (app: Engine) => unknown> = {
  "an async iterable": chunks,
  "a stream": pulled,
  "a piped stream": (app) =>
    ReadableStream.from(chunks(app)).pipeThrough(new TextEncoderStream()),
  "a `Response` with collected headers": (app) => {
    app.response().header("x-a", "1");
    return new Response(pulled(app));
  },
};

for (const [what, stream] of Object.entries(STREAMS)) {
  Deno.test(`${what} runs in the scope of its request, also on a socket`, async () => {
    const app = new Engine();
    app.route("/@user", async (user) => {
      await later();
      app.set("user", user);
      return stream(app);
    });
    const users = ["ada", "bob", "eve"];
    const expected = users.map((user) => `${user}0 ${user}1 ${user}2 `);
    const texts = users.map(async (user) =>
      await (await app.fetch(`/${user}`)).text()
    );
    assertEquals(await Promise.all(texts), expected);
    await serving(app, async (port) => {
      const texts = users.map(async (user) =>
        await (await fetch(`http://127.0.0.1:${port}/${user}`)).text()
      );
      assertEquals(await Promise.all(texts), expected);
    });
  });
}

Deno.test("a stream carries text, markup and bytes as they are", async () => {
  const app = new Engine();
  const bytes = new Uint8Array([1, 2, 3]);
  app.route("/text", async function* () {
    yield html`<p>${"<b>"}</p>`;
    yield "ü";
  });
  app.route("/bytes", async function* () {
    yield bytes;
    yield bytes.subarray(1);
    yield new Uint8Array();
  });
  assertEquals(await (await app.fetch("/text")).text(), "<p>&lt;b&gt;</p>ü");
  const received = await (await app.fetch("/bytes")).bytes();
  assertEquals([...received], [1, 2, 3, 2, 3]);
});

Deno.test("a stream is read no faster than by its client", async () => {
  const app = new Engine();
  let made = 0;
  app.route("/", async function* () {
    for (; made < 100; made++) yield "x";
  });
  const response = await app.fetch("/");
  await later();
  assert(made <= 2, `${made} chunks were made`);
  await response.body!.cancel();
});

Deno.test("a stream ends when its client leaves, in the scope of its request", async () => {
  const app = new Engine();
  const ended = Promise.withResolvers<unknown>();
  app.route("/", async function* () {
    app.set("user", "ada");
    try {
      for (;;) {
        await later();
        yield "x";
      }
    } finally {
      ended.resolve(app.get("user"));
    }
  });
  await serving(app, async (port) => {
    const response = await fetch(`http://127.0.0.1:${port}/`);
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
    assertEquals(await ended.promise, "ada");
  });
});

Deno.test("an error of a stream breaks its connection and is one line of the log; the server goes on", async () => {
  const app = new Engine();
  app.route("/failing", async function* () {
    yield "half a page";
    await later();
    throw new TypeError("boom");
  });
  app.route("/fine", () => "fine");
  const log = await logOf(() =>
    serving(app, async (port) => {
      const origin = `http://127.0.0.1:${port}`;
      const response = await fetch(`${origin}/failing`);
      await assertRejects(() => response.text());
      assertEquals(await (await fetch(`${origin}/fine`)).text(), "fine");
    })
  );
  assertEquals(log.length, 1);
  assertStringIncludes(log[0]!, "GET /failing ");
  assertStringIncludes(log[0]!, "TypeError: boom");
});

Deno.test("a stream refuses chunks that are no text and no bytes", async () => {
  const app = new Engine();
  app.route("/", async function* () {
    yield 42;
    await later();
  });
  const response = await app.fetch("/");
  await assertRejects(
    () => response.text(),
    TypeError,
    "a chunk must be bytes, text or html, got 42",
  );
});

/** What keeps a returned stream from being sent, in its callback or after it. */
const UNSENT: [
  what: string,
  hooks: { within?: (app: Engine) => void; after?: (app: Engine) => void },
][] = [
  ["the request is a HEAD", {}],
  ["the response is sealed", { within: (app) => app.json(1) }],
  ["an error takes its place", {
    after: () => {
      throw new Error("x");
    },
  }],
];

for (const [what, { within, after }] of UNSENT) {
  Deno.test(`a stream is cancelled where ${what}`, async () => {
    // A returned `Response` is final: nothing takes its place.
    for (const isResponse of after === undefined ? [false, true] : [false]) {
      const app = new Engine();
      let isCancelled = false;
      app.route("/", () => {
        within?.(app);
        const cancel = () => void (isCancelled = true);
        const stream = new ReadableStream({ cancel });
        return isResponse ? new Response(stream) : stream;
      });
      app.after("start", () => after?.(app));
      const method = what.includes("HEAD") ? "HEAD" : "GET";
      await app.fetch(new Request("http://localhost/", { method }));
      assert(isCancelled);
    }
  });
}
