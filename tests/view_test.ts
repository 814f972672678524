/** The default view: finding templates, rendering them, and what their mistakes look like. */

import {
  assertEquals,
  assertFalse,
  assertInstanceOf,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Engine, HttpError, markup, type View } from "@framework/core";
import { visit } from "./forms.ts";
import { logOf } from "./log.ts";
import { ServerProcess } from "./server_child.ts";

type Files = Record<string, string>;

/** The view of an application over a folder of its own, which is gone with the test. */
async function withView(
  files: Files,
  test: (view: View, folder: string, app: Engine) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "view" });
  try {
    for (const [name, text] of Object.entries(files)) {
      const file = `${folder}/${name}`;
      await Deno.mkdir(file.replace(/[^/]*$/, ""), { recursive: true });
      await Deno.writeTextFile(file, text);
    }
    const app: Engine = new Engine();
    app.set("framework.views.path", folder);
    await test(app.view(), folder, app);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Makes a symbolic link; Deno itself does so only for who may write everywhere. */
async function link(target: string, path: string): Promise<void> {
  await new Deno.Command("ln", { args: ["-s", target, path] }).output();
}

/** Renders one template. */
async function rendered(
  template: string,
  data?: Record<string, unknown>,
): Promise<string> {
  let text = "";
  await withView({ "page.vto": template }, async (view) => {
    text = await view.fetch("page", data);
  });
  return text;
}

const prints: [
  what: string,
  template: string,
  data: Record<string, unknown>,
  text: string,
][] = [
  ["a value", "Hello {{ name }}", { name: "Ann" }, "Hello Ann"],
  [
    "markup escaped",
    "{{ text }}",
    { text: `<b a="x">'&'` },
    "&lt;b a=&quot;x&quot;&gt;&#39;&amp;&#39;",
  ],
  ["zero", "{{ count }}", { count: 0 }, "0"],
  ["false", "{{ open }}", { open: false }, "false"],
  ["NaN", "{{ count }}", { count: NaN }, "NaN"],
  ["nothing for null and undefined", "[{{ a }}{{ b }}]", { a: null }, "[]"],
  [
    "the items of arrays",
    "{{ list }}",
    { list: ["<", markup("<b>")] },
    "&lt;<b>",
  ],
  ["marked text as it is", "{{ html }}", { html: markup("<b>") }, "<b>"],
  ["what `safe` lets through", "{{ html |> safe }}", { html: "<b>" }, "<b>"],
  ["a name that is global", "{{ location }} {{ process }}", {
    location: "Berlin",
    process: 1,
  }, "Berlin 1"],
  [
    "a global that the data do not have",
    "{{ encodeURIComponent('a b') }}",
    {},
    "a%20b",
  ],
  [
    "nothing for a global of the runtime that the data do not have",
    "[{{ close }}{{ self }}{{ location }}{{ name }}]",
    {},
    "[]",
  ],
  [
    "what a global filter and a class make",
    "{{ 'a' |> btoa }} {{ new URL('http://a.test/b').pathname }}",
    {},
    "YQ== /b",
  ],
  ["a property of a global's name", "{{ post.location }}", {
    post: { location: "Rome" },
  }, "Rome"],
  [
    "a name that is not ASCII",
    "{{ größe }} {{ $x }}",
    { größe: 3, $x: 4 },
    "3 4",
  ],
  [
    "a global that the template declares",
    "{{> const URL = 1 }}{{ URL }}",
    {},
    "1",
  ],
  [
    "a global that the template sets",
    "{{ set location = 2 }}{{ location }}",
    {},
    "2",
  ],
  [
    "a loop variable of a global's name",
    "{{ for event of [1, 2] }}{{ event }}{{ /for }}",
    {},
    "12",
  ],
  ["`undefined`", "{{ a === undefined }}", {}, "true"],
  ["all data at once", "{{ it.name }}", { name: "Ann" }, "Ann"],
];

for (const [what, template, data, text] of prints) {
  Deno.test(`\`fetch()\` prints ${what}`, async () => {
    assertEquals(await rendered(template, data), text);
  });
}

Deno.test("`fetch()` looks for the name, the name with the extension and the name with `.vto`", async () => {
  const files = {
    "a": "bare",
    "a.html": "html",
    "a.vto": "vto",
    "b.html": "html",
    "b.vto": "vto",
    "c.vto": "vto",
  };
  await withView(files, async (view, _folder, app) => {
    app.set("framework.views.extension", ".html");
    const found = await Promise.all(
      ["a", "b", "c", "a.vto"].map((name) => view.fetch(name)),
    );
    assertEquals(found, ["bare", "html", "vto", "vto"]);
  });
});

Deno.test("`fetch()` reads `.php` files with the default extension", async () => {
  await withView({ "home.php": "Hi {{ name }}" }, async (view) => {
    assertEquals(await view.fetch("home", { name: "Ann" }), "Hi Ann");
  });
});

Deno.test("`fetch()` passes over a folder of the template's name", async () => {
  await withView(
    { "home/part.vto": "part", "home.vto": "home" },
    async (view) => {
      assertEquals(await view.fetch("home"), "home");
      assertEquals(await view.fetch("home/part"), "part");
    },
  );
});

Deno.test("`fetch()` lists what it tried when there is no template", async () => {
  await withView({}, async (view, folder) => {
    await assertRejects(
      () => view.fetch("home"),
      Error,
      `Cannot find the template "home": tried "${folder}/home", "${folder}/home.php", "${folder}/home.vto"`,
    );
  });
});

Deno.test("`fetch()` suggests the near templates of the folder when there is none of that name", async () => {
  const files = {
    "home.vto": "",
    "posts/show.php": "",
    "posts/shop/x.vto": "",
  };
  const table: [name: string, hint: string][] = [
    ["hoem", 'hoem.vto": did you mean "home"?'],
    ["posts/shwo", 'shwo.vto": did you mean "posts/show"'],
    ["nowhere/show", 'show.vto"\n'],
    ["/../hoem", 'hoem.vto": did you mean "home"?'],
  ];
  await withView(files, async (view) => {
    for (const [name, hint] of table) {
      const error = await assertRejects(() => view.fetch(name), Error);
      assertStringIncludes(`${error.message}\n`, hint);
    }
  });
});

const escapes = [
  "../secret",
  "../secret.vto",
  "a/../../secret.vto",
  "/../secret.vto",
  "..\\secret.vto",
  "./../secret",
];

for (const name of escapes) {
  Deno.test(`\`fetch()\` stays in the views folder for ${JSON.stringify(name)}`, async () => {
    await withView(
      { "secret.vto": "secret", "views/a/b.vto": "" },
      async (view, folder, app) => {
        app.set("framework.views.path", `${folder}/views`);
        await assertRejects(
          () => view.fetch(name),
          Error,
          `tried "${folder}/views/secret`,
        );
        assertFalse(await view.exists(name));
      },
    );
  });
}

Deno.test("`fetch()` refuses the path of a file that exists elsewhere", async () => {
  await withView(
    { "secret.vto": "secret", "views/a.vto": "" },
    async (view, folder, app) => {
      app.set("framework.views.path", `${folder}/views`);
      await assertRejects(
        () => view.fetch(`${folder}/secret.vto`),
        Error,
        "Cannot find the template",
      );
    },
  );
});

Deno.test("`fetch()` follows links inside the views folder and none out of it", async () => {
  await withView(
    { "views-2/secret.vto": "secret", "views/a.vto": "inside" },
    async (view, folder, app) => {
      app.set("framework.views.path", `${folder}/views`);
      await link(`${folder}/views/a.vto`, `${folder}/views/in.vto`);
      await link(
        `${folder}/views-2/secret.vto`,
        `${folder}/views/out.vto`,
      );
      await link(`${folder}/views-2`, `${folder}/views/more`);
      assertEquals(await view.fetch("in"), "inside");
      await assertRejects(
        () => view.fetch("out"),
        Error,
        "Cannot find the template",
      );
      await assertRejects(
        () => view.fetch("more/secret"),
        Error,
        "Cannot find the template",
      );
    },
  );
});

Deno.test("`fetch()` keeps what templates include in the views folder", async () => {
  const files = {
    "secret.vto": "secret",
    "views/a.vto": `{{ include "../../secret.vto" }}`,
  };
  await withView(files, async (view, folder, app) => {
    app.set("framework.views.path", `${folder}/views`);
    await assertRejects(
      () => view.fetch("a"),
      Error,
      "Cannot find the template",
    );
  });
});

Deno.test("`fetch()` finds included templates from the folder of the including one", async () => {
  const files = {
    "a/page.vto": `{{ include "./part" }}{{ include "part" }}`,
    "a/part.vto": "near",
    "part.vto": "far",
  };
  await withView(files, async (view) => {
    assertEquals(await view.fetch("a/page"), "nearfar");
  });
});

Deno.test("`fetch()` puts a page into its layout, escaped once", async () => {
  const files = {
    "layout.vto": "<title>{{ title }}</title>{{ content }}",
    "page.vto": `{{ layout "layout" }}<p>{{ text }}</p>`,
  };
  await withView(files, async (view) => {
    assertEquals(
      await view.fetch("page", { title: "A & B", text: "<" }),
      "<title>A &amp; B</title><p>&lt;</p>",
    );
  });
});

Deno.test("`set()` gives a variable to every template, and the data win over it", async () => {
  await withView({ "page.vto": "{{ site }}/{{ name }}" }, async (view) => {
    view.set("site", "Blog");
    view.set({ name: "nobody" });
    assertEquals(await view.fetch("page"), "Blog/nobody");
    assertEquals(await view.fetch("page", { name: "Ann" }), "Blog/Ann");
    assertThrows(() => view.set(null as never), TypeError);
  });
});

Deno.test("`get()`, `has()` and `clear()` read and clear variables", async () => {
  await withView({}, (view) => {
    view.set({ a: 1, b: 0, c: null });
    assertEquals([view.get("a"), view.get("d")], [1, undefined]);
    assertEquals(["a", "b", "c", "d"].map((name) => view.has(name)), [
      true,
      true,
      false,
      false,
    ]);
    view.clear("a");
    assertEquals([view.has("a"), view.has("b")], [false, true]);
    view.clear();
    assertFalse(view.has("b"));
    return Promise.resolve();
  });
});

Deno.test("`fetch()` keeps the locals of one render from the next", async () => {
  await withView({
    "page.vto": "{{ name }}{{ set extra = 1 }}",
    "next.vto": "[{{ name }}{{ extra }}]",
  }, async (view) => {
    const data = { name: "Ann" };
    await view.fetch("page", data);
    assertEquals(await view.fetch("next"), "[]");
    assertEquals(data, { name: "Ann" });
  });
});

Deno.test("`fetch()` keeps overlapping renders apart", async () => {
  await withView(
    { "page.vto": "{{ name }}{{ await pause }}{{ name }}" },
    async (view) => {
      const names = Array.from({ length: 50 }, (_, index) => `${index}`);
      const texts = await Promise.all(
        names.map((name) =>
          view.fetch("page", { name, pause: Promise.resolve("-") })
        ),
      );
      assertEquals(
        texts,
        names.map((name) => `${name}-${name}`),
      );
    },
  );
});

Deno.test("`exists()` tells whether a name has a template", async () => {
  await withView({ "home.vto": "" }, async (view) => {
    const found = await Promise.all(
      ["home", "home.vto", "away"].map((name) => view.exists(name)),
    );
    assertEquals(found, [true, true, false]);
  });
});

Deno.test("`exists()` is false, and `fetch()` finds nothing, for names that no file can have", async () => {
  await withView({ "home.vto": "" }, async (view) => {
    for (
      const name of ["x".repeat(300), "a/".repeat(5_000), "a\0b", "home.vto/x"]
    ) {
      assertFalse(await view.exists(name));
      await assertRejects(
        () => view.fetch(name),
        Error,
        "Cannot find the template",
      );
    }
  });
});

Deno.test("`fetch()` compiles a template once, however its name is written", async () => {
  await withView({ "page.vto": "1" }, async (view, folder) => {
    assertEquals(await view.fetch("page"), "1");
    await Deno.writeTextFile(`${folder}/page.vto`, "2");
    assertEquals(await view.fetch("./page"), "1");
    assertEquals(await view.fetch("a/..//page"), "1");
  });
});

Deno.test("`fetch()` says so when a template includes what has no name", async () => {
  await withView({ "page.vto": "\n{{ include part }}" }, async (view) => {
    await assertRejects(
      () => view.fetch("page"),
      Error,
      "at line 2: Invalid template name (undefined)",
    );
  });
});

Deno.test("`fetch()` finds a template that was missing the first time", async () => {
  await withView(
    { "page.vto": `{{ include "part" }}` },
    async (view, folder) => {
      await assertRejects(
        () => view.fetch("page"),
        Error,
        `Cannot find the template "part"`,
      );
      await Deno.writeTextFile(`${folder}/part.vto`, "part");
      assertEquals(await view.fetch("page"), "part");
    },
  );
});

Deno.test("`fetch()` reads a template again after it could not be compiled", async () => {
  await withView({ "page.vto": "{{ if }}" }, async (view, folder) => {
    await assertRejects(() => view.fetch("page"));
    await Deno.writeTextFile(`${folder}/page.vto`, "fine");
    assertEquals(await view.fetch("page"), "fine");
  });
});

Deno.test("`fetch()` reads a changed template at once under `framework.debug` only", async () => {
  await withView({
    "page.vto": "{{ layout 'frame' }}1",
    "frame.vto": "<{{ content }}>",
  }, async (view, folder, app) => {
    assertEquals(await view.fetch("page"), "<1>");
    await Deno.writeTextFile(`${folder}/frame.vto`, "[{{ content }}]");
    assertEquals(await view.fetch("page"), "<1>");
    app.set("framework.debug", true);
    assertEquals(await view.fetch("page"), "[1]");
  });
});

Deno.test("`fetch()` follows an extension that changes", async () => {
  await withView(
    { "page.php": "php", "page.html": "html" },
    async (view, _folder, app) => {
      assertEquals(await view.fetch("page"), "php");
      app.set("framework.views.extension", ".html");
      assertEquals(await view.fetch("page"), "html");
    },
  );
});

Deno.test("`fetch()` follows a views folder that changes", async () => {
  await withView(
    { "one/page.vto": "1", "two/page.vto": "2" },
    async (view, folder, app) => {
      app.set("framework.views.path", `${folder}/one/`);
      assertEquals(await view.fetch("page"), "1");
      app.set("framework.views.path", `${folder}/two`);
      assertEquals(await view.fetch("page"), "2");
    },
  );
});

const mistakes: [
  what: string,
  template: string,
  line: number,
  text: string,
  message: string,
][] = [
  [
    "a call of nothing",
    "<p>\n\n  {{ greet() }}\n",
    3,
    "  {{ greet() }}",
    "greet is not a function",
  ],
  [
    "a tag that is not closed",
    "<p>\n{{ if true }}\nx",
    2,
    "{{ if true }}",
    `Missing closing tag`,
  ],
  [
    "JavaScript that does not parse",
    "<p>\n{{ 1 }}\n{{ a b }}\n",
    3,
    "{{ a b }}",
    "missing ) after argument list",
  ],
  [
    "a missing part",
    "<p>\n{{ include 'part' }}",
    2,
    "{{ include 'part' }}",
    `Cannot find the template "part"`,
  ],
];

for (const [what, template, line, text, message] of mistakes) {
  Deno.test(`\`fetch()\` shows the template's file and line for ${what}`, async () => {
    await withView({ "page.vto": template }, async (view, folder) => {
      const error = await assertRejects(
        () => view.fetch("page"),
        Error,
        message,
      );
      assertStringIncludes(
        error.message,
        `Cannot render "${folder}/page.vto" at line ${line}: `,
      );
      assertStringIncludes(error.message, `\n  ${line} | ${text}`);
    });
  });
}

Deno.test("`fetch()` names the included template that failed, with the error as its cause", async () => {
  await withView({
    "page.vto": `{{ include "part" }}`,
    "part.vto": "\n{{ fail() }}",
  }, async (view, folder) => {
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

Deno.test("`fetch()` lets an `HttpError` and what is no error out of a template as it is", async () => {
  await withView({ "page.vto": "{{ fail() }}" }, async (view) => {
    for (const thrown of [new HttpError(403, "Members only"), { stop: true }]) {
      const fail = () => {
        throw thrown;
      };
      const caught = await view.fetch("page", { fail }).catch((
        reason: unknown,
      ) => reason);
      assertStrictEquals(caught, thrown);
    }
  });
});

Deno.test("`fetch()` names the absolute paths that it tried below a relative folder", async () => {
  await withView({}, async (view, _folder, app) => {
    app.set("framework.views.path", "./no-views/");
    const root = `${Deno.cwd()}/no-views`;
    await assertRejects(
      () => view.fetch("home"),
      Error,
      `tried "${root}/home", "${root}/home.php", "${root}/home.vto"`,
    );
  });
});

Deno.test("`fetch()` without the permission to read names the flag of the views folder", async () => {
  await using process = await ServerProcess.start(`
    import { Engine } from "@framework/core";
    const view = new Engine().view();
    for (const work of [view.fetch("home"), view.exists("home")]) {
      await work.catch((error) => console.log(error.name, error.message));
    }
  `);
  await process.ended();
  const line =
    'NotCapable Cannot read the template "./views/home": the permission is missing; run with --allow-read=./views\n';
  assertEquals(process.printed, line + line);
});

const names: [
  what: string,
  template: string,
  locals: Record<string, unknown>,
  reported: string | undefined,
][] = [
  ["that is printed", "<p>\n{{ titel }}", { title: 1 }, '"titel" at line 2'],
  ["that is looped over", "{{ for x of itms }}{{ x }}{{ /for }}", {}, "itms"],
  ["in a filter", '{{ name |> replace("a", b) }}', { name: "x" }, "b"],
  [
    "of which a property is read",
    "{{ post.title }}",
    {},
    "post",
  ],
  [
    "that is there, but undefined",
    "{{ title }}",
    { title: undefined },
    undefined,
  ],
  ["of a global of the runtime", "{{ close }}", {}, '"close" at line 1'],
  ["of a window", "{{ name }}", {}, '"name" at line 1'],
  ["in a text", "{{ if a == 'close' }}x{{ /if }}", { a: 1 }, undefined],
  ["that Vento uses itself", "{{ error }}", {}, '"error" at line 1'],
  ["that is a global", "{{ encodeURIComponent(Math.max(1)) }}", {}, undefined],
  ["that the template sets", "{{ set a = 1 }}{{ a }}", {}, undefined],
  [
    "that the template captures",
    "{{ set a }}x{{ /set }}{{ a }}",
    {},
    undefined,
  ],
  [
    "that the template declares",
    "{{> const [a, { b }] = [1, {}] }}{{ a }}{{ b }}",
    {},
    undefined,
  ],
  [
    "that a loop declares",
    "{{ for [k, v] of {} }}{{ k }}{{ v }}{{ /for }}",
    {},
    undefined,
  ],
  [
    "of a function and its parameter",
    "{{ function f(a) }}{{ a }}{{ /function }}{{ f(1) }}",
    {},
    undefined,
  ],
  [
    "that is an arrow's parameter",
    "{{ [1].map((a) => a) }}{{ [1].map(b => b) }}",
    {},
    undefined,
  ],
  ["that is a key", "{{ JSON.stringify({ a: 1 }) }}", {}, undefined],
  [
    "that the template tests by `if`",
    "{{ if a }}{{ a }}{{ /if }}",
    {},
    undefined,
  ],
  [
    "that the template tests by `!`",
    "{{ if !a && 1 }}x{{ /if }}",
    {},
    undefined,
  ],
  [
    "whose type the template tests",
    "{{ if typeof a }}x{{ /if }}{{ if 1 && typeof b }}x{{ /if }}",
    {},
    undefined,
  ],
  ["that has an alternative", '{{ a ?? "x" }}{{ b || "x" }}', {}, undefined],
  ["that is compared", "{{ a === undefined }}", {}, undefined],
  ["in a text or a comment", '{{# a #}}{{ "b" }}', {}, undefined],
];

for (const [what, template, locals, reported] of names) {
  const verb = reported === undefined ? "passes over" : "reports";
  Deno.test(`\`fetch()\` under debug ${verb} a name ${what}`, async () => {
    const log = await logOf(() =>
      withView({ "page.vto": template }, async (view, _folder, app) => {
        app.set("framework.debug", true);
        await view.fetch("page", locals).catch(() => {});
        await view.fetch("page", locals).catch(() => {});
      })
    );
    assertEquals(log.length, reported === undefined ? 0 : 1, log.join("\n"));
    assertStringIncludes(log.join(), reported ?? "");
  });
}

Deno.test("`fetch()` under debug says what an undefined name may mean, once for each template", async () => {
  const files = {
    "page.vto": '{{ include "part" }}\n{{ titles }}{{ titles }}',
    "part.vto": "{{ titles }}",
  };
  await withView(files, async (view, _folder, app) => {
    const logged = () => logOf(() => view.fetch("page", { title: "x" }));
    assertEquals(await logged(), []);
    app.set("framework.debug", true);
    assertEquals(await logged(), [
      'The template "page" uses the undefined name "titles" at line 2: did you mean "title"?',
      'The template "part" uses the undefined name "titles" at line 1: did you mean "title"?',
    ]);
    assertEquals(await logged(), []);
  });
});

Deno.test("`fetch()` stops a template that includes itself", async () => {
  await withView({ "page.vto": `{{ include "page" }}` }, async (view) => {
    await assertRejects(
      () => view.fetch("page"),
      Error,
      "does it include itself?",
    );
  });
});

Deno.test("`markup()` makes a string that prints unescaped and measures like one", () => {
  const html = markup("<b>");
  assertInstanceOf(html, String);
  assertEquals([`${html}`, html.length, JSON.stringify(html)], [
    "<b>",
    3,
    `"<b>"`,
  ]);
});

/** An application over a folder of templates, and the status and text of its response to a path. */
async function withApp(
  files: Files,
  test: (
    app: Engine,
    visit: (path: string) => Promise<string>,
  ) => Promise<void>,
): Promise<void> {
  await withView(files, async (_view, folder) => {
    const app = new Engine();
    app.set("framework.views.path", folder);
    const visit = async (path: string) => {
      const response = await app.fetch(new Request(`http://localhost${path}`));
      return `${response.status} ${await response.text()}`;
    };
    await test(app, visit);
  });
}

Deno.test("`render()` keeps its output under a key for a later layout, and sends nothing itself", async () => {
  const files = {
    "head.vto": "<h1>{{ title }}</h1>",
    "layout.vto": "[{{ head }}]",
  };
  await withApp(files, async (app, visit) => {
    app.route("/", async () => {
      await app.render("head", { title: "A & B" }, "head");
      await app.render("layout");
    });
    assertEquals(await visit("/"), "200 [<h1>A &amp; B</h1>]");
  });
});

Deno.test("`render()` prints without a key, and where the key is null", async () => {
  await withApp({ "page.vto": "page" }, async (app, visit) => {
    app.route("/", () => app.render("page", {}, null));
    assertEquals(await visit("/"), "200 page");
  });
});

Deno.test("`render()` keeps what is stored under a key from other requests", async () => {
  await withApp(
    { "head.vto": "head", "layout.vto": "[{{ head }}]" },
    async (app, visit) => {
      app.route("/keyed", () => app.render("head", {}, "head"));
      app.route("/plain", () => app.render("layout"));
      assertEquals(await visit("/keyed"), "200 ");
      assertEquals(await visit("/plain"), "200 []");
    },
  );
});

Deno.test("`view()` shares the variables set while declaring, and keeps those of a request in it", async () => {
  await withApp(
    { "page.vto": "{{ site }}/{{ user }}" },
    async (app, visit) => {
      app.view().set({ site: "Blog", user: "nobody" });
      app.route("/ann", () => {
        app.view().set("user", "Ann");
        return app.render("page");
      });
      app.route("/other", () => app.render("page"));
      assertEquals([await visit("/ann"), await visit("/other")], [
        "200 Blog/Ann",
        "200 Blog/nobody",
      ]);
    },
  );
});

Deno.test("`render()` lands in the order of the calls when it is not awaited", async () => {
  await withApp(
    { "slow.vto": "{{ await pause }}slow", "fast.vto": "fast" },
    async (app, visit) => {
      app.route("/", () => {
        const pause = new Promise<void>((resolve) => setTimeout(resolve, 5));
        app.render("slow", { pause });
        app.response().write("-");
        app.render("fast");
      });
      assertEquals(await visit("/"), "200 slow-fast");
    },
  );
});

Deno.test("`render()` overlaps with other requests without mixing their pages", async () => {
  await withApp(
    { "page.vto": "{{ name }}{{ await pause }}{{ head }}" },
    async (app, visit) => {
      app.route("/@name", async (name) => {
        app.view().set("head", name);
        await app.render("page", {
          name,
          pause: new Promise((resolve) => setTimeout(resolve, 1, "-")),
        });
      });
      const names = Array.from({ length: 40 }, (_, index) => `n${index}`);
      const pages = await Promise.all(names.map((name) => visit(`/${name}`)));
      assertEquals(pages, names.map((name) => `200 ${name}-${name}`));
    },
  );
});

Deno.test("`halt()` inside a template ends the request and is no error", async () => {
  await withApp(
    { "page.vto": "before {{ stop() }} after" },
    async (app, visit) => {
      app.route(
        "/",
        () => app.render("page", { stop: () => app.halt(403, "Members only") }),
      );
      app.set("framework.log_errors", true);
      const log = await logOf(async () => {
        assertEquals(await visit("/"), "403 Members only");
      });
      assertEquals(log, []);
    },
  );
});

Deno.test("`render()` of a template that fails is a 500 that does not show its code", async () => {
  await withApp({ "page.vto": "\n{{ fail() }}" }, async (app, visit) => {
    app.route("/", () => app.render("page"));
    const page = await visit("/");
    assertEquals(page.slice(0, 4), "500 ");
    assertFalse(page.includes("fail()"));
  });
});

/** The debug page of a template that calls what is not there. */
async function debugPage(template: string): Promise<string> {
  let page = "";
  await withApp({ "page.vto": template }, async (app, visit) => {
    app.set("framework.debug", true);
    app.route("/", () => app.render("page", { fail: () => broken() }));
    await logOf(async () => page = await visit("/"));
  });
  return page;
}

function broken(): never {
  throw new RangeError("too much");
}

Deno.test("`framework.debug` shows the lines of a template that fails, and no code of Vento", async () => {
  const page = await debugPage(
    "<p>first</p>\n<p>{{ greet() }}</p>\n<p>last</p>",
  );
  assertStringIncludes(page, "greet is not a function");
  assertStringIncludes(
    page,
    `<pre tabindex="0">1  &lt;p&gt;first&lt;/p&gt;\n` +
      "<mark>2  &lt;p&gt;{{ greet() }}&lt;/p&gt;</mark>\n" +
      "3  &lt;p&gt;last&lt;/p&gt;</pre>",
  );
  assertFalse(page.includes("__exports"));
});

Deno.test("`framework.debug` shows the application's code that a template's error came from", async () => {
  const page = await debugPage("{{ fail() }}");
  assertMatch(
    page,
    /<mark>\d+ {4}throw new RangeError\(&quot;too much&quot;\);<\/mark>/,
  );
});

Deno.test("`framework.debug` folds the frames of the framework, of Vento and of the runtime", async () => {
  const page = await debugPage("{{ fail() }}");
  assertMatch(page, /at broken \(file:.*view_test\.ts:\d+:\d+\)/);
  assertMatch(page, /\(\d+ frames of the framework\)/);
  assertFalse(/at .*(?:\/src\/|ventojs)/.test(page));
});

/** Requests whose pages a mapped `error` or `notFound` makes, and the status of each. */
const REFUSED: readonly [path: string, status: number, body?: string][] = [
  ["/too-large?a=1", 413, "x".repeat(11)],
  ["/forbidden?a=1", 403],
  ["/missing?a=1", 404],
];

Deno.test("a function that was set for all templates asks about its request in the layout of error pages", async () => {
  const files = {
    "layout.vto": "<nav>{{ path() }}</nav>{{ content }}",
    "failed.vto": `{{ layout "layout" }}{{ status }}{{ /layout }}`,
  };
  await withView(files, async (_view, _folder, app) => {
    app.set("framework.body_limit", 10);
    app.view().set("path", () => app.request().url);
    app.map("error", async (error) => {
      const { status } = error as HttpError;
      app.response().status(status);
      await app.render("failed", { status });
    });
    app.map("notFound", () => app.render("failed", { status: 404 }));
    app.route("POST /too-large", () => "never");
    app.route("/forbidden", () => {
      throw new HttpError(403, "No");
    });
    for (const [path, status, body] of REFUSED) {
      const init = body === undefined ? {} : { method: "POST", body };
      const response = await visit(app, path, init);
      assertEquals(
        [response.status, await response.text()],
        [status, `<nav>${path}</nav>${status}`],
      );
    }
  });
});

Deno.test("`fetch()` names the line of the tag whose layout is missing", async () => {
  const page = 'one\n{{ layout "lost" }}\n{{ title }}\n{{ /layout }}';
  await withView({ "page.vto": page }, async (view) => {
    const error = await assertRejects(() => view.fetch("page"), Error);
    const expected = 'page.vto" at line 2: Cannot find the template "lost": ';
    assertStringIncludes(error.message, expected);
    assertStringIncludes(error.message, '2 | {{ layout "lost" }}');
  });
});

Deno.test("`framework.log_errors` logs no whole template", async () => {
  const page = "{{ for tag of tags }}\n{{ tag }}\nthe end";
  await withView({ "page.vto": page }, async (_view, _folder, app) => {
    app.set("framework.log_errors", true);
    app.route("/", () => app.render("page"));
    const log = await logOf(() => visit(app, "/"));
    assertStringIncludes(log.join(), "at line 1: Missing closing tag");
    assertFalse(log.join().includes("the end"), log.join());
  });
});

Deno.test("`fetch()` refuses a loop over a promise", async () => {
  const files = { "page.vto": "{{ for tag of tags }}{{ tag }}{{ /for }}" };
  await withView(files, async (view) => {
    await assertRejects(
      () => view.fetch("page", { tags: Promise.resolve(["a"]) }),
      Error,
      "at line 1: a loop cannot iterate over a promise: await it first",
    );
  });
});

Deno.test("`fetch()` counts to 10,000 at most in a loop over a number", async () => {
  const template = "<ul>\n{{ for tag of tags }}.{{ /for }}";
  const text = await rendered(template, { tags: 10_000 });
  assertEquals(text.length, "<ul>\n".length + 10_000);
  const tooMany = [10_001, 1e8, Infinity, () => 1e8];
  for (const tags of tooMany) {
    for (const loop of ["tag", "n, tag"]) {
      await assertRejects(
        () => rendered(template.replace("tag", loop), { tags }),
        Error,
        'page.vto" at line 2: a loop can count to 10000 at most, got ',
      );
    }
  }
});

Deno.test("`framework.debug` names the `render()` call of a missing template", async () => {
  await withApp({}, async (app, visit) => {
    app.set("framework.debug", true);
    app.route("/", () => app.render("home"));
    let page = "";
    await logOf(async () => page = await visit("/"));
    assertMatch(page, /home\.vto&quot; \(at .*view_test\.ts:\d+:\d+\)/);
    assertMatch(page, /<mark>\d+ .*app\.render\(&quot;home&quot;\)/);
  });
});

Deno.test("`framework.debug` counts one frame of the framework as one", async () => {
  await withApp({}, async (app, visit) => {
    app.set("framework.debug", true);
    app.route("/", () => {
      const stack = "Error: wrong\n    at read (ext:core/read.js:1:1)";
      throw Object.assign(new Error("wrong"), { stack });
    });
    let page = "";
    await logOf(async () => page = await visit("/"));
    assertStringIncludes(page, "(1 frame of the framework)");
  });
});

Deno.test("`framework.views.path` of requests keeps the templates of the last folders alone", async () => {
  const names = Array.from({ length: 33 }, (_, index) => `${index}`);
  const files = names.map((name) => [`${name}/home.vto`, "old"]);
  await withApp(Object.fromEntries(files), async (app, visit) => {
    const root = app.get("framework.views.path");
    app.route("/@name", (name) => {
      app.set("framework.views.path", `${root}/${name}`);
      return app.render("home");
    });
    assertEquals(await visit("/0"), "200 old");
    await Deno.writeTextFile(`${root}/0/home.vto`, "new");
    for (const name of names.slice(1, -1)) await visit(`/${name}`);
    assertEquals(await visit("/0"), "200 old");
    for (const name of names.slice(1)) await visit(`/${name}`);
    assertEquals(await visit("/0"), "200 new");
  });
});

Deno.test("`fetch()` under debug names each undefined name, and none that is defined", async () => {
  const files = {
    "page.vto": "{{ gr\u00f6sse }}{{ location }}{{ close }}{{ nonsense }}",
  };
  await withView(files, async (view, _folder, app) => {
    app.set("framework.debug", true);
    const lines = await logOf(() => view.fetch("page", { "gr\u00f6sse": 5 }));
    const names = lines.map((line) => /undefined name "(.*?)"/.exec(line)![1]);
    assertEquals(names.sort(), ["close", "location", "nonsense"]);
  });
});
