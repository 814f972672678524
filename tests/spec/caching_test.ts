/** SPEC, behaviour rule 8: `etag` and `lastModified`. */

import { assertEquals } from "@std/assert";
import { type App, onBothForms, visit } from "../support/forms.ts";

const TIME = 784_111_777;
const DATE = "Sun, 06 Nov 1994 08:49:37 GMT";

/** What sets a cache value, its header, and the condition of a client that has it. */
const VALUES: [
  path: string,
  set: (app: App) => void,
  header: [name: string, value: string],
  condition: string,
][] = [
  ["/default", (app) => app.etag("v1"), ["etag", '"v1"'], "if-none-match"],
  [
    "/string",
    (app) => app.etag("v1", "string"),
    ["etag", '"v1"'],
    "if-none-match",
  ],
  [
    "/weak",
    (app) => app.etag("v1", "weak"),
    ["etag", 'W/"v1"'],
    "if-none-match",
  ],
  [
    "/date",
    (app) => app.lastModified(TIME),
    ["last-modified", DATE],
    "if-modified-since",
  ],
];

onBothForms(
  "`etag()` and `lastModified()` set the cache value",
  async (app) => {
    for (const [path, set, [name, value]] of VALUES) {
      app.route(path, () => {
        set(app);
        return "page";
      });
      const response = await visit(app, path);
      assertEquals(response.headers.get(name), value, path);
      assertEquals([response.status, await response.text()], [200, "page"]);
    }
  },
);

onBothForms(
  "`etag()` and `lastModified()` end at once with 304 when the client's value is current",
  async (app) => {
    let after = 0;
    for (const [path, set, [name, value], condition] of VALUES) {
      app.route(path, () => {
        app.response().write("dropped");
        set(app);
        after++;
      });
      const headers = { [condition]: value };
      const response = await visit(app, path, { headers });
      assertEquals([response.status, await response.text()], [304, ""], path);
      assertEquals(response.headers.get(name), value);
    }
    assertEquals(after, 0);
  },
);
