/** Pages in a real browser: the blog by keyboard, odd titles, accessibility, sizes and colours. */

import {
  assert,
  assertEquals,
  assertFalse,
  assertStringIncludes,
} from "@std/assert";
import axe from "npm:axe-core@4.14.1";
import { BlogCopy, type BlogProcess } from "../support/blog_child.ts";
import { browserTest, type Page } from "../support/chromium.ts";
import { ServerProcess } from "../support/server_child.ts";

/** Declares a test with a running blog and a page. */
function blogTest(
  name: string,
  test: (page: Page, blog: BlogProcess, copy: BlogCopy) => Promise<void>,
): void {
  browserTest(name, 1280, async (page) => {
    await using copy = await BlogCopy.make();
    await using blog = await copy.start();
    await test(page, blog, copy);
  });
}

blogTest(
  "a post is written with the keyboard alone, once both fields are filled",
  async (page, blog, copy) => {
    await page.go(blog.origin);
    await tabTo(page, "Write a post");
    await page.pressAndLoad("Enter");
    await tabTo(page, "Title");
    await page.type("Written by Hand");
    await page.press("Enter");
    assertEquals(await focused(page), "Content");
    assertFalse((await copy.titles()).includes("Written by Hand"));
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
  "a script that is injected into a page does not run",
  async (page, blog) => {
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
  async (page, blog) => {
    await blog.create("Donaudampfschifffahrtsgesellschaft".repeat(4));
    for (const path of ["", "post/post-one", "create", "nowhere"]) {
      await page.go(`${blog.origin}/${path}`);
      await assertFits(page, [320, 390, 1280]);
    }
  },
);

browserTest(
  "the framework's own error pages are accessible and fit a phone",
  320,
  async (page) => {
    for (const debug of [false, true]) {
      await using server = await ServerProcess.start(`
        import { Engine } from "@framework/core";
        const app = new Engine();
        app.set("framework.debug", ${debug});
        app.route("/boom/*", () => {
          throw new Error("long".repeat(200), { cause: new Error("cause") });
        });
        app.start({ port: 0 });
      `);
      for (const path of ["nowhere", `boom/${"x".repeat(300)}`]) {
        await page.go(`http://127.0.0.1:${await server.port()}/${path}`);
        await assertFits(page, [320]);
      }
    }
  },
);

/** Checks a page in light and dark colours, at several widths. */
async function assertFits(page: Page, widths: number[]): Promise<void> {
  for (const width of widths) {
    await page.resize(width);
    for (const scheme of ["light", "dark"] as const) {
      await page.prefer(scheme);
      const view = `${await page.read("location.href")}, ${width}, ${scheme}`;
      assertEquals(await violations(page), [], view);
      // `innerWidth` would grow with the page, as a phone zooms out.
      const shown = await page.read<number>(
        "document.documentElement.scrollWidth",
      );
      assert(shown <= width, `${view}: ${shown}`);
    }
  }
}

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
