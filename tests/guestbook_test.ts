/** Tests the guestbook of `sites/` by visitors over a socket. */

import { type Page, Visitor } from "@framework/core/testing";
import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { guestbook } from "./sites/guestbook.ts";

const PASSWORD = "correct horse";

/** Declares a test with a guestbook that listens on a socket; `arrive` lets another visitor come. */
function guestbookTest(
  name: string,
  test: (arrive: () => Visitor, origin: string) => Promise<void>,
): void {
  Deno.test(`the guestbook ${name}`, async () => {
    const photos = await Deno.makeTempDir();
    const secret = crypto.randomUUID();
    const app = guestbook({ photos, password: PASSWORD, secret });
    try {
      await using server = app.start({
        port: 0,
        signals: false,
        onListen: () => {},
      });
      const { port } = server.addr as Deno.NetAddr;
      const origin = `http://127.0.0.1:${port}`;
      await test(() => new Visitor({ fetch }, origin), origin);
    } finally {
      await Deno.remove(photos, { recursive: true });
    }
  });
}

/** Signs the guestbook; returns the page that the visitor sees then. */
async function sign(
  visitor: Visitor,
  text: string,
  photo?: File,
): Promise<Page> {
  const form = (await visitor.visit("/")).form("Sign");
  form.fill({ name: "Ada", text });
  if (photo) form.fill({ photo });
  return await form.submit();
}

async function logIn(visitor: Visitor, password = PASSWORD): Promise<Page> {
  const page = await (await visitor.visit("/")).click("Log in");
  return await page.form("Log in").fill({ password }).submit();
}

/** The notice of a page. */
const noticeOf = (page: Page): string | undefined => page.texts("output")[0];

guestbookTest(
  "shows what was written, escaped, to everybody, and its notice once to who wrote",
  async (arrive) => {
    const [ada, grace] = [arrive(), arrive()];
    const page = await sign(ada, "1 < 2");
    assertEquals([page.path, noticeOf(page)], ["/", "Thank you"]);
    assertStringIncludes(page.text, "<p>1 &lt; 2</p>");
    assertEquals(noticeOf(await ada.visit("/")), undefined);
    const seen = await grace.visit("/");
    assertEquals([noticeOf(seen), seen.texts("h2")], [undefined, ["Ada"]]);
    const refused = await sign(ada, " ".trim()).catch((error) => error.message);
    assertStringIncludes(refused, '"text" is required');
  },
);

guestbookTest(
  "refuses an entry without a text, of a client that checks no form, and keeps what was typed",
  async (arrive) => {
    const visitor = arrive();
    const body = new URLSearchParams({ name: "Ada" });
    const page = await visitor.visit("/", { method: "POST", body });
    assertEquals([page.status, page.texts("em")], [422, ["", "A text?", ""]]);
    assertEquals(page.attributes("input", "value"), ["Ada"]);
    assertEquals((await visitor.visit("/")).texts("h2"), []);
  },
);

guestbookTest("shows five entries a page, the newest first", async (arrive) => {
  const visitor = arrive();
  for (let number = 1; number <= 11; number++) {
    await sign(visitor, `Entry ${number}`);
  }
  const texts = (page: Page) => page.text.match(/(?<=Entry )\d+/g)?.map(Number);
  const first = await visitor.visit("/");
  assertEquals(texts(first), [11, 10, 9, 8, 7]);
  const last = await (await first.click("Older")).click("Older");
  assertEquals([last.path, texts(last)], ["/?page=3", [1]]);
  assertEquals(last.texts("a").includes("Older"), false);
  assertEquals(texts(await last.click("Newer")), [6, 5, 4, 3, 2]);
  for (const { text } of [first, last]) assert(!/false|null/.test(text));
  for (const number of ["0", "-1", "x", "1.5"]) {
    const page = await visitor.visit(`/?page=${number}`);
    assertEquals(texts(page), texts(first), number);
  }
  assertEquals((await visitor.visit("/?page=4")).status, 404);
});

guestbookTest(
  "keeps a photo and shows it, and nothing but photos",
  async (arrive) => {
    const visitor = arrive();
    const bytes = crypto.getRandomValues(new Uint8Array(50_000));
    const type = "image/png";
    const page = await sign(
      visitor,
      "Me",
      new File([bytes], "../me.png", { type }),
    );
    const [path] = page.attributes("img", "src");
    assertMatch(path!, /^\/photos\/[\w-]+\.png$/);
    const photo = await visitor.visit(path!);
    assertEquals(photo.response.headers.get("content-type"), type);
    assertEquals(photo.response.headers.get("content-length"), "50000");
    assertEquals(
      photo.response.headers.get("x-content-type-options"),
      "nosniff",
    );
    const script = new File(["<script>"], "me.png", { type: "text/html" });
    const refused = await sign(visitor, "It", script);
    assertEquals(refused.texts("em"), ["", "", "JPEG or PNG?"]);
    assertEquals(refused.texts("textarea"), ["It"]);
    assertEquals((await visitor.visit("/")).texts("h2").length, 1);
  },
);

guestbookTest(
  "lets who knows the password delete entries, until the logout",
  async (arrive) => {
    const [ada, admin] = [arrive(), arrive()];
    await sign(ada, "Spam");
    const wrong = await logIn(admin, "wrong");
    assertEquals([wrong.path, noticeOf(wrong)], ["/login", "Wrong password"]);
    const page = await logIn(admin);
    assertEquals([page.path, noticeOf(page)], ["/", "Welcome back"]);
    const [action] = page.attributes("form", "action");
    assertEquals((await ada.visit("/")).text.includes("/admin/"), false);
    for (
      const path of [
        action!,
        action!.replace("admin", "Admin"),
        "/admin/logout",
      ]
    ) {
      assertEquals((await ada.visit(path, { method: "POST" })).status, 403);
    }
    const deleted = await page.form("Delete").submit();
    assertEquals([noticeOf(deleted), deleted.texts("h2")], ["Deleted", []]);
    assertEquals((await admin.visit(action!, { method: "POST" })).status, 404);
    const left = await deleted.form("Log out").submit();
    assertEquals([noticeOf(left), left.texts("a")], ["Goodbye", ["Log in"]]);
    assertEquals((await admin.visit(action!, { method: "POST" })).status, 403);
  },
);

guestbookTest("refuses forms of other sites", async (arrive, origin) => {
  const visitor = arrive();
  await logIn(visitor);
  const body = new URLSearchParams({ name: "Eve", text: "Spam" });
  for (const path of ["/", "/login", "/admin/logout"]) {
    const headers = { origin: origin.replace(/\d+$/, "1") };
    const page = await visitor.visit(path, { method: "POST", body, headers });
    assertEquals(page.status, 403, path);
  }
  assertEquals((await visitor.visit("/")).texts("button"), ["Sign", "Log out"]);
});
