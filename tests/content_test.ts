/** Tests of {@linkcode decode} and {@linkcode parseForm}: what the bytes of a body mean. */

import {
  assert,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { HttpError } from "@framework/core";
import { decode, parseForm } from "../src/request/body.ts";

/** What bytes mean by their type. */
function meaningOf(bytes: Uint8Array<ArrayBuffer>, type: string) {
  return {
    text: () => decode(bytes, type),
    get data() {
      return parseForm(bytes, type).data;
    },
  };
}

function contentOf(text: string, type: string) {
  return meaningOf(new TextEncoder().encode(text), type);
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

Deno.test("`text()` decodes by the charset of the type", () => {
  const table: [string, number[], string][] = [
    ["text/plain", [0xc3, 0xbc], "ü"],
    ["text/plain; charset=utf8", [0xc3, 0xbc], "ü"],
    ["text/plain; charset=ISO-8859-1", [0xfc], "ü"],
    ['text/plain; a=b; charset="utf-16le"', [0xfc, 0x00], "ü"],
    ["text/plain", [0xff], "\ufffd"],
  ];
  for (const [type, bytes, text] of table) {
    assertEquals(meaningOf(new Uint8Array(bytes), type).text(), text, type);
  }
});

Deno.test("`text()` refuses an unknown charset with 415", () => {
  const error = assertThrows(
    () => contentOf("a", "text/plain; charset=klingon").text(),
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
    const content = contentOf(
      text,
      "Application/X-WWW-Form-URLEncoded; charset=utf-8",
    );
    assertEquals(plain(content.data), expected, text);
  }
});

Deno.test("`data` of a form refuses more fields than the limit with 413", () => {
  const content = contentOf(
    "a&".repeat(1_001),
    "application/x-www-form-urlencoded",
  );
  const error = assertThrows(
    () => content.data,
    HttpError,
    "more than 1000 fields",
  );
  assertEquals(error.status, 413);
});

Deno.test("`data` keeps U+FEFF at the start of a form", () => {
  const type = "application/x-www-form-urlencoded";
  for (const start of ["\ufeff", "%EF%BB%BF"]) {
    const { data } = contentOf(`${start}a=1&b=2`, type);
    assertEquals(plain(data), { "\ufeffa": "1", b: "2" });
  }
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
    assertEquals(
      plain(contentOf(text, type).data),
      expected,
      `${type} ${text}`,
    );
  }
});

Deno.test("`data` decodes JSON by the charset of the type", () => {
  const bytes = new Uint8Array(
    [...'{"a":"'].map((c) => c.charCodeAt(0)).concat(0xfc, 0x22, 0x7d),
  );
  assertEquals(
    plain(meaningOf(bytes, "application/json; charset=latin1").data),
    { a: "ü" },
  );
  const error = assertThrows(
    () => meaningOf(bytes, "application/json").data,
    HttpError,
  );
  assertEquals(error.status, 400);
});

Deno.test("`data` reads a JSON member `__proto__` as plain data", () => {
  const { data } = contentOf(
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
      () => contentOf(text, "application/json").data,
      HttpError,
    );
    assertEquals(error.status, 400, text);
    assertStringIncludes(error.message, message, text);
  }
});

Deno.test("`data` does not repeat malformed JSON to the client", () => {
  const content = contentOf('{"password":"hunter2","x":]}', "application/json");
  const error = assertThrows(
    () => content.data,
    HttpError,
    "Unexpected token ']'",
  );
  assert(!error.message.includes("hunter2"));
});

Deno.test("`data` throws the same refusal on every reading, and the text stays", () => {
  const content = contentOf("{", "application/json");
  for (let time = 0; time < 2; time++) {
    assertThrows(() => content.data, HttpError);
  }
  assertEquals(content.text(), "{");
});

Deno.test("`data` refuses deep and malformed JSON with 400", () => {
  const deep = "[".repeat(100_000);
  for (const text of [deep, deep + "]".repeat(100_000)]) {
    const { status } = assertThrows(
      () => contentOf(text, "application/json").data,
      HttpError,
    );
    assertEquals(status, 400);
  }
});

Deno.test("`data` reads a long type in one pass", () => {
  // A pass for each slash would take twenty minutes.
  assertEquals(plain(contentOf("{}", "/".repeat(1_000_000)).data), {});
  assertEquals(plain(contentOf('{"a":1}', "a/b+json").data), { a: 1 });
});
