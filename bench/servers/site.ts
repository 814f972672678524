/** A page of a site: session, guard, log, and templates with a layout and includes. */

import { guard } from "../../src/guard/mod.ts";
import { log } from "../../src/log/mod.ts";
import { Framework } from "../../mod.ts";
import { sessions } from "../../src/sessions/mod.ts";
import { ITEMS, SECRET, SECTIONS } from "../cases.ts";

Framework.set(
  "framework.views.path",
  new URL("../views", import.meta.url).pathname,
);

guard(Framework);
const session = sessions<{ user: string }>(Framework, { secret: SECRET });
log(Framework);

Framework.route("/login", () => {
  session().set("user", "Ada");
  return "Welcome";
});
Framework.route("/", () =>
  Framework.render("site/page", {
    title: "Things",
    items: ITEMS,
    sections: SECTIONS,
    user: session().get("user"),
  }));

Framework.start({
  port: 0,
  onListen: (address) => console.log((address as Deno.NetAddr).port),
});
