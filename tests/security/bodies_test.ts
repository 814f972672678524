/** Bodies and fields as an attacker sends them: too large, too slow, cut short, too many, too deep, with names of the language. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Engine } from "@framework/core";
import { secondsOf } from "../support/clock.ts";
import { RawConnection } from "../support/raw_http.ts";

const FORM = "application/x-www-form-urlencoded";
const JSON_TYPE = "application/json";

function post(
  body: BodyInit,
  type = "text/plain",
  headers: Record<string, string> = {},
): Request {
  return new Request("http://localhost/", {
    method: "POST",
    body,
    headers: { ...headers, "content-type": type },
  });
}

/** An application that counts the bytes of bodies, of 1,000 at most, and how often it was called. */
function counter() {
  const app = new Engine();
  app.set("framework.body_limit", 1_000);
  const seen = { calls: 0 };
  app.post("/", async () => {
    seen.calls += 1;
    return `${(await app.request().raw.bytes()).length} bytes`;
  });
  return { app, seen };
}

/** The status of the response, whose body nobody reads. */
async function statusOf(app: Engine, request: Request): Promise<number> {
  const response = await app.fetch(request);
  await response.body?.cancel();
  return response.status;
}

/** A body in chunks that tells how many were taken, and whether it was cancelled. */
function streamOf(
  chunks: string[],
  end: "close" | "hang" = "close",
  secondsBetween = 0,
) {
  const seen = { taken: 0, isCancelled: false };
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = chunks[seen.taken];
      if (secondsBetween > 0) {
        await new Promise((resolve) =>
          setTimeout(resolve, secondsBetween * 1_000)
        );
      }
      if (seen.isCancelled) return;
      if (chunk !== undefined) {
        controller.enqueue(new TextEncoder().encode(chunk));
      } else if (end === "close") controller.close();
      else await new Promise(() => {});
      seen.taken++;
    },
    cancel() {
      seen.isCancelled = true;
    },
  }, { highWaterMark: 0 });
  return { seen, stream };
}

Deno.test("a body of exactly the limit is taken, in any chunks", async () => {
  const { app } = counter();
  for (const count of [1, 4, 1_000]) {
    const chunks = Array(count).fill("x".repeat(1_000 / count));
    const response = await app.fetch(post(streamOf(chunks).stream));
    assertEquals(await response.text(), "1000 bytes");
  }
});

Deno.test("a declared length above the limit is a 413 without reading", async () => {
  const { app, seen } = counter();
  const body = streamOf(["x"]);
  const request = post(body.stream, FORM, { "content-length": "1001" });
  assertEquals(await statusOf(app, request), 413);
  assertEquals([body.seen.taken, seen.calls], [0, 0]);
});

Deno.test("a body is read no further than the chunk that exceeds the limit", async () => {
  const { app, seen } = counter();
  const body = streamOf(Array(100).fill("x".repeat(400)));
  assertEquals(await statusOf(app, post(body.stream)), 413);
  assertEquals([body.seen.taken, body.seen.isCancelled], [3, true]);
  assertEquals(seen.calls, 0);
});

Deno.test("a body that has not arrived within `framework.body_timeout` is a 408, also when it trickles", async () => {
  const { app, seen } = counter();
  const hanging = streamOf(["abc"], "hang");
  const trickling = streamOf(Array(100).fill("x"), "close", 20);
  for (const { stream } of [hanging, trickling]) {
    const seconds = await secondsOf(async () => {
      assertEquals(await statusOf(app, post(stream)), 408);
    });
    assertEquals(seconds, 30);
  }
  assertEquals(seen.calls, 0);
});

Deno.test("a served body is refused as soon as that is known", async () => {
  const app = new Engine();
  app.set({ "framework.body_limit": 10, "framework.body_timeout": 0.05 });
  app.post("/", () => app.request().getBody());
  await using server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const table: [status: number, sent: string][] = [
    [413, "Content-Length: 300000\r\n\r\nx"],
    [413, "Content-Length: 11\r\n\r\n01234567890"],
    [413, "Transfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n"],
    [408, "Content-Length: 5\r\n\r\nx"],
    [408, "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"],
    [400, "Content-Length: 5\r\n\r\nx"],
    [400, "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"],
  ];
  for (const [status, sent] of table) {
    using connection = await RawConnection.open(port);
    await connection.send(`POST / HTTP/1.1\r\nHost: a\r\n${sent}`);
    if (status === 400) await connection.end();
    const response = await connection.receive("\r\n\r\n");
    assertStringIncludes(response, `HTTP/1.1 ${status} `, sent);
    const closing = response.match(/^connection: close\r$/gim);
    assert((closing?.length ?? 0) <= 1, `${sent}\n${response}`);
  }
});

Deno.test("more than 1,000 fields are refused: a 400 in a query, a 413 in a form", async () => {
  const app = new Engine();
  app.get("/", () => Object.keys(app.request().query));
  app.post("/", () => Object.keys(app.request().data));
  const fields = "a=1&".repeat(999) + "b=2";
  const query = new Request(`http://localhost/?${fields}`);
  assertEquals(await (await app.fetch(query)).json(), ["a", "b"]);
  const form = await app.fetch(post(fields, FORM));
  assertEquals(await form.json(), ["a", "b"]);
  const more = `${fields}&c`;
  const longer = new Request(`http://localhost/?${more}`);
  assertEquals(await statusOf(app, longer), 400);
  assertEquals(await statusOf(app, post(more, FORM)), 413);
});

Deno.test("names of the language are plain data in queries, forms, JSON and cookies", async () => {
  const app = new Engine();
  app.route("*", () => {
    const { query, data, cookies } = app.request();
    return [query, data, cookies].map((record) => [
      Object.keys(record),
      record.polluted === undefined && record.toString === undefined,
    ]);
  });
  const fields = "__proto__[polluted]=1&constructor[prototype][polluted]=2";
  const json = '{"__proto__":{"polluted":1},"constructor":{"prototype":2}}';
  const parts = ["__proto__[polluted]", "constructor"].map((name) =>
    `--X\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n1\r\n`
  );
  const bodies: readonly [body: string, type: string][] = [
    [fields, FORM],
    [json, JSON_TYPE],
    [`${parts.join("")}--X--`, "multipart/form-data; boundary=X"],
  ];
  for (const [body, type] of bodies) {
    const request = new Request(`http://localhost/?${fields}`, {
      method: "POST",
      body,
      headers: { "content-type": type, cookie: "__proto__=1; constructor=2" },
    });
    const names = [["__proto__", "constructor"], true];
    const response = await app.fetch(request);
    assertEquals(await response.json(), [names, names, names]);
  }
  assertEquals(({} as Record<string, unknown>).polluted, undefined);
});

Deno.test("a record where a handler expects text is a 400, not a 500", async () => {
  const app = new Engine();
  app.get("/", () => `Hello, ${app.request().query.name}!`);
  app.post("/", () => `Hello, ${app.request().data.name}!`);
  const requests = [
    new Request("http://localhost/?name[first]=Ada"),
    new Request("http://localhost/?name[0][first]=Ada"),
    post("name[first]=Ada", FORM),
  ];
  for (const request of requests) {
    assertEquals(await statusOf(app, request), 400);
  }
});

Deno.test("deep JSON ends no process, well-formed or not", async () => {
  const app = new Engine();
  app.post("/", () => Object.keys(app.request().data));
  for (const depth of [1_000, 100_000]) {
    const bodies = [
      "[".repeat(depth) + "]".repeat(depth),
      `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`,
      '{"a":'.repeat(depth) + "1" + "}".repeat(depth),
      "[".repeat(depth),
    ];
    for (const body of bodies) {
      const status = await statusOf(app, post(body, JSON_TYPE));
      assert(status === 200 || status === 400, `${depth}: ${status}`);
    }
  }
});

Deno.test("malformed JSON is refused with its place, not repeated to the client", async () => {
  const app = new Engine();
  app.post("/", () => app.request().data);
  app.map("error", (error: Error) => error.message);
  const table = [
    ['{"password":"hunter2","x":]}', "Unexpected token ']'"],
    ['{"hunter2":1,}', "position 13"],
    ['{"hunter2":1', "position 12"],
  ] as const;
  for (const [body, message] of table) {
    const response = await app.fetch(post(body, JSON_TYPE));
    const text = await response.text();
    assertEquals(response.status, 400);
    assertStringIncludes(text, message);
    assert(!text.includes("hunter2"), text);
  }
});

Deno.test("long headers and lists are read in one pass", async () => {
  // A pass for each character or field would take minutes.
  const app = new Engine();
  app.post("/", () => {
    const { data, cookies } = app.request();
    return [Object.keys(data).length, Object.keys(cookies).length];
  });
  const long = 1_000_000;
  const cookie = `a=1${" ".repeat(long)}2; b${" ".repeat(long)}=3`;
  const requests = [
    post("{}", "/".repeat(long)),
    post("a[]=1&".repeat(999), FORM, { cookie }),
    post("a[999999999]=1&a[]=2", FORM),
  ];
  for (const request of requests) {
    assertEquals(await statusOf(app, request), 200);
  }
});

Deno.test("`bodyLimit(0)` refuses a body without reading it", async () => {
  const { app } = counter();
  app.post("/none", () => "").bodyLimit(0);
  const body = streamOf(Array(100).fill("x"));
  const request = new Request("http://localhost/none", {
    method: "POST",
    body: body.stream,
  });
  assertEquals(await statusOf(app, request), 413);
  assert(body.seen.taken <= 2, `${body.seen.taken}`);
});

Deno.test("a flood of small chunks is a 413, long before `framework.body_limit`", async () => {
  const { app, seen } = counter();
  const body = streamOf(Array(20_000).fill("x"));
  assertEquals(await statusOf(app, post(body.stream)), 413);
  assert(body.seen.taken < 10_100, `${body.seen.taken}`);
  assertEquals(seen.calls, 0);
});
