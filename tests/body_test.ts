/** Tests of {@linkcode readBody} and {@linkcode Body}: reading a body and making data of it. */

import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Body, type BodyLimits, readBody } from "../src/request/body.ts";
import { HttpError } from "../src/errors.ts";

const limits: BodyLimits = { bytes: 1_000 };

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

function bodyOf(text: string, type: string): Body {
  return new Body(new TextEncoder().encode(text), type);
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
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
  assertEquals((await readBody(post(stream), limits)).text(), "abcde");
});

Deno.test("`readBody()` answers an empty body where there is none", async () => {
  const body = await readBody(new Request("http://localhost/"), limits);
  assertEquals([body.bytes.length, body.text()], [0, ""]);
});

Deno.test("`readBody()` takes exactly the limit", async () => {
  assertEquals(
    (await readBody(post("x".repeat(1_000)), limits)).bytes.length,
    1_000,
  );
});

Deno.test("`readBody()` refuses a declared length above the limit without reading", async () => {
  const { seen, stream } = streamOf(["x"]);
  const request = post(stream, "", { "content-length": "1001" });
  const error = await assertRejects(() => readBody(request, limits), HttpError);
  assertEquals([error.status, seen.taken], [413, 0]);
  assertStringIncludes(error.message, "larger than 1000 bytes");
});

Deno.test("`readBody()` stops at the chunk that exceeds the limit", async () => {
  const { seen, stream } = streamOf(Array(100).fill("x".repeat(400)));
  const error = await assertRejects(
    () => readBody(post(stream), limits),
    HttpError,
  );
  assertEquals([error.status, seen.taken, seen.cancelled], [413, 3, true]);
});

Deno.test("`readBody()` refuses a body that ends early with 400", async () => {
  const short = post(streamOf(["abc"]).stream, "", { "content-length": "10" });
  const lost = post(streamOf(["abc"], "fail").stream);
  for (const request of [short, lost]) {
    const error = await assertRejects(
      () => readBody(request, limits),
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
    () => readBody(post(stream), limits, 0.01),
    HttpError,
  );
  assertEquals([error.status, seen.cancelled], [408, true]);
  assertEquals(error.headers.get("connection"), "close");
});

Deno.test("`readBody()` leaves no timer behind when the body comes in time", async () => {
  assertEquals((await readBody(post("abc"), limits, 1e9)).text(), "abc");
});

Deno.test("`text()` decodes by the charset of the type", () => {
  const table: [string, number[], string][] = [
    ["text/plain", [0xc3, 0xbc], "ü"],
    ["text/plain; charset=utf8", [0xc3, 0xbc], "ü"],
    ["text/plain; charset=ISO-8859-1", [0xfc], "ü"],
    ['text/plain; a=b; charset="utf-16le"', [0xfc, 0x00], "ü"],
    ["text/plain", [0xff], "\ufffd"],
  ];
  for (const [type, bytes, text] of table) {
    assertEquals(new Body(new Uint8Array(bytes), type).text(), text, type);
  }
});

Deno.test("`text()` refuses an unknown charset with 415", () => {
  const error = assertThrows(
    () => bodyOf("a", "text/plain; charset=klingon").text(),
    HttpError,
  );
  assertEquals(error.status, 415);
  assertStringIncludes(error.message, '"klingon"');
});

Deno.test("`data` holds the fields of a form", () => {
  const table: [string, unknown][] = [
    ["title=A+b&content=%C3%BC", { title: "A b", content: "ü" }],
    ["a=%zz", { a: "%zz" }],
    ["?a=1", { "?a": "1" }],
    ["tags[]=x&tags[]=y", { tags: ["x", "y"] }],
  ];
  for (const [text, expected] of table) {
    const body = bodyOf(
      text,
      "Application/X-WWW-Form-URLEncoded; charset=utf-8",
    );
    assertEquals(plain(body.data), expected, text);
  }
});

Deno.test("`data` of a form refuses more fields than the limit with 413", () => {
  const body = bodyOf("a&".repeat(1_001), "application/x-www-form-urlencoded");
  const error = assertThrows(
    () => body.data,
    HttpError,
    "more than 1000 fields",
  );
  assertEquals(error.status, 413);
});

Deno.test("`data` holds the members of JSON", () => {
  const table: [string, string, unknown][] = [
    ["application/json", '{"a":1,"b":{"c":[2]}}', { a: 1, b: { c: [2] } }],
    ["application/json;charset=utf-8", '{"a":null}', { a: null }],
    ["application/vnd.api+json", '{"a":true}', { a: true }],
    ["text/json", '{"a":1}', { a: 1 }],
    ["application/json", '["x","y"]', { 0: "x", 1: "y" }],
    ["application/json", '\ufeff{"a":1}', { a: 1 }],
    ["application/json", "5", {}],
    ["application/json", '"text"', {}],
    ["application/json", "null", {}],
    ["application/json", "", {}],
    ["application/jsonp", '{"a":1}', {}],
    ["text/plain", '{"a":1}', {}],
    ["", '{"a":1}', {}],
  ];
  for (const [type, text, expected] of table) {
    assertEquals(plain(bodyOf(text, type).data), expected, `${type} ${text}`);
  }
});

Deno.test("`data` decodes JSON by the charset of the type", () => {
  const bytes = new Uint8Array(
    [...'{"a":"'].map((c) => c.charCodeAt(0)).concat(0xfc, 0x22, 0x7d),
  );
  assertEquals(
    plain(new Body(bytes, "application/json; charset=latin1").data),
    { a: "ü" },
  );
  const error = assertThrows(
    () => new Body(bytes, "application/json").data,
    HttpError,
  );
  assertEquals(error.status, 400);
});

Deno.test("`data` reads a JSON member `__proto__` as plain data", () => {
  const { data } = bodyOf(
    '{"__proto__":{"polluted":1},"constructor":2}',
    "application/json",
  );
  assertEquals(Object.getPrototypeOf(data), null);
  assertEquals(Object.keys(data), ["__proto__", "constructor"]);
  assertEquals(data.polluted, undefined);
  assertEquals(({} as Record<string, unknown>).polluted, undefined);
});

Deno.test("`data` refuses malformed JSON with 400 and says what is wrong", () => {
  const padding = `"${"x".repeat(100)}"`;
  const table: [string, string][] = [
    ["[1,]", "Cannot read the JSON body: Unexpected token ']'"],
    ['{"a":1,}', "at position 7"],
    ["{'a':1}", "at position 1"],
    ["[NaN]", "Unexpected token 'N'"],
    [`[${padding},${padding},]`, "Unexpected token ']'"],
    [`{"a":${padding},"b":!}`, "Unexpected token '!'"],
    ['{"a":1', "at position 6"],
    ['{"a" 1}', "at position 5"],
    ['"\n"', "at position 1"],
    ["{", "at position 1"],
    ["[1", "at position 2"],
    ["[", "Unexpected end"],
  ];
  for (const [text, message] of table) {
    const error = assertThrows(
      () => bodyOf(text, "application/json").data,
      HttpError,
    );
    assertEquals(error.status, 400, text);
    assertStringIncludes(error.message, message, text);
  }
});

Deno.test("`data` does not repeat malformed JSON to the client", () => {
  const body = bodyOf('{"password":"hunter2","x":]}', "application/json");
  const error = assertThrows(
    () => body.data,
    HttpError,
    "Unexpected token ']'",
  );
  assert(!error.message.includes("hunter2"));
});

Deno.test("`data` throws the same refusal on every reading, and the text stays", () => {
  const body = bodyOf("{", "application/json");
  for (let time = 0; time < 2; time++) assertThrows(() => body.data, HttpError);
  assertEquals(body.text(), "{");
});

Deno.test("`data` survives deep and malformed JSON", () => {
  const deep = "[".repeat(100_000);
  const { data } = bodyOf(deep + "]".repeat(100_000), "application/json");
  assertEquals(Object.keys(data), ["0"]);
  assertEquals(
    assertThrows(() => bodyOf(deep, "application/json").data, HttpError).status,
    400,
  );
});
