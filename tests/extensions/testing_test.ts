/** Tests the helpers for tests: `Visitor` with its pages and forms, and `assertIsolated()`. `rules/send_test.ts` has `settled()`. */

import { Engine } from "@framework/core";
import { assertIsolated, Visitor } from "@framework/core/testing";
import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";

/** Opens a page of that markup; what its forms send comes back as text. */
async function open(markup: string): ReturnType<Visitor["visit"]> {
  const app = new Engine();
  app.route("GET /", () => markup);
  app.route("GET /sent", () => new URL(app.request().raw.url).search.slice(1));
  app.route("POST /sent", () => app.request().getBody());
  app.route("POST /data", () => app.request().data);
  app.route("POST /files", () => ({
    note: app.request().data.note,
    files: Object.keys(app.request().files),
  }));
  app.route("/elsewhere", () => "<h1>Else\n where</h1>");
  return await new Visitor(app).visit("/");
}

/** Opens a page with one form, which posts its fields. */
async function openForm(fields: string) {
  const page = await open(
    `<form method="post" action="/sent">${fields}</form>`,
  );
  return page.form();
}

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
  assertEquals((await visitor.visit("/in")).text, "user: Ada L.");
  assertEquals((await visitor.visit("/")).text, "user: Ada L.");
  assertEquals((await new Visitor(app).visit("/")).text, "user: nobody");
  assertEquals((await visitor.visit("/out")).text, "user: nobody");
  assertEquals(visitor.cookies, {});
});

Deno.test("`Visitor` sends a form again after a 307, and asks for a page after a 303", async () => {
  const app = new Engine();
  app.route("POST /@status:30[37]", (status) => {
    app.redirect("/end#there", Number(status));
  });
  app.route("/end", () => {
    const { method, type } = app.request();
    return `${method} ${type} ${app.request().getBody()}`;
  });
  const visitor = new Visitor(app);
  const headers = { "content-type": "text/plain" };
  const init = { method: "POST", body: "b", headers };
  assertEquals((await visitor.visit("/307", init)).text, "POST text/plain b");
  const page = await visitor.visit("/303", init);
  assertEquals([page.text.trim(), page.path], ["GET", "/end"]);
});

Deno.test("`Visitor` accepts what a browser does, so that it gets pages", async () => {
  const app = new Engine();
  app.route("/", () => app.request().getHeader("accept"));
  const visitor = new Visitor(app);
  assertMatch((await visitor.visit("/")).text, /^text\/html,.*\*\/\*;q=0\.8$/);
  const missing = await visitor.visit("/nowhere");
  assertEquals([missing.status, missing.texts("h1").length], [404, 1]);
});

Deno.test("`Visitor` sends the page that a link or a form was on, and the origin of a form", async () => {
  const app = new Engine();
  const sent = () => [
    app.request().referrer,
    app.request().getHeader("origin"),
  ];
  app.route("GET /page", () => '<a href="/sent">Go</a><form method="post">');
  app.route("POST /page", sent);
  app.route("/sent", sent);
  const page = await new Visitor(app).visit("/page?a=1#b");
  const from = "http://localhost/page?a=1";
  assertEquals((await page.click("Go")).json(), [from, ""]);
  const posted = await page.form().submit();
  assertEquals(posted.json(), [from, "http://localhost"]);
});

Deno.test("`Visitor` sends JSON as a script does, and a page that is none tells what it is", async () => {
  const app = new Engine();
  app.route("POST /json", () => app.request().data);
  app.route("POST /accept", () => app.request().getHeader("accept"));
  const visitor = new Visitor(app);
  const accept = await visitor.visit("/accept", { json: {} });
  assertEquals(accept.text, "*/*");
  const page = await visitor.visit("/json", { json: { name: "Ada" } });
  assertEquals(page.json(), { name: "Ada" });
  const missing = await visitor.visit("/nowhere");
  const message = 'Cannot read "/nowhere" as JSON: its status is 404';
  assertThrows(() => missing.json(), SyntaxError, message);
});

Deno.test("`click()` follows a link by its text, and names the links when none has it", async () => {
  const page = await open('<a href="/elsewhere"> Go\n  elsewhere </a>');
  assertEquals(page.attributes("a", "href"), ["/elsewhere"]);
  const elsewhere = await page.click("Go elsewhere");
  assertEquals([elsewhere.path, elsewhere.texts("h1")], ["/elsewhere", [
    "Else where",
  ]]);
  await assertRejects(
    async () => await page.click("Nowhere"),
    RangeError,
    `Cannot click "Nowhere": the page has the links "Go elsewhere"`,
  );
});

Deno.test("a visitor stays on its site, and follows fragments and a `base`", async () => {
  const app = new Engine();
  const links = `<base href="/docs/"><a href="page">Page</a>
    <a href="#top">Top</a><a href="//other.example/">Other</a>
    <form action="https://other.example/"><button>Send</button></form>`;
  app.route("/", () => links);
  app.route("/docs(/@name)", (name) => name ?? "list");
  const page = await new Visitor(app).visit("/");
  assertEquals((await page.click("Page")).text, "page");
  assertEquals((await page.click("Top")).text, "list");
  for (
    const work of [() => page.click("Other"), () => page.form("Send").submit()]
  ) {
    await assertRejects(work, RangeError, "another site");
  }
});

Deno.test("`form()` finds a form by its place or its button, and names the buttons where there is none", async () => {
  const page = await open(
    `<form action="/sent"><button name="a">Delete</button></form>
     <form action="/sent"><input name="b" type="submit" value="Save"></form>`,
  );
  const sent = async (which?: string | number) =>
    (await page.form(which).submit()).text;
  assertEquals(await sent(), "a=");
  assertEquals(await sent(1), "b=Save");
  assertEquals(await sent("Save"), "b=Save");
  assertThrows(() => page.form("No"), RangeError, '"Delete", "Save"');
});

Deno.test("`submit()` sends what the fields hold and leaves out what a browser leaves out", async () => {
  const page = await open(`<form method="post" action="/data">
    <input name="title" required maxlength="5">
    <textarea name="content">\nfirst\nsecond</textarea>
    <input type="checkbox" name="agree" value="yes">
    <input type="checkbox" name="never">
    <input type="radio" name="size" value="s" checked>
    <input type="radio" name="size" value="m">
    <input type="radio" name="last" value="x" checked>
    <input type="radio" name="last" value="y" checked>
    <input type="hidden" name="sure" value="no"><input type="checkbox" name="sure" value="yes">
    <select name="color"><option>red<option value="g">green</select>
    <select name="many[]" multiple><option selected>x<option>y<option selected>z</select>
    <input name="off" value="1" disabled><input value="no name">
    <fieldset disabled><input name="in" value="1"></fieldset>
    <button type="button" name="help">Help</button>
    <input type="submit" name="button" value="Save"><button name="more">More</button>
  </form><input form="none" name="outside">`);
  const form = page.form().fill({ title: "Hi", agree: true, size: "m" });
  const expected = {
    title: "Hi",
    content: "first\r\nsecond",
    agree: "yes",
    size: "m",
    last: "y",
    sure: "no",
    color: "red",
    many: ["x", "z"],
    button: "Save",
  };
  assertEquals((await form.submit()).json(), expected);
});

Deno.test("`submit()` of a GET form puts the fields into the query", async () => {
  const page = await open('<form action="/sent?old=1"><input name="q"></form>');
  const result = await page.form().fill({ q: "a&b" }).submit();
  assertEquals([result.path, result.text], ["/sent?q=a%26b", "q=a%26b"]);
});

Deno.test("`submit()` sends files of a multipart form, and refuses them in another one", async () => {
  const fields = '<input type="file" name="photo"><input name="note">';
  const page = await open(
    `<form method="post" action="/files" enctype="multipart/form-data">${fields}</form>
     <form method="post" action="/files">${fields}</form>`,
  );
  const photo = new File(["x"], "x.png", { type: "image/png" });
  const form = page.form();
  const without = await form.fill({ note: "n" }).submit();
  assertEquals(without.json(), { note: "n", files: [] });
  const sent = await form.fill({ photo }).submit();
  assertEquals(sent.json(), { note: "n", files: ["photo"] });
  const wrong = () => page.form(1).fill({ photo }).submit();
  const message = 'method="post" and enctype="multipart/form-data"';
  await assertRejects(wrong, RangeError, message);
});

Deno.test("`submit()` sends the button that the form was chosen by, and as it says", async () => {
  const page = await open(`<form action="/nowhere"><input name="title" required>
    <button name="to" value="live">Publish</button>
    <button name="to" value="draft" formaction="/sent" formmethod="post" formnovalidate>Keep</button>
    <button disabled>No</button></form>`);
  assertEquals((await page.form("Keep").submit()).text, "title=&to=draft");
  const disabled = () => page.form("No").submit();
  await assertRejects(disabled, RangeError, 'the button "No" is disabled');
});

/** Values that a form cannot hold, and what the error says. */
const UNFILLABLE: readonly [Record<string, string | boolean>, string][] = [
  [{ tilte: "x" }, "the form has the fields title"],
  [{ color: "blue" }, "does not accept"],
  [{ size: "xl" }, "does not accept"],
  [{ agree: "no" }, "does not accept"],
  [{ title: "123456" }, "does not accept"],
  [{ fixed: "x" }, "the field is read-only"],
];

Deno.test("`fill()` refuses what the form cannot hold", async () => {
  const form = await openForm(`<input name="title" maxlength="5">
    <input name="off" disabled><input name="fixed" readonly>
    <input type="checkbox" name="agree" value="yes">
    <input type="radio" name="size" value="s">
    <select name="color"><option>red<option disabled>grey</select>`);
  for (const [values, message] of UNFILLABLE) {
    assertThrows(() => form.fill(values), RangeError, message);
  }
});

/** Fields that a browser refuses to submit with a text, and with what the error says. */
const FAULTS: readonly [field: string, text: string, message: string][] = [
  ["required", "", "is required"],
  ['pattern="[0-9]+"', "12x", "must be text that matches [0-9]+"],
  ['type="number"', "1e", "must be a number"],
];

for (const [field, text, message] of FAULTS) {
  Deno.test(`\`submit()\` refuses "${text}" in an input with ${field}`, async () => {
    const form = await openForm(`<input name="it" ${field}>`);
    const submit = () => form.fill({ it: text }).submit();
    await assertRejects(submit, RangeError, `the field "it" ${message}`);
  });
}

Deno.test("`assertIsolated()` accepts an application that keeps requests apart", async () => {
  const app = new Engine();
  app.route("/@name", async (name) => {
    app.set("name", name);
    await new Promise((resolve) => setTimeout(resolve, name.length));
    return `${app.get("name")}`;
  });
  await assertIsolated(app, ["/a", "/bbbb", () => new Request("http://a/cc")]);
});

Deno.test("`assertIsolated()` finds a response that another request has changed", async () => {
  let name = "";
  const app = new Engine();
  app.route("/@name", async (given) => {
    name = given;
    await new Promise((resolve) => setTimeout(resolve, given.length));
    return name;
  });
  const leaking = () => assertIsolated(app, ["/a", "/bbbb", "/cc"]);
  const message = "gets a different response when other requests run";
  await assertRejects(leaking, Error, message);
});

Deno.test("`assertIsolated()` refuses a request that is not repeatable, and ignores what it is told", async () => {
  let count = 0;
  const app = new Engine();
  app.route("/", () => {
    app.response().header("x-request", String(++count));
    app.response().cookie("seen", String(count));
    return "same";
  });
  await assertIsolated(app, ["/"], { ignore: ["X-Request", "seen"] });
  const { message } = await assertRejects(() =>
    assertIsolated(app, ["/"], { ignore: ["seen"] })
  ) as Error;
  assertStringIncludes(message, "its responses differ even when it runs alone");
  assertMatch(message, /x-request: \d+\n.*x-request: \d+$/);
});
