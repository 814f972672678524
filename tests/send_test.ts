/** Tests `send`, the method that every response passes last, and what its filters can ask. */

import {
  assertEquals,
  assertGreaterOrEqual,
  assertLessOrEqual,
} from "@std/assert";
import { Engine } from "@framework/core";
import { visit } from "./forms.ts";

Deno.test("`send()` stays synchronous where its filters are", () => {
  const app = new Engine();
  app.after("send", (_params, output) => {
    output.value.headers.set("x-seen", "yes");
  });
  app.route("/", () => "text");
  const response = app.fetch(new Request("http://localhost/"));
  assertEquals((response as Response).headers.get("x-seen"), "yes");
});

Deno.test("`elapsed` counts from before the body, and is undefined while nothing filters `send`", async () => {
  const app = new Engine();
  const seen: (number | undefined)[] = [];
  app.route("/", () => void seen.push(app.request().elapsed));
  await visit(app, "/");
  assertEquals(seen, [undefined]);
  app.after("send", () => void seen.push(app.request().elapsed));
  const { readable, writable } = new TransformStream<Uint8Array<ArrayBuffer>>();
  const begin = performance.now();
  const response = visit(app, "/", { method: "POST", body: readable });
  await new Promise((resolve) => setTimeout(resolve, 20));
  await writable.close();
  await response;
  const [, inHandler, inFilter] = seen;
  assertGreaterOrEqual(inHandler!, 15);
  assertGreaterOrEqual(inFilter!, inHandler!);
  assertLessOrEqual(inFilter!, performance.now() - begin);
});

/** Bodies by their kind, and how many bytes each has. */
const LENGTHS: Readonly<
  Record<string, readonly [() => unknown, number | undefined]>
> = {
  "a text": [() => "Grüße", 7],
  "an empty text": [() => "", 0],
  "JSON": [() => [1, 2], 5],
  "bytes": [() => new Uint8Array(9), 9],
  "a blob": [() => new Blob(["Grüße"]), 7],
  "a stream": [() => ReadableStream.from(["text"]), undefined],
  "a response of a text": [() => new Response("Grüße"), 7],
  "a response without a body": [() => new Response(null), 0],
  "a response of a stream": [
    () => new Response(new Blob(["text"]).stream()),
    undefined,
  ],
};

for (const [kind, [content, length]] of Object.entries(LENGTHS)) {
  Deno.test(`\`length\` of ${kind} is ${length}`, async () => {
    const app = new Engine();
    const seen: unknown[] = [];
    app.after("send", () => void seen.push(app.response().length));
    app.route("/", content as () => string);
    const response = await visit(app, "/");
    const body = await response.bytes();
    assertEquals(seen, [length]);
    if (length !== undefined) assertEquals(body.length, length);
  });
}

Deno.test("`length` of a page is that of the page", async () => {
  const app = new Engine();
  const seen: unknown[] = [];
  app.after("send", () => void seen.push(app.response().length));
  app.route("/", () => {
    app.response().write("dropped");
    return app.notFound();
  });
  const text = await (await visit(app, "/")).text();
  assertEquals(seen, [text.length]);
});
