/**
 * The guestbook of `sites/` in a real browser: what it does with the cookies of `sessions` and the refusals
 * of `guard`. Skipped where no Chromium is installed.
 */

import { assert, assertEquals } from "@std/assert";
import { browserTest } from "./browser.ts";
import type { Page } from "./chromium.ts";
import { guestbook } from "./sites/guestbook.ts";

const PASSWORD = "correct horse";

const LOG_OUT = `document.querySelector("[action$=logout]").submit()`;

/** Declares a test with a guestbook and a page of a browser. */
function guestbookTest(
  name: string,
  test: (page: Page, origin: string) => Promise<void>,
): void {
  browserTest(name, async (browser) => {
    const photos = await Deno.makeTempDir();
    const secret = crypto.randomUUID();
    const app = guestbook({ photos, password: PASSWORD, secret });
    await using server = app.start({
      port: 0,
      signals: false,
      onListen: () => {},
    });
    const { port } = server.addr as Deno.NetAddr;
    await using page = await browser.open(1280, 800);
    await test(page, `http://127.0.0.1:${port}`);
    await Deno.remove(photos);
  });
}

guestbookTest(
  "the browser keeps a login, and shows its flash once",
  async (page, origin) => {
    await logIn(page, origin);
    assertEquals(await read(page), ["/", "Welcome back", "Log out"]);
    await page.go(origin);
    assertEquals(await read(page), ["/", null, "Log out"]);
    assertEquals(await page.read("document.cookie"), "");
  },
);

guestbookTest(
  "the back button repeats neither a flash nor a login, and shows nothing of a session that ended",
  async (page, origin) => {
    await logIn(page, origin);
    await page.go(`${origin}/?page=1`);
    await page.follow("history.back()");
    await page.follow("location.reload()");
    assertEquals(await read(page), ["/", null, "Log out"]);
    await page.follow(LOG_OUT);
    assertEquals(await read(page), ["/", "Goodbye", "Log in"]);
    await page.follow("history.back()");
    assertEquals(await read(page), ["/", null, "Log in"]);
    await page.follow("history.back()");
    assertEquals(await read(page), ["/login", null, "Log in"]);
  },
);

guestbookTest(
  "a form on a page of another port is refused, although the browser sends the cookie with it",
  async (page, origin) => {
    await logIn(page, origin);
    const form =
      `<form method="post" action="${origin}/admin/logout"><button>Win</button></form>`;
    const html = { headers: { "content-type": "text/html" } };
    const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
    await using other = Deno.serve(options, () => new Response(form, html));
    await page.go(`http://127.0.0.1:${other.addr.port}`);
    await page.follow(`document.querySelector("button").click()`);
    assertEquals(await page.read("location.href"), `${origin}/admin/logout`);
    const text = await page.read<string>("document.body.innerText");
    assert(text.includes("Requests from other sites are refused here"), text);
    await page.go(origin);
    assertEquals(await read(page), ["/", null, "Log out"]);
  },
);

async function logIn(page: Page, origin: string): Promise<void> {
  await page.go(`${origin}/login`);
  await page.read(`document.querySelector("input").focus()`);
  await page.type(PASSWORD);
  await page.pressAndLoad("Enter");
}

/** The path of a page, its notice, and what it offers: the login or the logout. */
async function read(page: Page): Promise<(string | null)[]> {
  return await page.read(`[
    location.pathname,
    document.querySelector("output")?.innerText ?? null,
    document.querySelector("[action$=logout] button, a[href='/login']")?.innerText,
  ]`);
}
