/** Tests the helpers for tests: `Visitor`, its pages and forms, and `assertIsolated()`. */

import { Engine, Framework } from "@framework/core";
import { assertIsolated, settled, Visitor } from "@framework/core/testing";
import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";

const PAGE = `<!doctype html>
<title>Forms</title>
<a href="/elsewhere"> Go
  elsewhere </a>
<form action="/search"><input name="q" value="old"></form>
<form method="post" action="/save">
  <input name="title" required maxlength="5">
  <textarea name="content">
first</textarea>
  <input type="checkbox" name="agree" value="yes">
  <input type="radio" name="size" value="s" checked>
  <input type="radio" name="size" value="m">
  <select name="color"><option>red<option value="g">green</select>
  <input type="submit" name="button" value="Save">
  <input name="off" value="1" disabled>
</form>
<form method="post" action="/upload" enctype="multipart/form-data">
  <input type="file" name="photo"><input name="note">
</form>`;

function makeApp(): Engine {
  const app = new Engine();
  app.route("GET /", () => PAGE);
  app.route("/elsewhere", () => "<h1>Else\n where</h1>");
  app.route("GET /search", () => app.request().query);
  app.route("POST /save", () => app.request().data);
  app.route("POST /upload", () => ({
    note: app.request().data.note,
    names: Object.keys(app.request().files),
  }));
  return app;
}

/** An application with those fields in a form, which responds with what is sent. */
function formApp(fields: string): Engine {
  const app = new Engine();
  app.route("GET /", () => `<form method="post">${fields}</form>`);
  app.route("POST /", () => app.request().getBody());
  return app;
}

Deno.test("`click()` follows a link by its text", async () => {
  const page = await new Visitor(makeApp()).visit("/");
  const elsewhere = await page.click("Go elsewhere");
  assertEquals(elsewhere.path, "/elsewhere");
  assertEquals(elsewhere.texts("h1"), ["Else where"]);
});

Deno.test("`click()` names the links of the page when none has the text", async () => {
  const page = await new Visitor(makeApp()).visit("/");
  await assertRejects(
    async () => await page.click("Nowhere"),
    RangeError,
    `Cannot click "Nowhere": the page has the links "Go elsewhere"`,
  );
});

Deno.test("`submit()` sends what the fields hold and leaves out what a browser leaves out", async () => {
  const page = await new Visitor(makeApp()).visit("/");
  const result = await page.form(1).fill({
    title: "Hi",
    content: "one\ntwo",
    agree: true,
    size: "m",
    color: "g",
  }).submit();
  assertEquals(JSON.parse(result.text), {
    title: "Hi",
    content: "one\r\ntwo",
    agree: "yes",
    size: "m",
    color: "g",
    button: "Save",
  });
});

Deno.test("`submit()` of a GET form puts the fields into the query", async () => {
  const page = await new Visitor(makeApp()).visit("/");
  const result = await page.form().fill({ q: "a&b" }).submit();
  assertEquals(result.path, "/search?q=a%26b");
  assertEquals(JSON.parse(result.text), { q: "a&b" });
});

Deno.test("`submit()` sends files of a multipart form", async () => {
  const page = await new Visitor(makeApp()).visit("/");
  const photo = new File(["x"], "x.png", { type: "image/png" });
  const result = await page.form(2).fill({ photo, note: "n" }).submit();
  assertEquals(JSON.parse(result.text), { note: "n", names: ["photo"] });
});

Deno.test("`submit()` refuses a file in a form that would send its name alone", async () => {
  const app = new Engine();
  const file = '<input type="file" name="photo">';
  app.route(
    "GET /",
    () =>
      `<form method="post">${file}<button>No type</button></form>
     <form enctype="multipart/form-data">${file}<button>Get</button></form>
     <form method="POST" enctype="Multipart/Form-Data">${file}<button>Right</button></form>`,
  );
  app.route("POST /", () => Object.keys(app.request().files));
  const page = await new Visitor(app).visit("/");
  const photo = new File(["x"], "x.png");
  for (const button of ["No type", "Get"]) {
    await assertRejects(
      () => page.form(button).fill({ photo }).submit(),
      RangeError,
      'Cannot submit the form: the field "photo" has a file, so the form must have method="post" and enctype="multipart/form-data"',
    );
  }
  const right = await page.form("Right").fill({ photo }).submit();
  assertEquals(right.json(), ["photo"]);
  assertEquals((await page.form("No type").submit()).json(), []);
});

Deno.test("`form()` is the first form, and names the forms and buttons where there is none", async () => {
  const page = await new Visitor(makeApp()).visit("/");
  const elsewhere = await page.click("Go elsewhere");
  assertThrows(
    () => elsewhere.form(),
    RangeError,
    "the page has 0 forms and no buttons",
  );
  const app = new Engine();
  app.route("/", () => "<form></form>");
  const single = await new Visitor(app).visit("/");
  assertThrows(
    () => single.form(1),
    RangeError,
    "Cannot find the form 1: the page has 1 form and no buttons",
  );
});

Deno.test("`json()` of a page that is none tells what the page is", async () => {
  const page = await new Visitor(makeApp()).visit("/nowhere");
  assertThrows(
    () => page.json(),
    SyntaxError,
    'Cannot read "/nowhere" as JSON: its status is 404, its type "text/html; charset=utf-8"; Unexpected token',
  );
  const app = new Engine();
  app.route("/empty", () => new Response(null, { status: 204 }));
  const empty = await new Visitor(app).visit("/empty");
  assertThrows(
    () => empty.json(),
    SyntaxError,
    'Cannot read "/empty" as JSON: its status is 204, and it has no type; Unexpected end',
  );
});

Deno.test("`submit()` refuses an empty required field", async () => {
  const page = await new Visitor(makeApp()).visit("/");
  await assertRejects(
    () => page.form(1).submit(),
    RangeError,
    `the field "title" is required`,
  );
});

Deno.test("`fill()` refuses what the form cannot hold", async (t) => {
  const page = await new Visitor(makeApp()).visit("/");
  const cases: [string, Record<string, string | boolean>, string][] = [
    [
      "an unknown field",
      { tilte: "x" },
      "the form has the fields title, content",
    ],
    [
      "a disabled field",
      { off: "2" },
      "the form has the fields title, content",
    ],
    ["an unknown option", { color: "blue" }, "does not accept"],
    ["an unknown radio button", { size: "xl" }, 'radio does not accept "xl"'],
    ["a radio button that is true", { size: true }, "does not accept true"],
    ["another value of a checkbox", { agree: "no" }, "does not accept"],
    ["text that is true", { title: true }, "does not accept true"],
    ["text that is too long", { title: "123456" }, "does not accept"],
  ];
  for (const [name, values, message] of cases) {
    await t.step(name, () => {
      assertThrows(() => page.form(1).fill(values), RangeError, message);
    });
  }
});

Deno.test("`Visitor` keeps cookies, and drops them when they expire", async () => {
  const app = new Engine();
  app.route("/in", () => {
    app.response().cookie("user", "Ada L.");
    app.redirect("/");
  });
  app.route("/out", () => {
    app.response().cookie("user", "", { maxAge: 0 });
    app.redirect("/");
  });
  app.route("/", () => `user: ${app.request().cookies.user ?? "nobody"}`);
  const visitor = new Visitor(app);
  assertEquals((await visitor.visit("/")).text, "user: nobody");
  assertEquals((await visitor.visit("/in")).text, "user: Ada L.");
  assertEquals((await visitor.visit("/")).text, "user: Ada L.");
  assertEquals((await visitor.visit("/out")).text, "user: nobody");
});

Deno.test("`Visitor` sends a form again after a 307, and asks for a page after a 303", async () => {
  const app = new Engine();
  app.route("POST /307", () => app.redirect("/end", 307));
  app.route("POST /303", () => app.redirect("/end"));
  app.route("/end", () => `${app.request().method} ${app.request().getBody()}`);
  const visitor = new Visitor(app);
  const init = { method: "POST", body: "b" };
  assertEquals((await visitor.visit("/307", init)).text, "POST b");
  assertEquals((await visitor.visit("/303", init)).text, "GET ");
});

Deno.test("`Visitor` sends no header of a body when it asks for a page after a redirect", async () => {
  const app = new Engine();
  app.route("POST|PUT|GET /@status:[0-9]+", (status) => {
    app.redirect("/end", Number(status));
  });
  app.route("/end", () => [...app.request().raw.headers].map(String));
  const visitor = new Visitor(app);
  const type = "content-type,text/plain";
  const headers = {
    "Content-Type": "text/plain",
    "Content-Language": "en",
    "Content-Encoding": "identity",
    "Content-Location": "/here",
    "X-Token": "a",
  };
  const end = async (status: number, method: string): Promise<string[]> => {
    const init = { method, headers };
    return (await visitor.visit(`/${status}`, init)).json<string[]>();
  };
  assertEquals(await end(303, "POST"), ["x-token,a"]);
  assertEquals(await end(303, "PUT"), ["x-token,a"]);
  assertEquals(await end(302, "POST"), ["x-token,a"]);
  for (const [status, method] of [[302, "PUT"], [303, "GET"]] as const) {
    assertStringIncludes((await end(status, method)).join(" "), type);
  }
  const page = await visitor.visit("/303", { json: { name: "Ada" } });
  assertEquals(page.json(), []);
});

Deno.test("`Visitor` stops at a redirect that leaves the application", async () => {
  const app = new Engine();
  app.route("/", () => app.redirect("https://example.com/"));
  const page = await new Visitor(app).visit("/");
  assertEquals([page.status, page.path], [303, "/"]);
});

Deno.test("`Visitor` gives up on endless redirects", async () => {
  const app = new Engine();
  app.route("/", () => app.redirect("/"));
  await assertRejects(
    () => new Visitor(app).visit("/"),
    RangeError,
    "more than 20 redirects",
  );
});

Deno.test("`assertIsolated()` accepts an application that keeps requests apart", async () => {
  const app = new Engine();
  app.route("/@name", async (name) => {
    app.set("name", name);
    await new Promise((resolve) => setTimeout(resolve, name.length));
    return `${app.get("name")}`;
  });
  await assertIsolated(app, ["/a", "/bbbb", "/cc"]);
});

Deno.test("`assertIsolated()` finds a response that another request has changed", async () => {
  let name = "";
  const app = new Engine();
  app.route("/@name", async (given) => {
    name = given;
    await new Promise((resolve) => setTimeout(resolve, given.length));
    return name;
  });
  await assertRejects(
    () => assertIsolated(app, ["/a", "/bbbb", "/cc"]),
    Error,
    "gets a different response when other requests run at the same time",
  );
});

for (const rounds of [0, -1, 1.5, NaN]) {
  Deno.test(`\`assertIsolated()\` refuses ${rounds} rounds`, async () => {
    const app = new Engine();
    await assertRejects(
      () => assertIsolated(app, ["/a", "/b"], { rounds }),
      RangeError,
      `"rounds" must be a whole number, at least 1, got "${rounds}"`,
    );
  });
}

for (const requests of [[], "/a", undefined]) {
  Deno.test(`\`assertIsolated()\` refuses the requests ${Deno.inspect(requests)}`, async () => {
    await assertRejects(
      () => assertIsolated(new Engine(), requests as string[]),
      TypeError,
      "Cannot compare requests: they must be a list",
    );
  });
}

Deno.test("`assertIsolated()` refuses a request that is not repeatable", async () => {
  let count = 0;
  const app = new Engine();
  app.route("/", () => `${count++}`);
  await assertRejects(
    () => assertIsolated(app, ["/"]),
    Error,
    "its responses differ even when it runs alone",
  );
});

Deno.test("`assertIsolated()` shows the first line that differs, and ignores the headers and cookies it is told", async () => {
  let count = 0;
  const app = new Engine();
  app.route("/", () => {
    app.response().header("x-request", String(++count)).cookie(
      "seen",
      String(count),
    );
    return "same";
  });
  await assertIsolated(app, ["/"], { ignore: ["X-Request", "seen"] });
  const error = await assertRejects(() =>
    assertIsolated(app, ["/"], { ignore: ["seen"] })
  );
  assertMatch(
    (error as Error).message,
    /first, line \d+: x-request: \d+\nsecond, line \d+: x-request: \d+$/,
  );
});

Deno.test("`Visitor` sends JSON, reads JSON, and chooses a form by its button", async () => {
  const app = new Engine();
  app.route("POST /json", () => app.request().data);
  app.route(
    "GET /",
    () =>
      `<form action="/a" method="post"><button>Delete</button></form>
       <form action="/b" method="post"><input type="submit" value="Save"></form>`,
  );
  app.route("POST /@which:a|b", (which) => which);
  const visitor = new Visitor(app);
  const page = await visitor.visit("/json", { json: { name: "Ada" } });
  assertEquals(page.json(), { name: "Ada" });
  const start = await visitor.visit("/");
  assertEquals((await start.form("Save").submit()).text, "b");
  assertEquals((await start.form("Delete").submit()).text, "a");
  const error = assertThrows(() => start.form("Publish"), RangeError);
  assertStringIncludes(error.message, '"Delete", "Save"');
});

Deno.test("`fill()` checks a checkbox beside a hidden field of its name, as browsers send both", async () => {
  const app = new Engine();
  app.route(
    "GET /",
    () =>
      `<form method="post"><input type="hidden" name="news" value="no">
     <input type="checkbox" name="news" value="yes"></form>`,
  );
  app.route("POST /", () => app.request().getBody());
  const form = (await new Visitor(app).visit("/")).form();
  assertEquals((await form.submit()).text, "news=no");
  assertEquals(
    (await form.fill({ news: true }).submit()).text,
    "news=no&news=yes",
  );
  assertEquals((await form.fill({ news: false }).submit()).text, "news=no");
});

Deno.test("`submit()` takes one radio button of a required group, and refuses none", async () => {
  const app = new Engine();
  const button = (value: string) =>
    `<input type="radio" name="size" value="${value}" required>`;
  app.route("GET /", () => `<form method="post">${button("s")}${button("m")}`);
  app.route("POST /", () => app.request().data);
  const form = (await new Visitor(app).visit("/")).form();
  await assertRejects(() => form.submit(), RangeError, '"size" is required');
  assertEquals((await form.fill({ size: "m" }).submit()).text, '{"size":"m"}');
});

Deno.test("`Visitor` sends the headers of its options, and those of a visit in their place", async () => {
  const app = new Engine();
  app.route("/", () => {
    const request = app.request();
    app.response().cookie("seen", "1");
    return ["accept-language", "x-token", "cookie"].map((name) =>
      request.getHeader(name)
    );
  });
  const visitor = new Visitor(app, {
    origin: "https://example.com",
    headers: { "accept-language": "de", "x-token": "a", cookie: "own=1" },
  });
  const first = await visitor.visit("/", { headers: { "X-Token": "b" } });
  assertEquals(first.json(), ["de", "b", "own=1"]);
  assertEquals((await visitor.visit("/")).json(), ["de", "a", "own=1; seen=1"]);
});

Deno.test("`Visitor` takes a text as its origin", async () => {
  const app = new Engine();
  app.route("/", () => app.request().raw.url);
  const pages = await Promise.all([
    new Visitor(app, "https://example.com/ignored").visit("/"),
    new Visitor(app, { origin: "https://example.com" }).visit("/"),
    new Visitor(app, {}).visit("/"),
  ]);
  assertEquals(pages.map(({ text }) => text), [
    "https://example.com/",
    "https://example.com/",
    "http://localhost/",
  ]);
});

Deno.test("`attributes()` lists the values of the elements that have the attribute", async () => {
  const page = await new Visitor(makeApp()).visit("/");
  assertEquals(page.attributes("a", "href"), ["/elsewhere"]);
  assertEquals(page.attributes("form", "method"), ["post", "post"]);
  assertEquals(page.attributes("input", "value").slice(0, 2), ["old", "yes"]);
  assertEquals(page.attributes("img", "src"), []);
});

Deno.test("`open()` returns the unread response of a stream without an end", async () => {
  const app = new Engine();
  app.route("/in", () => app.redirect("/ticks"));
  app.route("/ticks", async function* () {
    for (;;) yield await Promise.resolve("tick ");
  });
  const response = await new Visitor(app).open("/in");
  assertEquals([response.status, response.bodyUsed], [200, false]);
  const reader = response.body!.getReader();
  const { value } = await reader.read();
  assertEquals(new TextDecoder().decode(value), "tick ");
  await reader.cancel();
});

Deno.test("`submit()` sends the button that the form was chosen by", async () => {
  const app = new Engine();
  app.route("GET /", () =>
    `<form method="post">
    <button type="button" name="no" value="1">Help</button><input name="title">
    <button name="to" value="draft">Keep</button>
    <input type="submit" name="to" value="Publish"><button disabled name="to">No</button>
  </form>`);
  app.route("POST /", () => app.request().getBody());
  const page = await new Visitor(app).visit("/");
  const sent = async (which?: string) => (await page.form(which).submit()).text;
  assertEquals(await sent("Keep"), "title=&to=draft");
  assertEquals(await sent("Publish"), "title=&to=Publish");
  assertEquals(page.form("Help").names, ["title"]);
  assertEquals(await sent("Help"), "title=");
});

Deno.test("`submit()` presses the first button that submits when none was chosen, as the Enter key does", async () => {
  const buttons = {
    "": "",
    "<button>Save</button>": "",
    '<button type="button" name="a">1</button><button type="reset" name="b">2</button>':
      "",
    '<button type="button" name="a"></button><button type="odd" name="c" value="3">3</button>':
      "c=3",
    '<input type="SUBMIT" name="d" value="4"><button name="e">5</button>':
      "d=4",
    '<button><b>6</b></button><button name="f">7</button>': "",
    '<input type="image" name="g"><button name="h">8</button>': "g.x=0&g.y=0",
    '<input type="image">': "x=0&y=0",
  };
  const app = new Engine();
  app.route(
    "GET /",
    () =>
      Object.keys(buttons).map((each) => `<form method="post">${each}</form>`)
        .join(""),
  );
  app.route("POST /", () => app.request().getBody());
  const page = await new Visitor(app).visit("/");
  for (const [index, expected] of Object.values(buttons).entries()) {
    assertEquals((await page.form(index).submit()).text, expected);
  }
});

Deno.test("`submit()` refuses a disabled button, as the first one or the chosen one", async () => {
  const app = new Engine();
  app.route(
    "/",
    () => `<form><button disabled>No</button><button>Yes</button></form>`,
  );
  const page = await new Visitor(app).visit("/");
  for (const which of [undefined, "No"]) {
    await assertRejects(
      () => page.form(which).submit(),
      RangeError,
      'Cannot submit the form: the button "No" is disabled',
    );
  }
  assertEquals((await page.form("Yes").submit()).status, 200);
});

Deno.test("`fill()` takes a list for what holds several values, and for nothing else", async () => {
  const app = new Engine();
  app.route("GET /", () =>
    `<form method="post"><input name="title">
    <input type="checkbox" name="tag" value="new"><input type="checkbox" name="tag" value="sale" checked>
    <select name="size" multiple><option>s<option selected>m<option selected>l</select></form>`);
  app.route("POST /", () => app.request().getBody());
  const form = (await new Visitor(app).visit("/")).form();
  const sent = async () => (await form.submit()).text;
  assertEquals(await sent(), "title=&tag=sale&size=m&size=l");
  form.fill({ tag: ["sale", "new"], size: ["s", "m"] });
  assertEquals(await sent(), "title=&tag=new&tag=sale&size=s&size=m");
  form.fill({ tag: [], size: [] });
  assertEquals(await sent(), "title=");
  assertThrows(
    () => form.fill({ title: ["a"] }),
    RangeError,
    "does not accept",
  );
  assertThrows(() => form.fill({ tag: ["new", "x"] }), RangeError, "accept [");
});

Deno.test("`settled()` waits for deferred work, and for what that has deferred", async () => {
  for (const app of [new Engine(), Framework]) {
    const done: string[] = [];
    const later = (work: () => void, name: string) => async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      done.push(name);
      work();
    };
    const second = later(() => {}, "second");
    app.route("/settled", () => {
      app.defer(later(() => app.defer(second), "first"));
    });
    await app.fetch(new Request("http://localhost/settled"));
    assertEquals(done, []);
    await settled(app);
    assertEquals(done, ["first", "second"]);
    await settled(app);
  }
});

Deno.test("`settled()` waits for the deferred work of a mounted engine", async () => {
  const [outer, inner] = [new Engine(), new Engine()];
  let isDone = false;
  inner.route("/", () => inner.defer(() => void (isDone = true)));
  outer.mount("/inner", inner);
  await outer.fetch(new Request("http://localhost/inner"));
  await settled(outer);
  assertEquals(isDone, true);
});

Deno.test("`submit()` sends what the button says, and no field of a disabled `fieldset`", async () => {
  const app = new Engine();
  app.route("GET /", () =>
    `<form action="/save">
      <fieldset disabled>
        <legend><input name="legend" value="1"></legend>
        <legend><input name="second" value="2"></legend>
        <input name="off" value="3">
      </fieldset>
      <input name="long" maxlength="" required>
      <button>Save</button>
      <button formaction="/draft" formmethod="post" formnovalidate>Draft</button>
    </form>`);
  app.route("/save", () => ({ saved: app.request().query }));
  app.route("POST /draft", () => ({ draft: app.request().data }));
  const page = await new Visitor(app).visit("/");
  const saved = await page.form("Save").fill({ long: "text" }).submit();
  assertEquals(saved.json(), { saved: { legend: "1", long: "text" } });
  const draft = await page.form("Draft").fill({ long: "" }).submit();
  assertEquals(draft.json(), { draft: { legend: "1", long: "" } });
});

/** Texts that a browser refuses to submit, by the input that has them, with what the error says. */
const FAULTS: readonly [input: string, text: string, message: string][] = [
  ['type="email"', "nope", "must be an e-mail address"],
  ['type="email"', "a@b.de,c@d.de", "must be an e-mail address"],
  ['type="email" multiple', "a@b.de,,c@d.de", "must be e-mail addresses"],
  [
    'type="email" multiple pattern=".*@b.de"',
    "a@b.de,c@d.de",
    "must be text that matches .*@b.de",
  ],
  ['type="url"', "example.com", "must be a whole URL"],
  ['pattern="[0-9]+"', "12x", "must be text that matches [0-9]+"],
  ['minlength="3"', "ab", "must be at least 3 characters long"],
  ['type="number"', "1e", "must be a number"],
  ['type="number" min="3"', "2", "must be at least 3"],
  ['type="number" max="3"', "4", "must be at most 3"],
  ['type="number"', "1.5", "must be a multiple of 1"],
  ['type="number" min="1" step="5"', "5", "must be 1 plus a multiple of 5"],
  ['type="number" value="0.5"', "1", "must be 0.5 plus a multiple of 1"],
  ['type="date" min="2026-02-10"', "2026-02-09", "must be at least 2026-02-10"],
  ['type="date" max="2026-02-10"', "2026-02-11", "must be at most 2026-02-10"],
  [
    'type="date" min="2026-02-27" step="7"',
    "2026-03-05",
    "must be 2026-02-27 plus a multiple of 7",
  ],
];

for (const [input, text, message] of FAULTS) {
  Deno.test(`\`submit()\` refuses "${text}" in an input with ${input}`, async () => {
    const app = new Engine();
    app.route("/", () => `<form><input name="it" ${input}></form>`);
    const page = await new Visitor(app).visit("/");
    await assertRejects(
      () => page.form().fill({ it: text }).submit(),
      RangeError,
      `the field "it" ${message}, got "${text}"`,
    );
    await page.form().fill({ it: "" }).submit();
  });
}

Deno.test("`submit()` sends what fits the rules of the fields", async () => {
  const app = new Engine();
  app.route("GET /", () =>
    `<form method="post">
      <input name="mail" type="email"><input name="page" type="url">
      <input name="code" pattern="[0-9]+" minlength="3">
      <input name="price" type="number" min="0.1" step="0.1">
      <input name="any" type="number" step="any">
      <input name="half" type="number" value="0.5">
      <input name="week" type="date" value="2026-02-27" step="7">
    </form>`);
  app.route("POST /", () => app.request().data);
  const values = {
    mail: "ada@example.com",
    page: "https://example.com/a",
    code: "1234",
    price: "0.3",
    any: "-1.25",
    half: "1.5",
    week: "2026-03-06",
  };
  const page = await new Visitor(app).visit("/");
  const sent = await page.form().fill(values).submit();
  assertEquals(sent.json(), values);
});

Deno.test("`form()` has the fields and buttons that name it by their `form`", async () => {
  const app = new Engine();
  app.route("GET /", () =>
    `<input name="before" value="1" form="it">
    <form id="it" action="/sent"><input name="in" value="2">
      <input name="other" value="3" form="none"></form>
    <button form="it">Send</button>`);
  app.route("/sent", () => app.request().query);
  const page = await new Visitor(app).visit("/");
  const sent = await page.form("Send").submit();
  assertEquals(sent.json(), { before: "1", in: "2" });
});

Deno.test("a visitor stays on its site, and follows fragments and a `base`", async () => {
  const app = new Engine();
  app.route(
    "/",
    () =>
      `<base href="/docs/"><a href="page">Page</a><a href="#top">Top</a>
    <a href="//other.example/">Other</a><a href="mailto:a@b.c">Mail</a>
    <form action="https://other.example/"><button>Send</button></form>`,
  );
  app.route("/docs(/@name)", (name) => name ?? "list");
  app.route("/moved", () => app.redirect("/docs/page#c5"));
  const visitor = new Visitor(app);
  const page = await visitor.visit("/");
  assertEquals((await page.click("Page")).text, "page");
  assertEquals((await page.click("Top")).text, "list");
  assertEquals((await visitor.visit("/moved")).text, "page");
  assertEquals((await visitor.visit("/docs/x?y#z")).path, "/docs/x?y");
  for (
    const leave of [
      () => page.click("Other"),
      () => page.click("Mail"),
      () => page.form("Send").submit(),
    ]
  ) {
    await assertRejects(leave, RangeError, "it is another site");
  }
});

/** Selects named `it`, and what a form with one sends. */
const SELECTS: Readonly<Record<string, string>> = {
  '<select name="it"><option disabled value="">-<option>x<option>y</select>':
    "it=x",
  '<select name="it"><option disabled selected value="">-<option>x</select>':
    "",
  '<select name="it"><optgroup disabled><option>x</optgroup><option>y</select>':
    "it=y",
  '<select name="it"><option>x<optgroup disabled><option selected>y</select>':
    "",
  '<select name="it"><option selected>x<option selected>y<option>z</select>':
    "it=y",
  '<select name="it" size="3"><option>x<option>y</select>': "",
  '<select name="it" size="1"><option>x<option>y</select>': "it=x",
  '<select name="it" multiple><option selected disabled>x<option selected>y</select>':
    "it=y",
  '<select name="it" required><option>x<option selected value="">none</select>':
    "it=",
  '<select name="it" required><optgroup><option value="">none</select>': "it=",
};

for (const [select, expected] of Object.entries(SELECTS)) {
  Deno.test(`\`submit()\` sends "${expected}" for ${select}`, async () => {
    const page = await new Visitor(formApp(select)).visit("/");
    assertEquals((await page.form().submit()).text, expected);
  });
}

for (
  const select of [
    '<select name="it" required><option value="">-<option>x</select>',
    '<select name="it" required><option disabled selected value="">-<option>x</select>',
    '<select name="it" required size="2"><option>x<option>y</select>',
  ]
) {
  Deno.test(`\`submit()\` requires a choice of ${select}`, async () => {
    const page = await new Visitor(formApp(select)).visit("/");
    const form = page.form();
    await assertRejects(() => form.submit(), RangeError, '"it" is required');
    assertEquals((await form.fill({ it: "x" }).submit()).text, "it=x");
  });
}

Deno.test("`fill()` refuses an option that is disabled, also by its `optgroup`", async () => {
  const app = formApp(
    `<select name="one"><option disabled>x<option>y</select>
     <select name="two"><optgroup disabled><option>x</optgroup><option>y</select>`,
  );
  const form = (await new Visitor(app).visit("/")).form();
  for (const name of ["one", "two"]) {
    assertThrows(
      () => form.fill({ [name]: "x" }),
      RangeError,
      `Cannot fill "${name}": a field of type select does not accept "x"`,
    );
  }
});

Deno.test("`submit()` sends line breaks as browsers do, of untouched fields, too", async () => {
  const app = new Engine();
  const fields = `<textarea name="old">a\nb</textarea>
    <textarea name="new" maxlength="3"></textarea>
    <input type="hidden" name="hidden" value="a\nb&#13;c&#13;&#10;d">
    <input name="line" value="a\nb"><input type="other" name="typed">
    <input type="email" name="mail" value=" a@b.de ">
    <select name="choice"><option value="a\nb"></select>
    <button name="button" value="a\nb">Send</button>`;
  app.route(
    "GET /",
    () =>
      ["application/x-www-form-urlencoded", "multipart/form-data"].map((type) =>
        `<form method="post" enctype="${type}">${fields}</form>`
      ).join(""),
  );
  app.route("POST /", () => app.request().data);
  const page = await new Visitor(app).visit("/");
  for (const index of [0, 1]) {
    const form = page.form(index).fill({ new: "a\r\nb", typed: "a\r\nb" });
    assertEquals((await form.submit()).json(), {
      old: "a\r\nb",
      new: "a\r\nb",
      hidden: "a\r\nb\r\nc\r\nd",
      line: "ab",
      typed: "ab",
      mail: "a@b.de",
      choice: "a\r\nb",
      button: "a\r\nb",
    });
  }
});

Deno.test("`submit()` does not check a field that is read-only or hidden, and `fill()` refuses a read-only one", async () => {
  const app = formApp(
    `<input name="line" readonly required><textarea name="text" readonly required></textarea>
     <input name="mail" type="email" readonly value="none"><input name="id" type="hidden" required>
     <input name="two" readonly value="1"><input name="two">`,
  );
  const form = (await new Visitor(app).visit("/")).form();
  for (const name of ["line", "text", "mail"]) {
    assertThrows(
      () => form.fill({ [name]: "x" }),
      RangeError,
      `Cannot fill "${name}": the field is read-only`,
    );
  }
  form.fill({ two: "2" });
  assertEquals(
    (await form.submit()).text,
    "line=&text=&mail=none&id=&two=1&two=2",
  );
});

Deno.test("`submit()` requires a box that is `readonly`, since that is only for text", async () => {
  const app = formApp('<input type="checkbox" name="it" readonly required>');
  const form = (await new Visitor(app).visit("/")).form();
  await assertRejects(() => form.submit(), RangeError, '"it" is required');
  assertEquals((await form.fill({ it: true }).submit()).text, "it=on");
});

Deno.test("`submit()` sends the addresses of an input that is `multiple` as one text", async () => {
  const app = formApp(
    `<input name="to" type="email" multiple value=" a@b.de , c@d.de ">
     <input name="cc" type="email" multiple pattern=".*@.*e">
     <input name="one" multiple>`,
  );
  const form = (await new Visitor(app).visit("/")).form();
  const sent = async () =>
    [...new URLSearchParams((await form.submit()).text)].join(" ");
  assertEquals(await sent(), "to,a@b.de,c@d.de cc, one,");
  form.fill({ to: "a@b.de", cc: "a@b.de, c@d.de" });
  assertEquals(await sent(), "to,a@b.de cc,a@b.de,c@d.de one,");
  form.fill({ to: ["c@d.de", "e@f.de"], cc: [] });
  assertEquals(await sent(), "to,c@d.de,e@f.de cc, one,");
  assertThrows(() => form.fill({ one: ["a"] }), RangeError, "does not accept");
});

Deno.test("`fill()` refuses what is no date, and `submit()` leaves it out", async () => {
  const app = formApp(
    `<input name="it" type="date" min="2024-02-29" max="2026-12-31">
     <input name="old" type="date" value="2026-02-31">`,
  );
  const form = (await new Visitor(app).visit("/")).form();
  for (const it of ["2026-02-31", "2026-13-01", "31.1.2026", "2026-1-1"]) {
    assertThrows(() => form.fill({ it }), RangeError, "type date does not");
  }
  for (const it of ["2024-02-29", "2026-12-31", ""]) {
    assertEquals((await form.fill({ it }).submit()).text, `it=${it}&old=`);
  }
});

Deno.test("the page of an error has its message for a visitor, also with a signal", async () => {
  const app = new Engine();
  app.route("/", () => {
    throw new Error("no such table");
  });
  const { signal } = new AbortController();
  for (const options of [{}, { signal }]) {
    const page = await new Visitor(app).visit("/", options);
    assertEquals(page.texts("p"), ["no such table"]);
  }
});

Deno.test("`assertIsolated()` takes requests that are clones, also of a page with an error", async () => {
  const app = new Engine();
  app.route("/", () => {
    throw new Error("boom");
  });
  await assertIsolated(app, [
    () => new Request("http://localhost/").clone(),
    "/",
  ]);
});

Deno.test("`Visitor` shows the choices of a 300, as browsers do", async () => {
  const app = new Engine();
  app.route("/", () => {
    app.response().status(300).header("location", "/first");
    return "choices";
  });
  assertEquals((await new Visitor(app).visit("/")).text, "choices");
});

Deno.test("`submit()` sends the last of the radio buttons that are checked, as browsers do", async () => {
  const app = new Engine();
  const button = (value: string) =>
    `<input type="radio" name="size" value="${value}" checked>`;
  app.route("GET /", () => `<form>${button("s")}${button("m")}`);
  const form = (await new Visitor(app).visit("/")).form();
  assertEquals((await form.submit()).path, "/?size=m");
});
