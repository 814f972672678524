/** The default view: finding templates, what they print, and what their mistakes look like. */

import { Engine, HttpError, markup, type View } from "@framework/core";
import {
  assertEquals,
  assertFalse,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
} from "@std/assert";
import { Folder } from "../support/folder.ts";

type Files = Record<string, string>;

/** An application over a folder of its own with these templates, which is gone with the test. */
async function withViews(
  files: Files,
  test: (app: Engine, folder: string, view: View) => Promise<void>,
): Promise<void> {
  await using folder = new Folder(files);
  const app = new Engine();
  app.set("framework.views.path", folder.path);
  await test(app, folder.path, app.view());
}

/** The text of one template. */
async function rendered(
  template: string,
  data?: Record<string, unknown>,
): Promise<string> {
  let text = "";
  await withViews({ "page.vto": template }, async (_app, _folder, view) => {
    text = await view.fetch("page", data);
  });
  return text;
}

/** The status and text of a response. */
async function visit(app: Engine, path = "/"): Promise<string> {
  const response = await app.fetch(path);
  return `${response.status} ${await response.text()}`;
}

type Print = [
  what: string,
  template: string,
  data: Record<string, unknown>,
  text: string,
];

const PRINTED: Print[] = [
  [
    "text escaped",
    "{{ text }}",
    { text: `<b a="x">'&'` },
    "&lt;b a=&quot;x&quot;&gt;&#39;&amp;&#39;",
  ],
  ["what `safe` lets through", "{{ html |> safe }}", { html: "<b>" }, "<b>"],
  [
    "the items of arrays",
    "{{ list }}",
    { list: ["<", markup("<b>")] },
    "&lt;<b>",
  ],
  ["nothing for null and undefined", "[{{ a }}{{ b }}]", { a: null }, "[]"],
  [
    "data with the names of globals",
    "{{ location }} {{ process }} {{ name }}",
    { location: "Rome", process: 1, name: "Ada" },
    "Rome 1 Ada",
  ],
  [
    "data with the names of classes, and such that are not ASCII",
    "{{ URL }} {{ größe }} {{ new Date(0).getTime() }}",
    { URL: "/", größe: 2 },
    "/ 2 0",
  ],
];

for (const [what, template, data, text] of PRINTED) {
  Deno.test(`a template prints ${what}`, async () => {
    assertEquals(await rendered(template, data), text);
  });
}

Deno.test("a name is looked up as it is, with the extension, then with `.vto`", async () => {
  const files = {
    "a": "bare",
    "a.html": "html",
    "a.vto": "vto",
    "b.html": "html",
    "b.vto": "vto",
    "c.vto": "vto",
    "d/e.vto": "below",
    "d.vto": "beside",
  };
  await withViews(files, async (app, _folder, view) => {
    app.set("framework.views.extension", ".html");
    const names = ["a", "b", "c", "a.vto", "d", "d/e"];
    assertEquals(
      await Promise.all(names.map((name) => view.fetch(name))),
      ["bare", "html", "vto", "vto", "beside", "below"],
    );
    const found = ["a", "nowhere"].map((name) => view.exists(name));
    assertEquals(await Promise.all(found), [true, false]);
  });
});

Deno.test("a missing template is an error that lists what was tried", async () => {
  await withViews({ "home.vto": "" }, async (_app, folder, view) => {
    const tried = ["", ".php", ".vto"].map((end) => `"${folder}/hoem${end}"`);
    await assertRejects(
      () => view.fetch("hoem"),
      Error,
      `Cannot find the template "hoem": tried ${tried.join(", ")}`,
    );
  });
});

/** Names with which a client may try to read other files than templates. */
const ESCAPES = [
  "../secret",
  "../secret.vto",
  "a/../../secret.vto",
  "/../secret.vto",
  "./../secret",
  "..\\secret.vto",
  "out",
  "more/secret",
  "a\0b",
  "x".repeat(300),
  "a/".repeat(5_000),
];

Deno.test("no name and no link leads out of the views folder", async () => {
  const files = { "secret.vto": "secret", "views/a.vto": "inside" };
  await withViews(files, async (app, folder, view) => {
    app.set("framework.views.path", `${folder}/views`);
    await Deno.symlink(`${folder}/views/a.vto`, `${folder}/views/in.vto`);
    await Deno.symlink(`${folder}/secret.vto`, `${folder}/views/out.vto`);
    await Deno.symlink(folder, `${folder}/views/more`);
    assertEquals(await view.fetch("in"), "inside");
    for (const name of [...ESCAPES, `${folder}/secret.vto`]) {
      assertFalse(await view.exists(name), name);
      await assertRejects(
        () => view.fetch(name),
        Error,
        "Cannot find the template",
      );
    }
  });
});

Deno.test("templates include others from their own folder, and none from outside of the views folder", async () => {
  const files = {
    "secret.vto": "secret",
    "views/a/page.vto": `{{ include "./part" }}{{ include "part" }}`,
    "views/a/part.vto": "near",
    "views/part.vto": "far",
    "views/out.vto": `{{ include "../secret.vto" }}`,
  };
  await withViews(files, async (app, folder, view) => {
    app.set("framework.views.path", `${folder}/views`);
    assertEquals(await view.fetch("a/page"), "nearfar");
    await assertRejects(
      () => view.fetch("out"),
      Error,
      "Cannot find the template",
    );
  });
});

Deno.test("a template's layout gets its output as markup", async () => {
  const files = {
    "layout.vto": "<title>{{ title }}</title>{{ content }}",
    "page.vto": `{{ layout "layout" }}<p>{{ text }}</p>`,
  };
  await withViews(files, async (_app, _folder, view) => {
    assertEquals(
      await view.fetch("page", { title: "A & B", text: "<" }),
      "<title>A &amp; B</title><p>&lt;</p>",
    );
  });
});

Deno.test("`render()` lands in the order of the calls when it is not awaited", async () => {
  const files = { "slow.vto": "{{ await pause }}slow", "fast.vto": "fast" };
  await withViews(files, async (app) => {
    app.route("/", () => {
      const { promise: pause, resolve } = Promise.withResolvers<void>();
      app.render("slow", { pause });
      app.response().write("-");
      app.render("fast").then(() => resolve());
    });
    assertEquals(await visit(app), "200 slow-fast");
  });
});

const MISTAKES: [what: string, template: string, line: number, text: string][] =
  [
    ["a call of nothing", "<p>\n\n{{ greet() }}", 3, "greet is not a function"],
    ["a tag that is not closed", "<p>\n{{ if true }}\nx", 2, "Missing closing"],
    ["wrong JavaScript", "<p>\n{{ 1 }}\n{{ a b }}\n", 3, "missing ) after"],
    ["a missing part", "\n{{ include 'p' }}", 2, "Cannot find the template"],
    [
      "a loop over a promise",
      "{{ for a of Promise.resolve([]) }}{{ /for }}",
      1,
      "a loop cannot iterate over a promise",
    ],
  ];

for (const [what, template, line, text] of MISTAKES) {
  Deno.test(`an error of a template names file and line: ${what}`, async () => {
    await withViews({ "page.vto": template }, async (_app, folder, view) => {
      const error = await assertRejects(() => view.fetch("page"), Error, text);
      assertStringIncludes(
        error.message,
        `Cannot render "${folder}/page.vto" at line ${line}: `,
      );
      const shown = template.split("\n")[line - 1];
      assertStringIncludes(error.message, `\n  ${line} | ${shown}`);
    });
  });
}

Deno.test("an error of a template has what was thrown in it as its cause, and names the included template", async () => {
  const files = {
    "page.vto": `{{ include "part" }}`,
    "part.vto": "\n{{ fail() }}",
  };
  await withViews(files, async (_app, folder, view) => {
    const cause = new RangeError("too much");
    const fail = () => {
      throw cause;
    };
    const error = await assertRejects(
      () => view.fetch("page", { fail }),
      Error,
      `"${folder}/part.vto" at line 2: too much`,
    );
    assertStrictEquals(error.cause, cause);
  });
});

Deno.test("an `HttpError` leaves a template as it is", async () => {
  const thrown = new HttpError(403, "Members only");
  const fail = () => {
    throw thrown;
  };
  const caught = await rendered("{{ fail() }}", { fail }).catch((e) => e);
  assertStrictEquals(caught, thrown);
});

Deno.test("the 500 of a template shows no code of it", async () => {
  await withViews({ "page.vto": "\n{{ fail() }}" }, async (app) => {
    app.route("/", () => app.render("page"));
    const page = await visit(app);
    assertMatch(page, /^500 /);
    assertFalse(page.includes("fail()"));
  });
});

Deno.test("a loop over a number counts to 10,000 at most", async () => {
  const template = "{{ for n of count }}.{{ /for }}";
  const text = await rendered(template, { count: 10_000 });
  assertEquals(text.length, 10_000);
  for (const count of [10_001, 1e8, Infinity, () => 1e8]) {
    await assertRejects(
      () => rendered(template, { count }),
      Error,
      "at line 1: a loop can count to 10000, got ",
    );
  }
});

Deno.test("a template that was missing or wrong is read again", async () => {
  const files = { "wrong.vto": "{{ if }}" };
  await withViews(files, async (_app, folder, view) => {
    for (const name of ["wrong", "missing"]) {
      await assertRejects(() => view.fetch(name));
      await Deno.writeTextFile(`${folder}/${name}.vto`, "fine");
      assertEquals(await view.fetch(name), "fine");
    }
  });
});
