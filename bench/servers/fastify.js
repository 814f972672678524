/** Fastify; in JavaScript, since its types bring those of Node, which replace the types of timers. */

import fastify from "npm:fastify@5.12.8";
import { LARGE } from "../cases.ts";
import { loadSchema, renderPage } from "./page.ts";

const HTML = "text/html; charset=utf-8";
const app = fastify();

app.addContentTypeParser(
  "application/x-www-form-urlencoded",
  { parseAs: "string" },
  (_request, body, done) =>
    done(null, Object.fromEntries(new URLSearchParams(String(body)))),
);

if (Deno.args.includes("filtered")) {
  let count = 0;
  app.addHook("onRequest", (_request, _reply, done) => {
    count += 1;
    done();
  });
  app.addHook("onSend", (_request, reply, _payload, done) => {
    reply.header("x-count", String(count % 10));
    done();
  });
}

app.get("/", (_request, reply) => reply.type(HTML).send("Hello, World!"));
app.get(
  "/user/:id",
  ({ params }, reply) => reply.type(HTML).send(`User ${params.id}`),
);
app.get(
  "/header",
  (_request, reply) =>
    reply.type(HTML).header("x-version", "1").send("Hello, World!"),
);
app.get("/json", () => ({ message: "Hello, World!" }));
app.get("/object", () => ({ message: "Hello, World!" }));
app.post(
  "/form",
  ({ body }, reply) => reply.type(HTML).send(`Hello, ${body.name}`),
);
app.post(
  "/document",
  ({ body }, reply) => reply.type(HTML).send(`Hello, ${body.name}`),
);
app.post("/validated", async ({ body }, reply) => {
  const { data, error } = (await loadSchema()).safeParse(body);
  if (error) throw Object.assign(new Error(error.message), { statusCode: 422 });
  return reply.type(HTML).send(`Hello, ${data.name}`);
});
app.setErrorHandler((error, _request, reply) =>
  reply.code(error.statusCode ?? 500).send({ error: error.message })
);
app.get("/order/:id", ({ params }) => {
  const error = new Error(`No order ${params.id}`);
  throw Object.assign(error, { statusCode: 404 });
});
app.register((staff, _options, done) => {
  staff.addHook("onRequest", () => {
    throw Object.assign(new Error("Log in first"), { statusCode: 401 });
  });
  staff.get("/rota", (_request, reply) => reply.type(HTML).send("The rota"));
  done();
}, { prefix: "/staff" });
app.get(
  "/page",
  async (_request, reply) => reply.type(HTML).send(await renderPage()),
);
app.get("/large", (_request, reply) => reply.type(HTML).send(LARGE));
app.get("/async", async (_request, reply) => {
  const greeting = await Promise.resolve("Hello");
  const count = await Promise.resolve("three");
  const text = await Promise.resolve(`${greeting} after ${count} awaits`);
  return reply.type(HTML).send(text);
});

const address = await app.listen({ port: 0, host: "127.0.0.1" });
console.log(new URL(address).port);
