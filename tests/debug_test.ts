/** Tests what `framework.debug` shows: the terminal, pages of errors, warnings, and times. */

import {
  assert,
  assertEquals,
  assertFalse,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { Engine } from "@framework/core";
import { Process } from "../tasks/process.ts";
import { absoluteImports } from "./import_map.ts";
import { logOf } from "./log.ts";
import { ServerProcess } from "./server_child.ts";

/** An application under debug that fails at `/boom/@id`. */
function failing(): Engine {
  const app = new Engine();
  app.set("framework.debug", true);
  app.route("/boom/@id", (id) => {
    throw new TypeError(`boom ${id}`, { cause: new RangeError("the cause") });
  });
  return app;
}

/** The body of a response, without what is written to the log. */
async function textOf(app: Engine, request: Request | string): Promise<string> {
  let text = "";
  await logOf(async () => text = await (await app.fetch(request)).text());
  return text;
}

/** Requests as a client at that address. */
const STRANGER = {
  remoteAddr: { transport: "tcp", hostname: "192.0.2.1", port: 1 },
} as const;

// The terminal

Deno.test("`framework.debug` writes an error whole to the terminal, whoever the client is", async () => {
  for (const info of [undefined, STRANGER]) {
    const [text, ...more] = await logOf(() =>
      failing().fetch(new Request("http://localhost/boom/7"), info)
    );
    assertMatch(text!, /GET \/boom\/7 TypeError: boom 7\n +at .*debug_test/);
    assertMatch(text!, /\n +\(\d+ frames of the framework\)/);
    assertMatch(
      text!,
      /\n +Caused by: RangeError: the cause\n +at .*debug_test/,
    );
    assertFalse(text!.includes("/src/"), text);
    assertEquals(more, []);
  }
});

Deno.test("`framework.debug` names the line that has rendered a missing template, also behind a stored render", async () => {
  const app = new Engine();
  app.set("framework.debug", true);
  app.set("framework.views.path", "./tests/fixtures");
  app.route("/", () => app.render("no such template"));
  app.route("/behind", async () => {
    app.map("view", () => ({ fetch: slowly, set() {} }));
    app.render("stored", {}, "stored");
    app.map("view", () => view);
    await app.render("no such template");
  });
  const slowly = () => new Promise((resolve) => setTimeout(resolve, 5));
  const view = app.view();
  for (const path of ["/", "/behind"]) {
    const text = await textOf(app, path);
    assertMatch(text, /no such template.*debug_test\.ts:\d+/, path);
  }
});

Deno.test("`framework.debug` folds the frames of native functions, which have no place", async () => {
  const app = failing();
  app.route("/list", () => [1].map(() => fail()));
  const [text] = await logOf(() => app.fetch("/list"));
  assertMatch(text!, /at fail \(.*debug_test/);
  assertFalse(text!.includes("<anonymous>"), text);
});

function fail(): never {
  throw new Error("failed");
}

Deno.test("`framework.debug` writes no error below 500 to the terminal", async () => {
  const app = failing();
  app.route("/gone", () => app.halt(410));
  assertEquals(await logOf(() => app.fetch("/gone")), []);
  assertEquals(await logOf(() => app.fetch("/nowhere")), []);
});

// Pages of errors

/** Requests as a client on this machine. */
const LOCAL = {
  remoteAddr: { transport: "tcp", hostname: "127.0.0.1", port: 1 },
} as const;

Deno.test("the page of an error shows the reference of its line in the log, as HTML and as problem details", async () => {
  const kinds: [accept: string, shown: RegExp][] = [
    ["text/html", /Reference: (\w{8})</],
    ["application/json", /"reference":"(\w{8})"/],
  ];
  for (const [accept, shown] of kinds) {
    for (const info of [LOCAL, undefined]) {
      let page = "";
      const [line] = await logOf(async () => {
        const headers = { accept };
        const request = new Request("http://localhost/boom/7", { headers });
        page = await (await failing().fetch(request, info)).text();
      });
      assertStringIncludes(page, "boom 7");
      assertEquals(shown.exec(page)?.[1], line!.split(" ", 1)[0]);
    }
  }
});

Deno.test("the page of an error links its place in the editor of `framework.editor`", async () => {
  const app = failing();
  const path = new URL(import.meta.url).pathname;
  const page = await textOf(app, "/boom/7");
  assertMatch(page, RegExp(`<a href="vscode://file/${path}:\\d+">`));
  app.set("framework.editor", "idea://open?file={file}&line={line}");
  assertMatch(
    await textOf(app, "/boom/7"),
    RegExp(`<a href="idea://open\\?file=${path}&amp;line=\\d+">`),
  );
});

Deno.test("the page of an error shows route, parameters, form and the settings that differ", async () => {
  const app = failing();
  app.set("framework.wait_timeout", 3);
  const body = new FormData();
  body.append("title", "<b>");
  body.append("password", "hidden");
  body.append("picture", new File(["text"], "cat.png", { type: "image/png" }));
  const request = new Request("http://localhost/boom/7", {
    method: "POST",
    body,
  });
  const page = await textOf(app, request);
  for (
    const row of [
      "<th>Pattern</th><td>/boom/@id</td>",
      "<th>@id</th><td>7</td>",
      "<th>title</th><td>&lt;b&gt;</td>",
      "<th>password</th><td>••••</td>",
      "<th>picture</th><td>cat.png (image/png, 4 bytes)</td>",
      "<th>framework.wait_timeout</th><td>3</td>",
    ]
  ) assertStringIncludes(page, row);
  assertFalse(page.includes("framework.body_limit"));
  assertFalse(page.includes("hidden"));
});

Deno.test("the problem details of an error have its `stack` and the place `at`", async () => {
  const app = failing();
  const headers = { accept: "application/json" };
  const url = "http://localhost/boom/7";
  const problem = JSON.parse(await textOf(app, new Request(url, { headers })));
  assertMatch(problem.at, /^\/.*debug_test\.ts:\d+$/);
  assertMatch(problem.stack[0], /^at .*debug_test\.ts:\d+:\d+/);
  assertEquals([problem.status, problem.detail], [500, "boom 7"]);
  app.set("framework.debug", false);
  const plain = JSON.parse(await textOf(app, new Request(url, { headers })));
  assertEquals(Object.keys(plain), ["type", "title", "detail", "status"]);
});

Deno.test("the page of an error loads its style from a file below the base, which strangers do not get", async () => {
  for (const base of ["", "/shop"]) {
    const app = failing();
    app.set("framework.base_url", base);
    const page = await textOf(app, `${base}/boom/7`);
    const path = `${base}/.framework/style.css`;
    assertStringIncludes(page, `<link rel="stylesheet" href="${path}">`);
    assertFalse(page.includes("<style"));
    const style = await app.fetch(path);
    assertEquals(style.headers.get("content-type"), "text/css");
    await style.body?.cancel();
    const request = new Request(`http://localhost${path}`);
    assertEquals((await app.fetch(request, STRANGER)).status, 404);
  }
});

Deno.test("the page of an error of a mounted engine finds its style", async () => {
  const app = new Engine();
  app.mount("/inner", failing());
  const page = await textOf(app, "/inner/boom/7");
  const path = "/inner/.framework/style.css";
  assertStringIncludes(page, `<link rel="stylesheet" href="${path}">`);
  assertEquals((await app.fetch(path)).status, 200);
});

// The request as a test

/** A main module that prints the page of a request to itself, and an application in one of three forms. */
const FORMS = {
  "`Framework`": ['import { Framework as app } from "@framework/core";', ""],
  "an exported engine": [
    'import { Engine } from "@framework/core"; export const site = new Engine(); const app = site;',
    "",
  ],
  "a default export": [
    'import { Engine } from "@framework/core"; const app = new Engine();',
    "export default app;",
  ],
};

const REQUESTS = {
  "a GET": '"http://localhost/orders/a%20b?token=hidden&page=2"',
  "a form":
    '"http://localhost/orders/7", { method: "POST", body: new URLSearchParams({ title: "a&b\\n", password: "hidden" }) }',
  "a file":
    '"http://localhost/orders/7", { method: "POST", body: (() => { const form = new FormData(); form.append("file", new File(["hidden"], "c.png")); return form; })() }',
  "JSON":
    '"http://localhost/orders/7", { method: "PUT", headers: { accept: "text/html", "content-type": "application/json", authorization: "Bearer hidden", cookie: "sid=hidden" }, body: \'{"a":[1,{"secret":"hidden"}]}\' }',
  "bytes":
    '"http://localhost/orders/7", { method: "PUT", body: new Uint8Array([255, 254]) }',
};

Deno.test("the page of an error reads a form at once whose type has 200,000 spaces", async () => {
  const app = failing();
  // Deno's own `formData()` takes minutes for it.
  const type = "application/x-www-form-urlencoded;" + " ".repeat(200_000) + "a";
  const request = new Request("http://localhost/boom/7", {
    method: "POST",
    headers: { "content-type": type },
    body: "title=Tea",
  });
  const page = await textOf(app, request);
  assertStringIncludes(page, "boom 7");
  assertStringIncludes(page, "title");
});

for (const [form, [head, tail]] of Object.entries(FORMS)) {
  for (const [what, request] of Object.entries(REQUESTS)) {
    if (form !== "`Framework`" && what !== "a GET") continue;
    Deno.test(`the page of an error has the request as a test that runs: ${what} to ${form}`, async () => {
      await using folder = await TemporaryFolder.make();
      const main = (callback: string) =>
        `${head}
app.set("framework.debug", true);
app.route("/orders/@id", ${callback});
if (import.meta.main) {
  app.fetch(new Request(${request})).then((response) => response.text()).then(console.log);
}
${tail}`;
      await folder.write(
        "main.ts",
        main('() => { throw new Error("no such order"); }'),
      );
      const page = await folder.run(["run"], "main.ts");
      const code = codeIn(page);
      assertFalse(code.includes("hidden"), code);
      await folder.write("copied_test.ts", code);
      const failed = await folder.run(["test"], "copied_test.ts");
      assertStringIncludes(failed, "no such order");
      assertStringIncludes(failed, "0 passed | 1 failed");
      await folder.write("main.ts", main('() => "an order"'));
      const passed = await folder.run(["test"], "copied_test.ts");
      assertStringIncludes(passed, "1 passed | 0 failed");
    });
  }
}

Deno.test("the test on the page of an error of a mounted engine asks the application around it", async () => {
  const app = failing();
  app.mount("/inner", failing());
  const code = codeIn(await textOf(app, "/inner/boom/7"));
  assertStringIncludes(code, '.fetch("/inner/boom/7")');
});

Deno.test("the test on the page of an error asks a host of `framework.hosts`", async () => {
  const app = failing();
  const address = "http://localhost:8000/boom/7";
  const remoteAddr = { ...STRANGER.remoteAddr, hostname: "127.0.0.1" };
  const code = async (): Promise<string> => {
    let page = "";
    await logOf(async () => {
      const response = await app.fetch(new Request(address), { remoteAddr });
      page = await response.text();
    });
    return codeIn(page);
  };
  assertStringIncludes(await code(), '.fetch("/boom/7")');
  app.set("framework.hosts", ["localhost:8000"]);
  assertStringIncludes(await code(), `.fetch("${address}")`);
});

Deno.test("the test on the page of an error says how long a body is that it leaves out", async () => {
  const app = new Engine();
  app.set("framework.debug", true);
  app.route("POST /", () => {
    throw new Error("boom");
  });
  const rows: [BodyInit, string][] = [
    ["x".repeat(10_000), "// The body (10002 characters) is left out."],
    [new Uint8Array([255, 254]), "// The body (2 bytes) is left out."],
  ];
  for (const [body, hint] of rows) {
    const request = new Request("http://localhost/", { method: "POST", body });
    assertStringIncludes(codeIn(await textOf(app, request)), hint);
  }
});

Deno.test("the page of an error in a worker, which has no main module, is without a test", async () => {
  await using folder = await TemporaryFolder.make();
  await folder.write(
    "worker.ts",
    `import { Engine } from "@framework/core";
    const app = new Engine();
    app.set("framework.debug", true);
    app.route("/", () => { throw new Error("boom"); });
    console.log(await (await app.fetch("/")).text());
    self.close();`,
  );
  await folder.write(
    "main.ts",
    'new Worker(import.meta.resolve("./worker.ts"), { type: "module" });',
  );
  const page = await folder.run(["run", "--allow-read"], "main.ts");
  assertStringIncludes(page, "<h2>Error</h2>");
  assertEquals(codeIn(page), "");
});

/** The code of the test on a page. */
function codeIn(page: string): string {
  const [, code = ""] =
    /as a test<\/h2>\n<pre tabindex="0">([^<]*)<\/pre>/.exec(page) ?? [];
  return code.replaceAll("&quot;", '"').replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

/** A folder of programs. */
class TemporaryFolder implements AsyncDisposable {
  private constructor(readonly path: string, readonly map: string) {}

  static async make(): Promise<TemporaryFolder> {
    const map = JSON.stringify({ imports: await absoluteImports() });
    const path = await Deno.makeTempDir({ prefix: "desk" });
    return new TemporaryFolder(path, map);
  }

  async write(name: string, text: string): Promise<void> {
    await Deno.writeTextFile(`${this.path}/${name}`, text);
  }

  /** Runs a file by a command of Deno; returns what it has printed. */
  async run(command: string[], file: string): Promise<string> {
    await using child = new Process([
      Deno.execPath(),
      ...command,
      "--quiet",
      "--no-check",
      "--no-prompt",
      "--no-config",
      "--no-lock",
      `--import-map=data:application/json,${encodeURIComponent(this.map)}`,
      file,
    ], { cwd: this.path });
    await child.ended();
    return child.printed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}

// Warnings

/** A program with a route that can never be reached, and one whose class does not load. */
const SHADOWED = `
  import { Engine } from "@framework/core";
  const app = new Engine();
  app.set("framework.debug", Deno.args.length === 0);
  app.route("/posts/@id", () => "one");
  app.route("/posts/new", () => "new");
  app.route("/lost", "Lost->page");
`;

const WARNINGS = [
  /Warning: The route "\/posts\/new" can never be reached: "\/posts\/@id" /,
  /Warning: The route "\/lost" cannot be called: Cannot load the class "Lost"/,
];

Deno.test("`start()` warns under debug of each route that can never be reached", async () => {
  const source = `${SHADOWED} app.start({ port: 0 });`;
  await using server = await ServerProcess.start(source);
  for (const warning of WARNINGS) await server.prints(warning);
  const port = await server.port();
  await (await fetch(`http://127.0.0.1:${port}/posts/new`)).text();
  server.kill("SIGTERM");
  await server.ended();
  assertEquals(server.printed.match(/Warning/g)?.length, 2, server.printed);
});

Deno.test("`deno serve` warns under debug when it begins to serve", async () => {
  const source = `${SHADOWED} export default app;`;
  const command = ["serve", "--port=0"];
  await using server = await ServerProcess.start(source, { command });
  for (const warning of WARNINGS) await server.prints(warning);
});

Deno.test("a server of the application's own warns under debug at the first request", async () => {
  const app = new Engine();
  app.set("framework.debug", true);
  app.route("/@id", () => "one");
  app.route("/new", () => "new");
  const log = await logOf(async () => {
    const options = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
    await using server = Deno.serve(options, app.fetch);
    const { port } = server.addr;
    await (await fetch(`http://127.0.0.1:${port}/new`)).text();
    await (await fetch(`http://127.0.0.1:${port}/new`)).text();
  });
  assertEquals(log.length, 1, log.join("\n"));
  assertStringIncludes(log[0]!, 'The route "/new" can never be reached');
});

Deno.test("a server warns under debug of a variable that is named like a setting", async () => {
  const app = new Engine();
  const own = { "mail.sender": "me", debug: true, "app.mode": 1 };
  app.set({ "framework.debug": true, ...own });
  app.set({ "views.path": "pages", "flight.base_url": "/shop" });
  const log = await logOf(async () => {
    const options = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
    await using server = Deno.serve(options, app.fetch);
    await (await fetch(`http://127.0.0.1:${server.addr.port}/`)).text();
  });
  assertEquals(log, [
    'Warning: The variable "views.path" is not a setting: did you mean "framework.views.path"?',
    'Warning: The variable "flight.base_url" is not a setting: did you mean "framework.base_url"?',
  ]);
});

// Times

Deno.test("`Server-Timing` says under debug where the time went, to those who see details", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/home.vto`, "home");
  const app = new Engine();
  app.set({ "framework.views.path": folder, "framework.debug": true });
  app.route("POST /", () => app.render("home"));
  const make = () =>
    new Request("http://localhost/", { method: "POST", body: "text" });
  const timing = async (info?: typeof STRANGER): Promise<string | null> => {
    const response = await app.fetch(make(), info);
    assertEquals(await response.text(), "home");
    return response.headers.get("server-timing");
  };
  const shown = await timing();
  assertMatch(
    shown!,
    /^body;dur=[\d.]+, render;desc="home";dur=[\d.]+, start;dur=[\d.]+, total;dur=[\d.]+$/,
  );
  assertEquals(await timing(STRANGER), null);
  app.set("framework.debug", false);
  assertEquals(await timing(), null);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("`Server-Timing` has the renders of a mounted engine", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/home.vto`, "home");
  const [app, inner] = [new Engine(), new Engine()];
  for (const each of [app, inner]) {
    each.set({ "framework.views.path": folder, "framework.debug": true });
  }
  inner.route("/", () => inner.render("home"));
  app.mount("/inner", inner);
  const { headers, body } = await app.fetch("/inner");
  await body?.cancel();
  assertMatch(headers.get("server-timing")!, /render;desc="home";dur=[\d.]+/);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("`Server-Timing` leaves what the application has set", async () => {
  const app = new Engine();
  app.set("framework.debug", true);
  app.route("/", () => {
    app.response().header("server-timing", "db;dur=1");
    return "text";
  });
  app.route("/redirect", () => Response.redirect("http://localhost/"));
  const value = (await app.fetch("/")).headers.get("server-timing");
  assertMatch(value!, /^db;dur=1, start;dur=[\d.]+, total;dur=[\d.]+$/);
  const redirect = await app.fetch("/redirect");
  assertEquals(redirect.headers.get("location"), "http://localhost/");
  assert(redirect.headers.has("server-timing"));
});

// A second response

Deno.test("a second response says under debug which route has returned the first", async () => {
  const app = new Engine();
  app.set("framework.debug", true);
  app.route("GET /first", () => new Response("first"))
    .addMiddleware({ after: () => void app.json({}) });
  const [line, ...more] = await logOf(() => app.fetch("/first"));
  assertMatch(line!, /^Ignored json\(\) \(at .*debug_test\.ts:\d+:\d+\)\): /);
  assertStringIncludes(
    line!,
    'was sealed by a returned Response (of the route "GET /first")',
  );
  assertEquals(more, []);
});

// Production

Deno.test("importing `mod.ts` and serving requests without debug loads no module of `src/debug/`", async () => {
  await using folder = await TemporaryFolder.make();
  const root = new URL("../", import.meta.url).pathname;
  await copied(`${root}src`, `${folder.path}/src`);
  await Deno.copyFile(`${root}mod.ts`, `${folder.path}/mod.ts`);
  await Deno.copyFile(`${root}deno.json`, `${folder.path}/deno.json`);
  for await (const { name } of Deno.readDir(`${folder.path}/src/debug`)) {
    const file = `src/debug/${name}`;
    const text = await Deno.readTextFile(`${folder.path}/${file}`);
    await folder.write(file, `console.log("Loaded ${name}");\n${text}`);
  }
  await folder.write(
    "main.ts",
    `import { Engine } from "./mod.ts";
    const app = new Engine();
    app.route("/", () => "text");
    app.route("/boom", () => { throw new Error("boom"); });
    app.route("/twice", () => { app.json({}); app.redirect("/"); });
    app.route("/page", () => app.render("page"));
    for (const path of ["/", "/boom", "/twice", "/page", "/nowhere"]) {
      await (await app.fetch(path)).text();
    }
    await app.router().check();
    console.log("Served");
    app.set("framework.debug", true);
    await (await app.fetch("/")).text();`,
  );
  const printed = await folder.run(["run"], "main.ts");
  const [without, under] = printed.split("Served");
  assertFalse(without!.includes("Loaded"), printed);
  assertStringIncludes(under!, "Loaded mod.ts");
});

async function copied(from: string, to: string): Promise<void> {
  await Deno.mkdir(to);
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copied(`${from}/${name}`, `${to}/${name}`);
    else await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}

Deno.test("`framework.debug` masks whatever is below the name of a secret in a body, and secrets in its texts", async () => {
  const app = new Engine();
  app.set("framework.debug", true);
  app.route("POST /", () => {
    throw new Error("boom");
  });
  const secrets = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => `shh${n}`);
  const [password, token, auth, link, field, inner, text, yaml, xml] = secrets;
  const json = JSON.stringify({
    password,
    tokens: [token],
    auth: { value: auth },
    link: `https://example.com/?token=${link}`,
    inner: JSON.stringify({ name: "x", token: inner }),
    name: "Ada",
    count: 7,
  });
  const texts = [
    `{"name": "Ada", "password": "${text}\\"${text}"}`,
    `name: Ada\npassword: ${yaml}\n`,
    `<user><name>Ada</name><password kind="a">${xml}</password></user>`,
  ];
  const form = new URLSearchParams({
    link: `https://example.com/?token=${field}`,
    name: "Ada",
  });
  for (const body of [json, form, ...texts]) {
    const headers: HeadersInit = body === json
      ? { "content-type": "application/json", accept: "text/html" }
      : { accept: "text/html" };
    const init = { method: "POST", headers, body };
    const page = await textOf(app, new Request("http://localhost/", init));
    assertStringIncludes(page, "Ada");
    assertEquals(secrets.filter((secret) => page.includes(secret)), []);
  }
});

Deno.test("`framework.debug` masks the value of a secret parameter in the path, also of a mounted engine", async () => {
  const app = failing();
  app.route("/reset/@token/step", () => fail());
  const outer = new Engine();
  outer.set("framework.debug", true);
  outer.mount("/in", app);
  for (const [each, base] of [[app, ""], [outer, "/in"]] as const) {
    const page = await textOf(each, `${base}/reset/s%20hh/step`);
    assertEquals(/s%20hh|s hh/.test(page), false);
    assertStringIncludes(
      page,
      `GET ${base}/reset/\u2022\u2022\u2022\u2022/step`,
    );
  }
});
