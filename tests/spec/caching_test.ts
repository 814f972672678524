/** SPEC, behaviour rule 8: `etag` and `lastModified`. */

import { assertEquals } from "@std/assert";
import { type App, onBothForms, visit } from "../support/forms.ts";

const TIME = 784_111_777;
const DATE = "Sun, 06 Nov 1994 08:49:37 GMT";

/** What sets a cache value, and its header. */
const VALUES: readonly [set: (app: App) => void, name: string, string][] = [
  [(app) => app.etag("v1"), "etag", '"v1"'],
  [(app) => app.etag("v1", "string"), "etag", '"v1"'],
  [(app) => app.etag("v1", "weak"), "etag", 'W/"v1"'],
  [(app) => app.lastModified(TIME), "last-modified", DATE],
];

onBothForms(
  "`etag()` and `lastModified()` set the cache value",
  async (app) => {
    for (const [place, [set, name, value]] of VALUES.entries()) {
      app.route(`/${place}`, () => {
        set(app);
        return "page";
      });
      const response = await visit(app, `/${place}`);
      assertEquals(response.headers.get(name), value);
      assertEquals([response.status, await response.text()], [200, "page"]);
    }
  },
);

onBothForms(
  "`etag()` and `lastModified()` end at once with 304 when the client's value is current",
  async (app) => {
    let after = 0;
    for (const [place, [set, name, value]] of VALUES.entries()) {
      app.route(`/${place}`, () => {
        app.response().write("dropped");
        set(app);
        after++;
      });
      const isTag = name === "etag";
      const condition = isTag ? "if-none-match" : "if-modified-since";
      const headers = { [condition]: value };
      const response = await visit(app, `/${place}`, { headers });
      assertEquals([response.status, await response.text()], [304, ""]);
      assertEquals(response.headers.get(name), value);
    }
    assertEquals(after, 0);
  },
);
