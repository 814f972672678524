/** A page of a site: session, guard, log, and a template with layout and includes. */

import { Framework } from "@framework/core";
import { guard } from "@framework/core/guard";
import { log } from "@framework/core/log";
import { sessions } from "@framework/core/sessions";
import { ITEMS } from "../rows.ts";

const SECRET = "nobody guesses these 32 characters";
const VIEWS = new URL("../views", import.meta.url).pathname;

Framework.set("framework.views.path", VIEWS);
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
    sections: ["home", "things", "about"],
    user: session().get("user"),
  }));

export const fetch = Framework.fetch;
