/** Tests live reload in a browser. Skipped where no Chromium is installed. */

import { assertEquals } from "@std/assert";
import { files } from "@framework/core/files";
import { browserTest, type Page } from "../support/chromium.ts";
import { Desk } from "../support/desk.ts";
import { freePort } from "../support/ports.ts";
import { ServerProcess } from "../support/server_child.ts";

function page(heading: string): string {
  return `<!doctype html><html lang="en"><link rel="icon" href="data:,"><body><h1>${heading}</h1></body></html>`;
}

/** Waits until an expression has a value on a page. */
async function until(page: Page, expression: string, value: unknown) {
  for (;;) {
    // While the page reloads there is nothing to read.
    const read = await page.read(expression).catch(() => undefined);
    if (read === value) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Waits until the first heading of a page is as given. */
async function shows(page: Page, heading: string): Promise<void> {
  await until(page, "document.querySelector('h1')?.innerText", heading);
}

/** Waits until the page listens, and so until it is told of every later change. */
async function listens(page: Page): Promise<void> {
  const held = "navigator.locks.query().then(({ held }) => held.length)";
  await until(page, held, 1);
}

browserTest(
  "a page reloads when a template or a static file changes, under a strict policy",
  800,
  async (tab) => {
    const policy =
      "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src data:";
    await using desk = new Desk((app, folder) => {
      const asset = files(app, "/public", folder);
      app.route("/", () => {
        app.response().header("content-security-policy", policy);
        return app.render("home.vto", { asset });
      });
    });
    const style = '<link rel="stylesheet" href="{{ asset("style.css") }}">';
    await desk.write("style.css", "h1 { color: rgb(1, 1, 1) }");
    await desk.write("home.vto", page("One") + style);
    await tab.go(desk.origin);
    await listens(tab);
    await desk.write("home.vto", page("Two") + style);
    await shows(tab, "Two");
    await listens(tab);
    await desk.write("style.css", "h1 { text-transform: uppercase }");
    await shows(tab, "TWO");
    assertEquals(tab.complaints, []);
  },
);

browserTest(
  "a page reloads when `--watch` restarts the program",
  800,
  async (tab) => {
    const folder = await Deno.makeTempDir();
    const write = (heading: string) =>
      Deno.writeTextFile(
        `${folder}/page.ts`,
        `export const page = ${JSON.stringify(page(heading))};`,
      );
    await write("One");
    const port = freePort();
    const source = `
      import { Framework } from "@framework/core";
      import { page } from "file://${folder}/page.ts";
      Framework.set("framework.debug", true);
      Framework.route("/", () => page);
      Framework.start({ port: ${port} });
    `;
    const command = ["run", "--watch", "--no-clear-screen"];
    await using site = await ServerProcess.start(source, { command });
    await site.port();
    await tab.go(`http://127.0.0.1:${port}/`);
    await listens(tab);
    await write("Two");
    await shows(tab, "Two");
    await Deno.remove(folder, { recursive: true });
  },
);
