/** Owns the files of a new site, by their paths in it. */

import configuration from "../../deno.json" with { type: "json" };

const { name, version, imports } = configuration;

/** The root of the package: a site that is made from a clone imports the clone. */
const ROOT = new URL("../../", import.meta.url);

const PUBLISHED = {
  [name]: `jsr:${name}@^${version}`,
  "@std/assert": imports["@std/assert"],
};

const CLONED = Object.fromEntries(
  Object.entries(imports).map(([key, target]) => [
    key,
    target.startsWith("./") ? new URL(target, ROOT).href : target,
  ]),
);

const CONFIGURATION = {
  imports: ROOT.protocol === "file:" ? CLONED : PUBLISHED,
  tasks: {
    dev:
      "deno run --watch --allow-net=127.0.0.1:8000 --allow-read=. main.ts --debug",
    start:
      "deno run --allow-net=127.0.0.1:8000 --allow-read=views,public main.ts",
    test: "deno test --allow-read=views,public",
  },
};

const MAIN =
  `/** Starts the site on the port and address of the command line; with \`--debug\`, it shows what goes wrong. */

import { Framework } from "@framework/core";
import "./app.ts";

const isDebug = Deno.args.includes("--debug");
const [port = "8000", hostname = "127.0.0.1"] = Deno.args
  .filter((arg) => arg !== "--debug");

Framework.set("framework.debug", isDebug);

if (import.meta.main) Framework.start({ port: Number(port), hostname });
`;

const APP = `/** The site: its settings, its files and its routes. */

import { Framework, html } from "@framework/core";
import { files } from "@framework/core/files";

Framework.set("framework.views.extension", ".vto");
Framework.view().set("asset", files(Framework, "/public", "public"));

Framework.route("GET /", async () => {
  await Framework.render("home", { title: "Welcome", names: ["Ada", "Grace"] });
});

Framework.route("GET /hello/@name", (name) => html\`Hello, \${name}!\`);

export default Framework; // for \`deno serve --parallel app.ts\`
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
    <link rel="icon" type="image/svg+xml" href="{{ asset("icon.svg") }}">
  </head>
  <body>
    <main>{{ content }}</main>
  </body>
</html>
`;

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
  <circle cx="16" cy="16" r="14" fill="#07c" />
</svg>
`;

const AGENTS = `# Notes for a coding assistant

A site on \`@framework/core\`, for Deno. \`app.ts\` declares the routes, \`main.ts\`
starts them, \`views/\` has the templates (Vento), and \`public/\` is served at
\`/public\`. \`Framework.request()\` and \`Framework.response()\` mean the request
being handled, also after an \`await\`. Names and signatures:
\`deno doc jsr:@framework/core\`. Before you finish, run
\`deno fmt && deno lint && deno check && deno task test\`.

## A route

\`\`\`ts
import { Framework, html } from "@framework/core";

Framework.route("GET /posts/@slug", (slug) => html\`<h1>\${slug}</h1>\`);
Framework.route("GET /api/posts/@id:[0-9]+", (id) => ({ id })); // JSON
Framework.route("GET /news(/@year)", (year) => html\`Of \${year ?? "all years"}\`);
\`\`\`

- The first route that matches wins. Parameters are \`@name\`, not \`:name\`.
- A string is HTML as it stands. \`html\` and templates escape what a client sent.
- Requests share the variables of modules; what \`Framework.set()\` sets in a
  handler is for its request alone.
- Errors: \`Framework.notFound()\`, \`Framework.halt(403, "No")\`.

## A form

\`\`\`ts
import { Framework, html } from "@framework/core";

const field = html\`<input name="name" required>\`;
Framework.route("GET /join", () => html\`<form method="post">\${field}</form>\`);

Framework.route("POST /join", () => {
  const { name } = Framework.request().data; // text, if the client sent it once
  if (typeof name !== "string" || name === "") Framework.halt(422, "No name");
  else Framework.redirect(\`/hello/\${encodeURIComponent(name)}\`);
});
\`\`\`

\`request().validate(schema)\` takes any Standard Schema, such as one of zod.

## A test

\`\`\`ts
import { Framework } from "@framework/core";
import { Visitor } from "@framework/core/testing"; // a browser without JavaScript
import { assertEquals } from "@std/assert";
import "./app.ts";

const home = await new Visitor(Framework).visit("/");
const page = await home.click("Say hello to Ada");
assertEquals([page.status, page.path], [200, "/hello/Ada"]);
\`\`\`

\`home.form("Save").fill({ name: "Ada" }).submit()\` sends a form. A new folder,
host or variable is a permission to add to the tasks of \`deno.json\`, such as
\`--allow-env=SESSION_SECRET\`, to \`test\` as well.
`;

/** The contents of the files, by their paths. */
export const SITE: Readonly<Record<string, string>> = {
  "deno.json": `${JSON.stringify(CONFIGURATION, undefined, 2)}\n`,
  "main.ts": MAIN,
  "app.ts": APP,
  "app_test.ts": TEST,
  "views/home.vto": HOME,
  "views/layout.vto": LAYOUT,
  "public/icon.svg": ICON,
  "AGENTS.md": AGENTS,
};
