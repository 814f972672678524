/** This framework, through its static form. */

import { Framework, HttpError, type StartOptions } from "@framework/core";
import { ITEMS, LARGE } from "../rows.ts";
import { loadSchema } from "./page.ts";

const VIEWS = new URL("../views", import.meta.url).pathname;

Framework.set("framework.views.path", VIEWS);
Framework.map("error", (error: Error) => {
  Framework.json({ error: error.message });
});

Framework.route("/", () => "Hello, World!");
Framework.route("/user/@id", (id) => `User ${id}`);
Framework.route("/json", () => Framework.json({ message: "Hello, World!" }));
Framework.route("/object", () => ({ message: "Hello, World!" }));
Framework.route("/async", async () => {
  const greeting = await Promise.resolve("Hello");
  const count = await Promise.resolve("three");
  return await Promise.resolve(`${greeting} after ${count} awaits`);
});
Framework.route("/header", () => {
  Framework.response().header("x-version", "1");
  return "Hello, World!";
});
Framework.route("/large", () => LARGE);
Framework.route(
  "/vento",
  () => Framework.render("page", { title: "Things", items: ITEMS }),
);
Framework.route("/order/@id", (id) => {
  throw new HttpError(404, `No order ${id}`);
});
Framework.group("/staff", (router) => {
  router.get("/rota", () => "The rota");
}, [() => {
  throw new HttpError(401, "Log in first");
}]);
Framework.route("POST /body", () => {
  const { name } = Framework.request().json as { name: string };
  return `Hello, ${name}`;
});
Framework.route("POST /validated", async () => {
  const { name } = await Framework.request().validate(await loadSchema());
  return `Hello, ${name}`;
});
Framework.route("POST /form", () => `Hello, ${Framework.request().data.name}`);
Framework.route("POST /upload", () => {
  const file = Framework.request().files.file as File;
  return `${file.size} bytes`;
});

export const fetch = Framework.fetch;

export const start = (options: StartOptions): unknown =>
  Framework.start(options);
