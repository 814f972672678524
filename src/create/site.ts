/** Owns the files of a new site, by their paths in it. */

import configuration from "../../deno.json" with { type: "json" };

const { name, version, imports } = configuration;

const CONFIGURATION = {
  imports: {
    [name]: `jsr:${name}@^${version}`,
    "@std/assert": imports["@std/assert"],
  },
  tasks: {
    dev:
      "deno run --watch --allow-net=127.0.0.1:8000 --allow-read=. main.ts --debug",
    start: "deno run --allow-net=127.0.0.1:8000 --allow-read=views main.ts",
    test: "deno test --allow-read=views",
  },
};

const MAIN =
  `/** Starts the site on http://127.0.0.1:8000; with \`--debug\`, it shows what goes wrong. */

import { Framework } from "@framework/core";
import "./app.ts";

Framework.set("framework.debug", Deno.args.includes("--debug"));

if (import.meta.main) Framework.start();
`;

const APP = `/** The site: its settings and its routes. */

import { Framework, html } from "@framework/core";

Framework.set("framework.views.extension", ".vto");

Framework.route("GET /", async () => {
  await Framework.render("home", { title: "Welcome", names: ["Ada", "Grace"] });
});

Framework.route("GET /hello/@name", (name) => html\`Hello, \${name}!\`);
`;

const TEST = `import { Framework } from "@framework/core";
import { Visitor } from "@framework/core/testing";
import { assertEquals } from "@std/assert";
import "./app.ts";

Deno.test("the home page links to a greeting", async () => {
  const home = await new Visitor(Framework).visit("/");
  assertEquals(home.texts("h1"), ["Welcome"]);
  const greeting = await home.click("Say hello to Ada");
  assertEquals(greeting.text, "Hello, Ada!");
});
`;

const HOME = `{{ layout "layout.vto" }}
<h1>{{ title }}</h1>
<p>This page is <code>views/home.vto</code>, and <code>app.ts</code> renders it.</p>
<ul>
  {{ for name of names }}
  <li><a href="/hello/{{ encodeURIComponent(name) }}">Say hello to {{ name }}</a></li>
  {{ /for }}
</ul>
{{ /layout }}
`;

const LAYOUT = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>{{ title }}</title>
  </head>
  <body>
    <main>{{ content }}</main>
  </body>
</html>
`;

/** The contents of the files, by their paths. */
export const SITE: Readonly<Record<string, string>> = {
  "deno.json": `${JSON.stringify(CONFIGURATION, undefined, 2)}\n`,
  "main.ts": MAIN,
  "app.ts": APP,
  "app_test.ts": TEST,
  "views/home.vto": HOME,
  "views/layout.vto": LAYOUT,
};
