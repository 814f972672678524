/** Server-sent events: what is sent, heartbeats, and that their source ends with its client. */

import { Engine, html, type ServerSentEvent } from "@framework/core";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { secondsOf } from "../support/clock.ts";
import { logOf } from "../support/log.ts";
import { RawConnection } from "../support/raw_http.ts";
import { serving } from "../support/serving.ts";

function later(milliseconds = 0): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** The events given, and then none, without an end. */
class Endless implements AsyncIterable<ServerSentEvent> {
  /** Resolves with the first call of `return()`. */
  readonly ended = Promise.withResolvers<void>();
  returned = 0;

  constructor(readonly events: ServerSentEvent[] = []) {}

  [Symbol.asyncIterator](): AsyncIterator<ServerSentEvent> {
    return {
      next: () => {
        const value = this.events.shift();
        return value === undefined
          ? new Promise(() => {})
          : Promise.resolve({ done: false, value });
      },
      return: () => {
        this.returned++;
        this.ended.resolve();
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }
}

Deno.test("`events()` sends each event, in the scope of its request", async () => {
  const app = new Engine();
  app.route("/", () => {
    app.set("user", "ada");
    return app.response().header("content-type", "a/b").events(events());
  });
  async function* events(): AsyncGenerator<ServerSentEvent> {
    yield { data: "a\nb", event: "news", id: 7, retry: 100 };
    await later();
    yield { data: String(app.get("user")) };
    yield { comment: "end" };
  }
  const response = await app.fetch("/");
  assertEquals(Object.fromEntries(response.headers), {
    "cache-control": "no-store",
    "content-type": "text/event-stream",
    "x-accel-buffering": "no",
  });
  assertEquals(
    await response.text(),
    "event: news\ndata: a\ndata: b\nid: 7\nretry: 100\n\ndata: ada\n\n: end\n\n",
  );
});

/** Events and their text; the first space after a colon is none of the value. */
const EVENTS: [event: ServerSentEvent, text: string][] = [
  [
    { data: " a\n b", event: " c", id: " d" },
    "event:  c\ndata:  a\ndata:  b\nid:  d\n\n",
  ],
  [{ data: "" }, "data: \n\n"],
  [{ data: "a\r\nb\rc" }, "data: a\ndata: b\ndata: c\n\n"],
  [{ data: html`<b>${"<"}</b>` }, "data: <b>&lt;</b>\n\n"],
];

for (const [event, text] of EVENTS) {
  Deno.test(`\`events()\` of a list sends ${JSON.stringify(event)}`, async () => {
    const app = new Engine();
    app.route("/", () => app.response().events([event]));
    assertEquals(await (await app.fetch("/")).text(), text);
  });
}

/** What is no event: a line break in a name or id would begin another field. */
const REFUSED: [event: unknown, message: string][] = [
  ["text", 'it must be a record such as { data: "text" }, got the string'],
  [{ text: 1 }, 'it must be a record such as { data: "text" }, got { text: 1'],
  [{ data: "", event: "two\nlines" }, "SyntaxError"],
  [{ data: "", id: "two\nlines" }, "SyntaxError"],
];

for (const [event, message] of REFUSED) {
  Deno.test(`\`events()\` refuses ${JSON.stringify(event)}, and ends its source`, async () => {
    const app = new Engine();
    const source = new Endless([event as ServerSentEvent]);
    app.route("/", () => app.response().events(source));
    const error = await (await app.fetch("/")).text().catch(String);
    assertStringIncludes(error, message);
    assertEquals(source.returned, 1);
  });
}

Deno.test("`events()` sends a heartbeat every 15 seconds where no event comes, and loses none", async () => {
  const app = new Engine();
  async function* slow(): AsyncGenerator<ServerSentEvent> {
    await later(40_000);
    yield { data: "at last" };
  }
  app.route("/", () => app.response().events(slow()));
  await secondsOf(async () =>
    assertEquals(
      await (await app.fetch("/")).text(),
      ": heartbeat\n\n: heartbeat\n\ndata: at last\n\n",
    )
  );
});

Deno.test("`events()` ends its source when the client leaves, though no event comes", async () => {
  const app = new Engine();
  const source = new Endless([{ data: "first" }]);
  app.route("/", () => app.response().events(source));
  await serving(app, async (port) => {
    {
      using connection = await RawConnection.open(port);
      await connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      await connection.receive("data: first\n\n");
      assertEquals(source.returned, 0);
    }
    await source.ended.promise;
    assertEquals(source.returned, 1);
  });
});

Deno.test("`events()` ends a source that is never read", async () => {
  for (const method of ["HEAD", "GET"]) {
    const app = new Engine();
    const source = new Endless();
    app.route("/", () => {
      if (method === "GET") app.json(1);
      return app.response().events(source);
    });
    const request = new Request("http://localhost/", { method });
    await (await app.fetch(request)).body?.cancel();
    assertEquals(source.returned, 1, method);
  }
});

Deno.test("`shutdown()` ends `events()` at once, of a mounted engine too, since clients connect again", async () => {
  const [app, inner] = [new Engine(), new Engine()];
  app.mount("/inner", inner);
  for (const engine of [app, inner]) {
    engine.route("/events", () => {
      return engine.response().events(new Endless([{ data: "first" }]));
    });
  }
  for (const path of ["/events", "/inner/events"]) {
    const log = await logOf(async () => {
      let received: Promise<string> | undefined;
      const seconds = await secondsOf(() =>
        serving(app, async (port) => {
          const response = await fetch(`http://127.0.0.1:${port}${path}`);
          received = response.text();
        })
      );
      assertEquals([seconds, await received], [0, "data: first\n\n"], path);
    });
    assertEquals(log, []);
  }
});
