/** SPEC, behaviour rule 6: redirects. */

import { assertEquals } from "@std/assert";
import { onBothForms, visit } from "../support/forms.ts";

onBothForms("`redirect()` sends 303 by default", async (app) => {
  app.route("/old", () => app.redirect("/new"));
  const response = await visit(app, "/old");
  assertEquals(response.status, 303);
  assertEquals(response.headers.get("location"), "/new");
});

onBothForms("`redirect()` sends the code that is given", async (app) => {
  for (const code of [301, 302, 303, 307, 308]) {
    app.route(`/${code}`, () => app.redirect("https://example.com/", code));
    const response = await visit(app, `/${code}`);
    assertEquals(response.status, code);
    assertEquals(response.headers.get("location"), "https://example.com/");
  }
});

onBothForms("`redirect()` replaces what was written", async (app) => {
  app.route("/old", () => {
    app.response().write("a page");
    app.redirect("/new");
  });
  const response = await visit(app, "/old");
  assertEquals([response.status, await response.text()], [303, ""]);
});
