/**
 * The blog in a real browser: keyboard, odd titles, accessibility, sizes and colours. Skipped where no
 * Chromium is installed. With `BLOG_PICTURES=folder` each page is photographed into that folder.
 */

import {
  assert,
  assertEquals,
  assertFalse,
  assertStringIncludes,
} from "@std/assert";
import axe from "npm:axe-core@4.14.1";
import { BlogCopy, type BlogProcess } from "./blog_child.ts";
import { browserTest } from "./browser.ts";
import type { BrowserContext, Page } from "./chromium.ts";
import { ServerProcess } from "./server_child.ts";

const SCHEMES = ["light", "dark"] as const;

/** Declares a test with a running blog and a browser. */
function blogTest(
  name: string,
  test: (
    browser: BrowserContext,
    blog: BlogProcess,
    copy: BlogCopy,
  ) => Promise<void>,
): void {
  browserTest(name, async (browser) => {
    await using copy = await BlogCopy.make();
    await using blog = await copy.start();
    await test(browser, blog, copy);
  });
}

blogTest(
  "a post is read with the keyboard alone",
  async (browser, blog) => {
    await using page = await browser.open(1280, 800);
    await page.go(blog.origin);
    await page.press("Tab");
    assertEquals(await focused(page), "Skip to the content");
    await tabTo(page, "Post one");
    await page.pressAndLoad("Enter");
    assertEquals(await textOf(page, "h1"), "Post one");
    await tabTo(page, "← All posts");
    await page.pressAndLoad("Enter");
    assertEquals(await textOf(page, "h1"), "All posts");
    assertEquals(page.complaints, []);
  },
);

blogTest(
  "a post is written with the keyboard alone",
  async (browser, blog, copy) => {
    await using page = await browser.open(1280, 800);
    await page.go(blog.origin);
    await tabTo(page, "Write a post");
    await page.pressAndLoad("Enter");
    await tabTo(page, "Title");
    await page.type("Written by Hand");
    await tabTo(page, "Content");
    await page.type("Line one\n\nLine <three>");
    await tabTo(page, "Publish");
    await page.pressAndLoad("Enter");
    assertEquals((await copy.titles()).at(-1), "Written by Hand");
    await tabTo(page, "Written by Hand");
    await page.pressAndLoad("Enter");
    assertEquals(await textOf(page, ".text"), "Line one\n\nLine <three>");
    assertEquals(page.complaints, []);
  },
);

blogTest(
  "the form is not sent while a field is empty",
  async (browser, blog, copy) => {
    await using page = await browser.open(1280, 800);
    await page.go(`${blog.origin}/create`);
    await tabTo(page, "Title");
    await page.type("Title only");
    await page.press("Enter");
    assertEquals(await focused(page), "Content");
    assertFalse((await copy.titles()).includes("Title only"));
  },
);

blogTest(
  "every title leads to its page and prints as it was written",
  async (browser, blog) => {
    const titles = [
      "C/C++ & 100%?",
      "<script>hacked = 1</script>",
      "Straße ✓ 日本語",
      `"a" 'b' + #c`,
      "{{ 7 * 7 }}",
    ];
    for (const title of titles) await blog.create(title);
    await using page = await browser.open(390, 844);
    for (const [index, title] of titles.entries()) {
      await page.go(blog.origin);
      const link = `document.querySelectorAll(".posts a")[${3 + index}].href`;
      await page.go(await page.read<string>(link));
      assertEquals(await textOf(page, "h1"), title);
      assertEquals(await page.read("document.title"), title);
      assertEquals(await page.read("typeof hacked"), "undefined");
    }
    assertEquals(page.complaints, []);
  },
);

blogTest(
  "a script that is injected into a page does not run",
  async (browser, blog) => {
    await using page = await browser.open(1280, 800);
    await page.go(blog.origin);
    await page.read(`(() => {
    const script = document.createElement("script");
    script.textContent = "window.hacked = 1";
    document.body.append(script);
  })()`);
    assertEquals(await page.read("typeof hacked"), "undefined");
    assertStringIncludes(page.complaints.join(), "Content Security Policy");
  },
);

blogTest(
  "every page is accessible and fits, light and dark, on phones and wide screens",
  async (browser, blog) => {
    await blog.create("Donaudampfschifffahrtsgesellschaft".repeat(4));
    await using page = await browser.open(1280, 800);
    for (const name of ["", "post/the-sea-in-november", "create", "nowhere"]) {
      await page.go(`${blog.origin}/${name}`);
      for (
        const [width, height] of [[320, 640], [390, 844], [1280, 800]] as const
      ) {
        await page.resize(width, height);
        for (const scheme of SCHEMES) {
          await page.prefer(scheme);
          const view = `${name.split("/")[0] || "home"}-${width}-${scheme}`;
          await photograph(page, view);
          assertEquals(await violations(page), [], view);
          assert(await widthOf(page) <= width, `${view} is too wide`);
        }
      }
    }
  },
);

/** A program whose pages are the framework's own. */
const OWN_PAGES = `
  import { Engine } from "@framework/core";
  const app = new Engine();
  app.route("/boom", () => {
    throw new Error("long".repeat(200));
  });
  app.route("/debug/*", () => {
    app.set("framework.debug", true);
    throw new Error("long".repeat(200), { cause: new Error("cause") });
  });
  app.start({ port: 0 });
`;

browserTest(
  "`error()` and `notFound()` have accessible pages that fit a phone",
  async (browser) => {
    await using server = await ServerProcess.start(OWN_PAGES);
    const origin = `http://127.0.0.1:${await server.port()}`;
    await using page = await browser.open(320, 640);
    for (const path of ["nowhere", "boom", `debug/${"x".repeat(300)}`]) {
      await page.go(`${origin}/${path}`);
      for (const scheme of SCHEMES) {
        await page.prefer(scheme);
        await photograph(
          page,
          `own-${path.slice(0, 7).replace("/", "")}-${scheme}`,
        );
        assertEquals(await widthOf(page), 320, path);
        assertEquals(await violations(page), [], path);
      }
    }
  },
);

/** A program under debug with a strict policy for its pages. */
const DEBUGGED = `
  import { Engine } from "@framework/core";
  const app = new Engine();
  app.set("framework.debug", true);
  app.before("send", ([response]) =>
    response.headers.set("content-security-policy", "default-src 'self'"));
  app.route("GET /boom/@id", () => {
    throw new Error("long".repeat(200), { cause: new Error("cause") });
  });
  app.start({ port: 0 });
`;

browserTest(
  "`framework.debug` shows accessible pages under a strict policy",
  async (browser) => {
    const permissions = ["--allow-net=127.0.0.1", "--allow-read"];
    await using server = await ServerProcess.start(DEBUGGED, { permissions });
    const origin = `http://127.0.0.1:${await server.port()}`;
    await using page = await browser.open(1200, 800);
    for (const path of ["boom/7?token=1", "bom/7"]) {
      await page.go(`${origin}/${path}`);
      for (const width of [320, 1200]) {
        await page.resize(width, 800);
        for (const scheme of SCHEMES) {
          await page.prefer(scheme);
          const view = `debug-${path.replace(/\W.*/, "")}-${width}-${scheme}`;
          await photograph(page, view);
          const blocked = page.complaints.filter((each) =>
            each.includes("Content Security Policy")
          );
          assertEquals(blocked, [], view);
          const margin = "getComputedStyle(document.body).maxWidth";
          assertEquals(await page.read(margin), "1024px", view);
          assert(await widthOf(page) <= width, `${view} is too wide`);
          assertEquals(await violations(page), [], view);
          const isWhite =
            "getComputedStyle(document.body).backgroundColor === 'rgb(255, 255, 255)'";
          assertEquals(await page.read(isWhite), scheme === "light", view);
        }
      }
    }
  },
);

/** The rules of accessibility that a page breaks. */
async function violations(page: Page): Promise<string[]> {
  if (await page.read("typeof axe === 'undefined'")) {
    await page.read(axe.source);
  }
  const found = await page.read<{ id: string }[]>(
    "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)",
  );
  return found.map(({ id }) => id);
}

/** How wide a page is: innerWidth would grow with it, as a phone zooms out until all of it is in the window. */
async function widthOf(page: Page): Promise<number> {
  return await page.read("document.documentElement.scrollWidth");
}

/** Presses Tab until the element with that text or label has the focus. */
async function tabTo(page: Page, text: string): Promise<void> {
  for (let count = 0; count < 30; count++) {
    await page.press("Tab");
    if (await focused(page) === text) return;
  }
  throw new Error(`The Tab key does not lead to "${text}"`);
}

/** The text or label of the element that has the focus. */
async function focused(page: Page): Promise<string> {
  return await page.read(
    "(document.activeElement.labels?.[0] ?? document.activeElement).innerText",
  );
}

async function textOf(page: Page, selector: string): Promise<string> {
  return await page.read(
    `document.querySelector(${JSON.stringify(selector)}).innerText`,
  );
}

async function photograph(page: Page, name: string): Promise<void> {
  const folder = Deno.env.get("BLOG_PICTURES");
  if (folder !== undefined) await page.picture(`${folder}/${name}.png`);
}
