/** The template tag `html`, and the `Markup` that it makes. */

import { Engine, Framework, html, Markup, markup } from "@framework/core";
import {
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { visit } from "../support/forms.ts";

const HOSTILE = `<img onerror="x" alt='y'>&amp;`;
const ESCAPED = "&lt;img onerror=&quot;x&quot; alt=&#39;y&#39;&gt;&amp;amp;";

const PRINTED: [what: string, html: Markup, text: string][] = [
  ["what has no values as it is", html`<p>&amp;</p>`, "<p>&amp;</p>"],
  ["text escaped", html`<p>${HOSTILE}</p>`, `<p>${ESCAPED}</p>`],
  [
    "text escaped in attributes",
    html`<p title="${HOSTILE}" lang='${HOSTILE}'>`,
    `<p title="${ESCAPED}" lang='${ESCAPED}'>`,
  ],
  [
    "markup as it is",
    html`<p>${html`<b>${"<"}</b>`}</p>`,
    "<p><b>&lt;</b></p>",
  ],
  ["marked text as it is", html`${markup("<b>")}`, "<b>"],
  [
    "the items of arrays",
    html`<ul>${["<", html`<li>`, [1, [2]], null]}</ul>`,
    "<ul>&lt;<li>12</ul>",
  ],
  ["nothing for null and undefined", html`[${null}${undefined}]`, "[]"],
  ["numbers and booleans", html`${0} ${NaN} ${false} ${1n}`, "0 NaN false 1"],
  [
    "a record as JSON, escaped",
    html`${{ a: ["<", { b: 1 }] }}`,
    "{&quot;a&quot;:[&quot;&lt;&quot;,{&quot;b&quot;:1}]}",
  ],
];

for (const [what, made, text] of PRINTED) {
  Deno.test(`\`html\` prints ${what}`, () => {
    assertInstanceOf(made, Markup);
    assertEquals(String(made), text);
  });
}

Deno.test("`html` refuses a promise, also of a library, whose text is not there yet", () => {
  for (const promise of [Promise.resolve("text"), { then: () => {} }]) {
    assertThrows(
      () => html`<p>${promise}</p>`,
      TypeError,
      "Cannot render a promise in html: await it first",
    );
  }
});

Deno.test("the first program of `README.md` escapes what its path brings", async () => {
  const readme = await Deno.readTextFile("README.md");
  const [, program] = /```ts\n([^]+?)```/.exec(readme)!;
  const before = Framework.app();
  Framework.app(new Engine());
  try {
    await import(`data:application/typescript,${encodeURIComponent(program!)}`);
    const script = encodeURIComponent("<img onerror=alert(1) src=x>");
    const response = await visit(Framework, `/hello/${script}/${script}`);
    assertMatch(
      await response.text(),
      /^<p>&lt;img [^<]+, &lt;img [^<]+<\/p>$/,
    );
  } finally {
    Framework.app(before);
  }
});

Deno.test("`html` prints whatever a client makes of a field", async () => {
  const app = new Engine();
  app.post("/", () => {
    const { query, json } = app.request();
    return html`${query.word} ${(json as { word: unknown }).word}`;
  });
  const post = async (query: string, word: unknown): Promise<string> => {
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify({ word }) };
    return (await visit(app, `/?${query}`, init)).text();
  };
  assertEquals(
    await post("word[a]=1&word[toString]=2", { toString: 3 }),
    "{&quot;a&quot;:&quot;1&quot;,&quot;toString&quot;:&quot;2&quot;} " +
      "{&quot;toString&quot;:3}",
  );
});

Deno.test("`html` prints arrays that a client has nested deeply", async () => {
  const app = new Engine();
  app.post("/", () => html`${app.request().json}`);
  const body = "[".repeat(9_999) + "1" + "]".repeat(9_999);
  const headers = { "content-type": "application/json" };
  const response = await visit(app, "/", { method: "POST", body, headers });
  assertEquals(response.status, 200);
  assertStringIncludes(await response.text(), "1");
});

Deno.test("`html` refuses functions and symbols, which nobody means to print", () => {
  const secret = () => "secret";
  assertThrows(
    () => html`${secret}`,
    TypeError,
    "Cannot render a function in html",
  );
  assertThrows(() => html`${[Symbol("s")]}`, TypeError, "a symbol in html");
});
