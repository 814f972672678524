/** Tests what `framework.debug` shows at the desk, and to whom. */

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Engine } from "@framework/core";
import { Folder } from "../support/folder.ts";
import { logOf } from "../support/log.ts";

/** Connection info of a client at an address. */
function from(hostname: string) {
  return { remoteAddr: { transport: "tcp", hostname, port: 1 } } as const;
}

/** An application under debug that fails at `/boom/@id`. */
function failing(): Engine {
  const app = new Engine();
  app.set("framework.debug", true);
  app.route("/boom/@id", (id) => {
    throw new TypeError(`boom <${id}>`, { cause: new RangeError("the cause") });
  });
  return app;
}

/** Fails where the code around it has no secrets. */
function fail(): never {
  throw new Error("boom");
}

/** The body of a response, which may be logged. */
async function textOf(
  app: Engine,
  request: Request | string,
  info?: ReturnType<typeof from>,
): Promise<string> {
  let text = "";
  await logOf(async () => {
    text = await (await app.fetch(request, info)).text();
  });
  return text;
}

// Who sees it

/** Whether a client gets the details of an error. */
async function seesDetails(
  app: Engine,
  hostname = "127.0.0.1",
  host = "localhost:8000",
  headers: HeadersInit = {},
): Promise<boolean> {
  const request = new Request(`http://${host}/boom/7`, { headers });
  const text = await textOf(app, request, from(hostname));
  assertStringIncludes(text, "500 Internal Server Error");
  return text.includes("the cause");
}

Deno.test("`framework.debug` shows details to loopback addresses alone", async () => {
  for (const address of ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"]) {
    assertEquals(await seesDetails(failing(), address), true, address);
  }
  const others = ["192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1", "10.127.0.1"];
  for (const address of others) {
    assertEquals(await seesDetails(failing(), address), false, address);
  }
});

Deno.test("`framework.debug` shows details under loopback hosts alone, since any name can lead here", async () => {
  const shown = async (host: string): Promise<boolean> =>
    await seesDetails(failing(), "127.0.0.1", host);
  for (const host of ["localhost", "app.localhost", "127.0.0.1:1", "[::1]"]) {
    assertEquals(await shown(host), true, host);
  }
  const others = ["attacker.example", "127.0.0.1.example", "notlocalhost"];
  for (const host of others) assertEquals(await shown(host), false, host);
});

Deno.test("`framework.debug` shows no details to a request with a header of a proxy", async () => {
  const names = [
    ...["forwarded", "via", "x-forwarded-for", "x-real-ip", "client-ip"],
    ...["true-client-ip", "cf-connecting-ip", "x-client-ip", "cdn-loop"],
  ];
  for (const name of names) {
    const headers = { [name]: "127.0.0.1" };
    const isShown = await seesDetails(failing(), "::1", "localhost", headers);
    assertEquals(isShown, false, name);
  }
});

Deno.test("details are shown neither under `framework.trust_proxy` nor without `framework.debug`", async () => {
  const app = failing();
  app.set("framework.trust_proxy", true);
  assertEquals(await seesDetails(app), false);
  const other = failing();
  other.set("framework.debug", false);
  assertEquals(await seesDetails(other), false);
});

Deno.test("`framework.debug` shows details to requests of the program's own", async () => {
  assertStringIncludes(await textOf(failing(), "/boom/7"), "the cause");
});

// The terminal

Deno.test("`framework.debug` logs an error whole, whoever the client is", async () => {
  for (const address of ["127.0.0.1", "192.0.2.1"]) {
    const [entry, ...more] = await logOf(async () => {
      const url = "http://localhost/boom/7";
      await (await failing().fetch(url, from(address))).body?.cancel();
    });
    assertMatch(entry!, / GET \/boom\/7 TypeError: boom <7>\n +at .*desk_test/);
    assertMatch(entry!, /RangeError: the cause\n +at .*desk_test/);
    assertEquals(more, []);
  }
});

Deno.test("`framework.debug` logs that a callback which returned nothing has sent an empty 200", async () => {
  const app = failing();
  app.route("/empty", () => {});
  app.route("/status", () => void app.response().status(204));
  app.route("/text", () => void app.response().write("text"));
  const [line, ...more] = await logOf(async () => {
    for (const path of ["/empty", "/status", "/text"]) {
      await (await app.fetch(path)).body?.cancel();
    }
  });
  assertStringIncludes(line ?? "", "/empty");
  assertEquals(more, []);
});

Deno.test("`framework.debug` logs a call after the seal, with both places", async () => {
  const app = failing();
  app.route("/twice", () => {
    app.json({});
    app.redirect("/elsewhere");
  });
  const [line, ...more] = await logOf(() => app.fetch("/twice"));
  const place = /desk_test\.ts:\d+/g;
  assertMatch(line!, /redirect\(\).*json\(\)/);
  assertEquals(new Set(line!.match(place)).size, 2, line);
  assertEquals(more, []);
});

// Pages

Deno.test("the page of an error shows its message, cause and reference, and the code around its place", async () => {
  let page = "";
  const [entry] = await logOf(async () => {
    page = await (await failing().fetch("/boom/7")).text();
  });
  const parts = [
    "500 Internal Server Error",
    "TypeError: boom &lt;7&gt;",
    "RangeError: the cause",
    "throw new TypeError(`boom &lt;${id}&gt;`",
    entry!.split(" ", 1)[0]!,
  ];
  for (const part of parts) assertStringIncludes(page, part);
});

Deno.test("the page of an error links its place in the editor of `framework.editor`", async () => {
  const app = failing();
  const path = new URL(import.meta.url).pathname;
  const page = await textOf(app, "/boom/7");
  assertMatch(page, RegExp(`href="vscode://file/${path}:\\d+"`));
  app.set("framework.editor", "idea://open?file={file}&line={line}");
  const link = RegExp(`href="idea://open\\?file=${path}&amp;line=\\d+"`);
  assertMatch(await textOf(app, "/boom/7"), link);
});

Deno.test("the page of an error shows route, parameters and fields, with secrets masked", async () => {
  const app = failing();
  app.route("POST /reset/@token", () => fail());
  const body = JSON.stringify({
    name: "Ada",
    password: "hidden1",
    tokens: ["hidden2"],
    auth: { value: "hidden3" },
    link: "https://site.test/?token=hidden4",
  });
  const headers = {
    "content-type": "application/json",
    accept: "text/html",
    authorization: "Bearer hidden5",
    cookie: "sid=hidden6",
  };
  const init = { method: "POST", headers, body };
  const url = "http://localhost/reset/hidden7?page=2&access_token=hidden8";
  const page = await textOf(app, new Request(url, init));
  const cells = [
    "<td>POST /reset/@token</td>",
    "<td>••••</td>",
    "Ada",
    "page=2",
  ];
  for (const cell of cells) assertStringIncludes(page, cell);
  assertEquals(page.match(/hidden\d/g), null);
});

Deno.test("the problem details of an error have `stack` and `at` under debug alone", async () => {
  const app = failing();
  const headers = { accept: "application/json" };
  const request = new Request("http://localhost/boom/7", { headers });
  const problem = JSON.parse(await textOf(app, request));
  assertMatch(problem.at, /^\/.*desk_test\.ts:\d+$/);
  assertMatch(problem.stack[0], /^at .*desk_test\.ts:\d+:\d+/);
  assertEquals([problem.status, problem.detail], [500, "boom <7>"]);
  app.set("framework.debug", false);
  const plain = JSON.parse(await textOf(app, request));
  assertEquals(["at" in plain, "stack" in plain], [false, false]);
});

Deno.test({
  name:
    "the page of an error shows no code that may not be read, and does not ask",
  permissions: { read: false },
  async fn() {
    const page = await textOf(failing(), "/boom/7");
    assertStringIncludes(page, "the cause");
    assertEquals(page.includes("throw new TypeError"), false);
  },
});

/** What the page of a 404 says of each near route. */
async function nearRoutes(
  request: string | Request,
  ...patterns: string[]
): Promise<string[]> {
  const app = new Engine();
  app.set("framework.debug", true);
  for (const pattern of patterns) app.route<string>(pattern, () => true);
  const page = await textOf(app, request);
  assertStringIncludes(page, "404 Not Found");
  return [...page.matchAll(/<li>(.*)<\/li>/g)]
    .map(([, item]) => item!.replaceAll("&quot;", '"'));
}

Deno.test("the page of a 404 says what keeps near routes from matching", async () => {
  const table: readonly [path: string, pattern: string, why: string][] = [
    ["/blog/x", "POST /blog/x", "the method GET is not POST"],
    ["/blog/x", "/blog/x/edit", 'the path ends before "/edit"'],
    ["/blog/x/y", "/blog/x", 'the path continues with "/y"'],
    [
      "/blog/x",
      "/blog/@id:[0-9]+",
      'the segment "x" does not match "@id:[0-9]+"',
    ],
    ["/psots/7", "/posts/@id", 'the segment "psots" does not match "posts"'],
    ["/x", "/x", "it matches, but may pass the request on to a later route"],
  ];
  for (const [path, pattern, why] of table) {
    const [item, ...more] = await nearRoutes(path, pattern, "/unlike");
    assertStringIncludes(item ?? "", `${pattern}: `);
    assertStringIncludes(item!, why);
    assertEquals(more, []);
  }
  assertEquals(await nearRoutes("/x", "/unlike"), []);
});

// Times and warnings

Deno.test("`Server-Timing` says where the time went, to those who see details", async () => {
  await using folder = new Folder({ "home.vto": "home" });
  const app = failing();
  app.set("framework.views.path", folder.path);
  app.route("/", () => {
    app.response().header("server-timing", "db;dur=1");
    return app.render("home");
  });
  const timing = async (address?: string): Promise<string | null> => {
    const info = address === undefined ? undefined : from(address);
    const { headers, body } = await app.fetch("/", info);
    await body?.cancel();
    return headers.get("server-timing");
  };
  assertMatch(
    (await timing())!,
    /^db;dur=1, .*render;desc="home";dur=[\d.]+, .*total;dur=[\d.]+$/,
  );
  assertEquals(await timing("192.0.2.1"), "db;dur=1");
});

Deno.test("a server warns once under debug of each route that can never be reached", async () => {
  const app = failing();
  app.route("/posts/@id", () => "one");
  app.route("/posts/new", () => "new");
  const log = await logOf(async () => {
    const options = { port: 0, signals: false, onListen() {} };
    await using server = app.start(options);
    const { port } = server.addr as Deno.NetAddr;
    for (let visit = 0; visit < 2; visit++) {
      const url = `http://127.0.0.1:${port}/posts/new`;
      await (await fetch(url)).body?.cancel();
    }
  });
  assertEquals(log.length, 1, log.join("\n"));
  assertStringIncludes(log[0]!, '"/posts/new" can never be reached');
});

// Templates

/** What is logged when an application under debug renders the template `page`, twice. */
async function logOfTemplates(
  files: Readonly<Record<string, string>>,
  data: Record<string, unknown>,
): Promise<string[]> {
  await using folder = new Folder(files);
  const app = failing();
  app.set("framework.views.path", folder.path);
  app.route("/", () => app.render("page", data));
  return await logOf(async () => {
    for (const _visit of [1, 2]) await app.fetch("/");
  });
}

Deno.test("`framework.debug` logs an undefined name once for each template, with its line and what is meant", async () => {
  const files = {
    "page.vto": '{{ include "part" }}\n{{ titles }}{{ titles }}',
    "part.vto": "{{ titles }}",
  };
  assertEquals(await logOfTemplates(files, { title: "x" }), [
    'The template "page" uses the undefined name "titles" at line 2: did you mean "title"?',
    'The template "part" uses the undefined name "titles" at line 1: did you mean "title"?',
  ]);
});

Deno.test("`framework.debug` logs no name that a template defines, tests, or gives an alternative", async () => {
  const templates = [
    "{{ given }}",
    "{{ set a = 1 }}{{ a }}",
    "{{> const [a, { b }] = [1, {}] }}{{ a }}{{ b }}",
    "{{ for [k, v] of {} }}{{ k }}{{ v }}{{ /for }}",
    "{{ if a }}{{ a }}{{ /if }}",
    '{{ a ?? "x" }}{{ b || "x" }}',
  ];
  for (const page of templates) {
    const files = { "page.vto": page };
    assertEquals(await logOfTemplates(files, { given: undefined }), [], page);
  }
});

Deno.test("`framework.debug` reads templates anew for each request", async () => {
  await using folder = new Folder();
  const app = failing();
  app.set("framework.views.path", folder.path);
  app.route("/", () => app.render("page"));
  for (const text of ["one", "two"]) {
    await Deno.writeTextFile(`${folder.path}/page.vto`, text);
    assertEquals(await (await app.fetch("/")).text(), text);
  }
});
