/** Live reload in a real browser. Skipped where no Chromium is installed. */

import { assertEquals } from "@std/assert";
import { files } from "@framework/core/files";
import { Process } from "../tasks/process.ts";
import { browserTest } from "./browser.ts";
import type { Page } from "./chromium.ts";
import { Desk } from "./desk.ts";
import { absoluteImports } from "./import_map.ts";
import { logOf } from "./log.ts";
import { freePort } from "./ports.ts";

/** Milliseconds within which a page has to show a change. Alone on a machine it takes below 150. */
const PATIENCE = 10_000;

function page(heading: string): string {
  return `<!doctype html><html lang="en"><link rel="icon" href="data:,"><body><h1>${heading}</h1></body></html>`;
}

/** Waits until the first heading of a page is as given. */
async function shows(page: Page, heading: string): Promise<void> {
  const end = performance.now() + PATIENCE;
  let shown: unknown;
  while (shown !== heading) {
    if (performance.now() > end) throw new Error(`The page shows ${shown}`);
    await later(5);
    // While the page reloads there is nothing to read.
    shown = await page.read("document.querySelector('h1')?.innerText")
      .catch(() => "nothing");
  }
}

function later(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Waits until a tab of the browser listens, and so until every later change is told. */
async function listens(page: Page): Promise<void> {
  const held = "navigator.locks.query().then(({ held }) => held.length)";
  while (await page.read(held) !== 1) {
    await later(5);
  }
}

browserTest(
  "a page reloads when a template or a static file changes, under a strict policy",
  async (browser) => {
    await using desk = new Desk((app, folder) => {
      const asset = files(app, "/public", folder);
      app.route("/", () => app.render("home.vto", { asset }));
      app.before("start", () => {
        const policy =
          "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src data:";
        app.response().header("content-security-policy", policy);
      });
    });
    const style = '<link rel="stylesheet" href="{{ asset("style.css") }}">';
    await desk.write("style.css", "h1 { color: rgb(1, 1, 1) }");
    await desk.write("home.vto", page("One") + style);
    await using tab = await browser.open(800, 600);
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
  "the page of an error reloads when the template is mended",
  async (browser) => {
    await using desk = new Desk((app) =>
      app.route("/", () => app.render("home.vto"))
    );
    await using tab = await browser.open(800, 600);
    await desk.write("home.vto", page("{{ nothing.at.all }}"));
    await logOf(async () => {
      await tab.go(desk.origin);
      await shows(tab, "500 Internal Server Error");
    });
    await desk.write("home.vto", page("Mended"));
    await shows(tab, "Mended");
  },
);

browserTest(
  "eight tabs reload, although a browser has six connections",
  async (browser) => {
    await using desk = new Desk((app) =>
      app.route("/", () => app.render("home.vto"))
    );
    await desk.write("home.vto", page("One"));
    const tabs = await Promise.all(
      Array.from({ length: 8 }, () => browser.open(800, 600)),
    );
    for (const tab of tabs) await tab.go(desk.origin);
    await desk.write("home.vto", page("Two"));
    await Promise.all(tabs.map((tab) => shows(tab, "Two")));
    // The tab that listens may be one that leaves.
    for (const tab of tabs.splice(0, 4)) {
      await tab.go("about:blank");
      await tab[Symbol.asyncDispose]();
    }
    await desk.write("home.vto", page("Three"));
    await Promise.all(tabs.map((tab) => shows(tab, "Three")));
    for (const tab of tabs) await tab[Symbol.asyncDispose]();
  },
);

browserTest(
  "a page with an `ETag` reloads once for a change, and not over and over",
  async (browser) => {
    let visits = 0;
    await using desk = new Desk((app, folder) => {
      files(app, "/public", folder);
      app.route("/", () => {
        visits += 1;
        app.etag("one");
        return page("One");
      });
    });
    await desk.write("style.css", "");
    await (await desk.visit("/public/style.css")).text();
    await using tab = await browser.open(800, 600);
    await tab.go(desk.origin);
    await listens(tab);
    visits = 0;
    await desk.write("style.css", "* {}");
    while (visits === 0) await later(5);
    await later(500);
    assertEquals(visits, 1);
  },
);

browserTest(
  'a page that "back" leads to shows what has changed meanwhile',
  async (browser) => {
    await using desk = new Desk((app) =>
      app.route("/*", () => app.render("home.vto"))
    );
    await desk.write("home.vto", page("One"));
    await using tab = await browser.open(800, 600);
    await tab.go(`${desk.origin}/first`);
    await listens(tab);
    await tab.go(`${desk.origin}/second`);
    await listens(tab);
    await desk.write("home.vto", page("Two"));
    await shows(tab, "Two");
    await tab.follow("history.back()");
    await shows(tab, "Two");
    assertEquals(await tab.read("location.pathname"), "/first");
  },
);

browserTest(
  "the page after a form is not made anew, which would send the form again",
  async (browser) => {
    let posts = 0;
    await using desk = new Desk((app) => {
      app.route("GET /", () => app.render("home.vto"));
      app.route("POST /", () => {
        posts += 1;
        return app.render("home.vto");
      });
    });
    const form = '<form method="post"></form>';
    await desk.write("home.vto", page("One") + form);
    await using tab = await browser.open(800, 600);
    await tab.go(desk.origin);
    await tab.follow("document.forms[0].submit()");
    await listens(tab);
    await desk.write("home.vto", page("Two") + form);
    await later(500);
    await shows(tab, "One");
    assertEquals(posts, 1);
  },
);

browserTest(
  "a page reloads when the program is restarted by `--watch`, also after errors",
  async (browser) => {
    await using site = await Site.start("return page('One')");
    await using tab = await browser.open(800, 600);
    await tab.go(await site.origin());
    await listens(tab);
    await site.write("return page('Two')");
    await shows(tab, "Two");
    await site.write("throw new Error('broken')");
    await shows(tab, "500 Internal Server Error");
    await site.write("return page('Mended')");
    await shows(tab, "Mended");
    await site.write("return page('No end");
    await site.process.prints(/SyntaxError/);
    await site.write("return page('Three')");
    await shows(tab, "Three");
  },
);

/** A site that is being written, run by `deno run --watch`. */
class Site implements AsyncDisposable {
  readonly process: Process;

  private constructor(readonly folder: string, flags: readonly string[]) {
    const command = [Deno.execPath(), "run", "--watch", "--no-clear-screen"];
    this.process = new Process([
      ...command as [string],
      ...flags,
      "--allow-net=127.0.0.1",
      `--allow-read=${folder}`,
      `${folder}/main.ts`,
    ]);
  }

  /** Starts a site with one page, which the statements make. */
  static async start(statements: string): Promise<Site> {
    const folder = await Deno.makeTempDir();
    const map = JSON.stringify({ imports: await absoluteImports() });
    const flags = [
      "--no-prompt",
      "--no-config",
      "--no-lock",
      `--import-map=data:application/json,${encodeURIComponent(map)}`,
    ];
    const port = freePort();
    const main = `
      import { Framework } from "@framework/core";
      import "./app.ts";
      Framework.set("framework.debug", true);
      Framework.start({ port: ${port} });
    `;
    await Deno.writeTextFile(`${folder}/main.ts`, main);
    await Site.#write(folder, statements);
    return new Site(folder, flags);
  }

  static async #write(folder: string, statements: string): Promise<void> {
    const app = `
      import { Framework } from "@framework/core";
      ${page};
      Framework.route("/", () => { ${statements} });
    `;
    await Deno.writeTextFile(`${folder}/app.ts`, app);
  }

  async origin(): Promise<string> {
    const [, origin] = await this.process.prints(/Listening on (\S+)\//);
    return origin!;
  }

  /** Changes the statements that make the page. */
  async write(statements: string): Promise<void> {
    await Site.#write(this.folder, statements);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process[Symbol.asyncDispose]();
    await Deno.remove(this.folder, { recursive: true });
  }
}
