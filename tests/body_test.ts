/** Tests of {@linkcode readBody}: reading a body off the connection. */

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { HttpError } from "@framework/core";
import { hasBody, readBody } from "../src/request/body.ts";

const limit = 1_000;

function post(
  body: BodyInit,
  type = "",
  headers: Record<string, string> = {},
): Request {
  return new Request("http://localhost/", {
    method: "POST",
    body,
    headers: { ...headers, "content-type": type },
  });
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** A stream of chunks that tells how many were taken and whether it was given up. */
function streamOf(chunks: string[], end: "close" | "fail" | "hang" = "close") {
  const seen = { taken: 0, cancelled: false };
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = chunks[seen.taken];
      if (chunk !== undefined) {
        controller.enqueue(new TextEncoder().encode(chunk));
      } else if (end === "close") controller.close();
      else if (end === "fail") throw new Error("connection lost");
      else return new Promise(() => {});
      seen.taken++;
    },
    cancel() {
      seen.cancelled = true;
    },
  }, { highWaterMark: 0 });
  return { seen, stream };
}

Deno.test("`readBody()` joins the chunks of a stream", async () => {
  const { stream } = streamOf(["ab", "", "cde"]);
  assertEquals(text(await readBody(post(stream), limit)), "abcde");
});

Deno.test("`readBody()` returns no bytes where there is none", async () => {
  const bytes = await readBody(new Request("http://localhost/"), limit);
  assertEquals(bytes.length, 0);
});

Deno.test("`readBody()` takes exactly the limit", async () => {
  assertEquals(
    (await readBody(post("x".repeat(1_000)), limit)).length,
    1_000,
  );
});

Deno.test("`readBody()` refuses a declared length above the limit without reading", async () => {
  const { seen, stream } = streamOf(["x"]);
  const request = post(stream, "", { "content-length": "1001" });
  const error = await assertRejects(() => readBody(request, limit), HttpError);
  assertEquals([error.status, seen.taken], [413, 0]);
  assertStringIncludes(error.message, "larger than 1000 bytes");
});

Deno.test("`readBody()` tells its limit in the unit that people read", async () => {
  const table: [limit: number, size: string][] = [
    [8 * 2 ** 20, "8 MiB"],
    [256 * 2 ** 10, "256 KiB"],
    [2 ** 20 + 1, "1048577 bytes"],
    [0, "0 bytes"],
  ];
  for (const [limit, size] of table) {
    const request = post("x", "", { "content-length": `${limit + 1}` });
    const error = await assertRejects(
      () => readBody(request, limit),
      HttpError,
    );
    assertEquals(
      error.message,
      `Cannot read the request body: it is larger than ${size}`,
    );
  }
});

Deno.test("`readBody()` stops at the chunk that exceeds the limit", async () => {
  const { seen, stream } = streamOf(Array(100).fill("x".repeat(400)));
  const error = await assertRejects(
    () => readBody(post(stream), limit),
    HttpError,
  );
  assertEquals([error.status, seen.taken, seen.cancelled], [413, 3, true]);
});

Deno.test("`readBody()` refuses a body that ends early with 400", async () => {
  const short = post(streamOf(["abc"]).stream, "", { "content-length": "10" });
  const lost = post(streamOf(["abc"], "fail").stream);
  for (const request of [short, lost]) {
    const error = await assertRejects(
      () => readBody(request, limit),
      HttpError,
    );
    assertEquals([error.status, error.message], [
      400,
      "Cannot read the request body: it ended early",
    ]);
  }
});

Deno.test("`readBody()` refuses a body that does not come in time with 408", async () => {
  const { seen, stream } = streamOf(["abc"], "hang");
  const error = await assertRejects(
    () => readBody(post(stream), limit, 0.01),
    HttpError,
  );
  assertEquals([error.status, seen.cancelled], [408, true]);
});

Deno.test("`readBody()` keeps nothing but the bytes of the body", async () => {
  const chunks = Array.from({ length: 99 }, () => "ten bytes.");
  const bytes = await readBody(post(streamOf(chunks).stream), limit);
  assertEquals([bytes.length, bytes.buffer.byteLength], [990, 990]);
});

Deno.test("`readBody()` leaves the chunks of a program's own stream as they are", async () => {
  const chunk = new TextEncoder().encode("abc");
  const body = ReadableStream.from([chunk, chunk]);
  assertEquals(text(await readBody(post(body), limit)), "abcabc");
  assertEquals(text(chunk), "abc");
});

Deno.test("`readBody()` refuses a stream of anything but bytes", async () => {
  const body = ReadableStream.from(["abc"]) as unknown as BodyInit;
  const error = await assertRejects(
    () => readBody(post(body), limit),
    HttpError,
  );
  assertEquals(error.status, 400);
});

Deno.test("`hasBody()` is false where there is none to read", async () => {
  const init = { method: "POST" };
  const url = "http://localhost/";
  assertEquals(hasBody(new Request(url)), false);
  assertEquals(hasBody(new Request(url, init)), false);
  assertEquals(hasBody(post("a")), true);
  const claimed = { ...init, headers: { "content-length": "3" } };
  assertEquals(hasBody(new Request(url, claimed)), false);
  const empty = post(streamOf([]).stream);
  assertEquals(hasBody(empty), true);
  assertEquals((await readBody(empty, limit)).length, 0);
});

Deno.test("`readBody()` leaves no timer behind when the body comes in time", async () => {
  assertEquals(text(await readBody(post("abc"), limit, 1e9)), "abc");
});
