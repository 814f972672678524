/**
 * Helpers for tests of an application, without a socket and without a mock: a visitor who keeps cookies,
 * follows links and fills in forms; a check that concurrent requests do not affect each other; and
 * waiting for deferred work.
 *
 * Guide: [docs/testing.md](./docs/testing.md)
 *
 * @example
 * ```ts
 * import { Engine, html } from "@framework/core";
 * import { assertIsolated, Visitor } from "@framework/core/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * app.route("GET /", () => `<form method="post"><input name="name"></form>`);
 * app.route("POST /", () => {
 *   app.redirect(`/hello/${app.request().data.name}`);
 * });
 * app.route("/hello/@name", (name) => html`Hello, ${name}!`);
 *
 * const page = await new Visitor(app).visit("/");
 * const hello = await page.form().fill({ name: "Ada" }).submit();
 * assertEquals(hello.text, "Hello, Ada!");
 *
 * await assertIsolated(app, ["/hello/Ada", "/hello/Grace", "/"]);
 * ```
 *
 * @module
 */

export {
  type Door,
  type VisitOptions,
  Visitor,
  type VisitorOptions,
} from "./visitor.ts";
export { Page } from "./page.ts";
export { type FieldInput, Form } from "./form.ts";
export { assertIsolated, type IsolationOptions } from "./isolation.ts";
export { settled } from "./settled.ts";
