/** Configuration settings: SPEC.md, "Configuration settings", on both forms; other settings stand with what they set. */

import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { onBothForms, visit } from "../support/forms.ts";

onBothForms("the settings are variables with documented defaults", (app) => {
  const defaults = {
    "framework.base_url": null,
    "framework.case_sensitive": false,
    "framework.handle_errors": true,
    "framework.log_errors": false,
    "framework.views.path": "./views",
    "framework.views.extension": ".php",
    "framework.debug": false, // from here on, added to the specification
    "framework.body_limit": 8 * 1024 * 1024,
    "framework.body_timeout": 30,
    "framework.trust_proxy": false,
    "framework.method_not_allowed": false,
    "framework.method_override": false,
    "framework.wait_timeout": 10,
    "framework.shutdown_timeout": 10,
    "framework.hosts": null,
    "framework.error_format": "auto",
    "framework.editor": "vscode://file/{file}:{line}",
  } as const;
  for (const [key, value] of Object.entries(defaults)) {
    assertStrictEquals(app.get(key), value, key);
  }
});

onBothForms(
  "`framework.base_url` overrides the base of the request, its URLs and redirects",
  async (app) => {
    app.set("framework.base_url", "/shop");
    app.route("/", () => app.redirect("/new"));
    app.route(
      "/item/@id",
      () => [
        app.request().base,
        app.request().url,
        app.getUrl("item", { id: "2" }),
      ],
      false,
      "item",
    );
    const response = await visit(app, "/shop/item/1?a=1");
    const expected = ["/shop", "/shop/item/1?a=1", "/shop/item/2"];
    assertEquals(await response.json(), expected);
    const { headers } = await visit(app, "/shop/");
    assertEquals(headers.get("location"), "/shop/new");
  },
);

onBothForms(
  "`framework.base_url` refuses text that gives wrong URLs",
  (app) => {
    const bases = [
      ...["localhost:8000", "http://", "https:/shop", "ftp://a.test/shop"],
      ...["https://ada:secret@a.test/", "https://a.test:x/", "https://a b/"],
      ...["https://a.test/?a=1", "/shop?a=1", "/shop#a", "\\shop", "/shop\n"],
    ];
    for (const base of bases) {
      const message = 'Cannot set "framework.base_url": it must be a path';
      assertThrows(
        () => app.set("framework.base_url", base),
        TypeError,
        message,
      );
    }
    assertEquals(app.has("framework.base_url"), false);
  },
);

onBothForms(
  "`framework.case_sensitive` decides whether the case of a path counts",
  async (app) => {
    app.route("/about", () => "found");
    const status = async () => (await visit(app, "/ABOUT")).status;
    assertEquals(await status(), 200);
    app.set("framework.case_sensitive", true);
    assertEquals(await status(), 404);
    app.set("framework.case_sensitive", null);
    assertEquals(await status(), 200);
  },
);

onBothForms("a setting that is cleared counts as its default", async (app) => {
  app.route("/page", () => "found");
  app.set("framework.case_sensitive", true);
  app.clear();
  assertEquals(app.has("framework.case_sensitive"), false);
  assertEquals((await visit(app, "/PAGE")).status, 200);
});

onBothForms(
  "a setting refuses a value of the wrong kind, and keeps the one it has",
  (app) => {
    const table: [string, unknown][] = [
      ["framework.case_sensitive", "yes"],
      ["framework.body_limit", -1],
      ["framework.body_limit", "8"],
      ["framework.views.path", 5],
      ["framework.hosts", "example.org"],
      ["framework.wait_timeout", NaN],
      ["framework.trust_proxy", 1.5],
    ];
    for (const [key, value] of table) {
      const before = app.get(key);
      assertThrows(() => app.set(key, value), TypeError, `Cannot set "${key}"`);
      assertThrows(() => app.set({ other: 1, [key]: value }), TypeError);
      assertStrictEquals(app.get(key), before);
      assertEquals(app.has("other"), false);
    }
  },
);

onBothForms("`set()` refuses an unknown setting near a known one", (app) => {
  const misspelled: string = "framework.base_ulr"; // the compiler refuses the literal
  const set = () => app.set(misspelled, "/shop");
  assertThrows(set, Error, "framework.base_url");
});
