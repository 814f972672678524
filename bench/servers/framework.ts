/** This framework, through its static form. */

import { Framework, HttpError } from "../../mod.ts";
import { ITEMS, LARGE } from "../cases.ts";
import { loadSchema } from "./page.ts";

Framework.set(
  "framework.views.path",
  new URL("../views", import.meta.url).pathname,
);

Framework.route("/", () => "Hello, World!");
Framework.route("/user/@id", (id) => `User ${id}`);
Framework.route("/header", () => {
  Framework.response().header("x-version", "1");
  return "Hello, World!";
});
Framework.route("/json", () => Framework.json({ message: "Hello, World!" }));
Framework.route("/object", () => ({ message: "Hello, World!" }));
Framework.route(
  "POST /form",
  () => `Hello, ${Framework.request().data.name}`,
);
Framework.route(
  "POST /document",
  () => `Hello, ${Framework.request().data.name}`,
);
Framework.route("POST /validated", async () => {
  const { name } = await Framework.request().validate(await loadSchema());
  return `Hello, ${name}`;
});
Framework.map("error", (error: Error) => {
  Framework.json({ error: error.message });
});
Framework.route("/order/@id", (id) => {
  throw new HttpError(404, `No order ${id}`);
});
Framework.group("/staff", (router) => {
  router.get("/rota", () => "The rota");
}, [() => {
  throw new HttpError(401, "Log in first");
}]);
Framework.route(
  "/page",
  () => Framework.render("page", { title: "Things", items: ITEMS }),
);
Framework.route("/large", () => LARGE);
Framework.route("/async", async () => {
  const greeting = await Promise.resolve("Hello");
  const count = await Promise.resolve("three");
  return await Promise.resolve(`${greeting} after ${count} awaits`);
});

if (Deno.args.includes("filtered")) {
  let count = 0;
  Framework.before("start", () => {
    count += 1;
  });
  Framework.after("start", () => {
    Framework.response().header("x-count", count % 10);
  });
}

export { Framework as app };

if (!Deno.args.includes("served")) {
  Framework.start({
    port: 0,
    onListen: (address) => console.log((address as Deno.NetAddr).port),
  });
}
