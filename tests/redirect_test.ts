/** Tests where redirects lead when the base has a host of its own. */

import { assertEquals } from "@std/assert";
import { onBothForms, visit } from "./forms.ts";

const TARGETS: [base: string, target: string, location: string][] = [
  ["http://example.com/app", "/new", "http://example.com/app/new"],
  ["http://example.com/app/", "new", "http://example.com/app/new"],
  ["http://example.com/app", "/app/new", "http://example.com/app/new"],
  ["https://example.com:8443", "/new", "https://example.com:8443/new"],
  ["HTTPS://Example.com/", "", "https://example.com/"],
  [
    "http://example.com/app",
    "//other.test/x",
    "http://example.com/app/other.test/x",
  ],
  ["http://example.com", "/\\other.test", "http://example.com/other.test"],
  ["http://example.com/app", "https://other.test/x", "https://other.test/x"],
  ["http://example.com/app", "?page=2", "?page=2"],
  ["/app", "/new", "/app/new"],
];

for (const [base, target, location] of TARGETS) {
  onBothForms(
    `\`redirect("${target}")\` under the base ${base} leads to ${location}`,
    async (app) => {
      app.set("framework.base_url", base);
      app.route("*", () => app.redirect(target));
      const response = await visit(app, "/");
      assertEquals(response.headers.get("location"), location);
    },
  );
}

onBothForms("`getUrl()` leaves the host of the base out", (app) => {
  app.set("framework.base_url", "http://example.com/app");
  app.route("/user/@id", () => {}, false, "user");
  assertEquals(app.getUrl("user", { id: 1 }), "/app/user/1");
});
