/** Express; in JavaScript, since its types bring those of Node, which replace the types of timers. */

import express from "npm:express@5.3.0";
import { LARGE } from "../cases.ts";
import { loadSchema, renderPage } from "./page.ts";

const app = express();

if (Deno.args.includes("filtered")) {
  let count = 0;
  app.use((_request, response, next) => {
    count += 1;
    response.set("x-count", String(count % 10));
    next();
  });
}

app.get("/", (_request, response) => void response.send("Hello, World!"));
app.get(
  "/user/:id",
  (request, response) => void response.send(`User ${request.params.id}`),
);
app.get(
  "/header",
  (_request, response) =>
    void response.set("x-version", "1").send("Hello, World!"),
);
app.get(
  ["/json", "/object"],
  (_request, response) => void response.json({ message: "Hello, World!" }),
);
app.post(
  "/form",
  express.urlencoded({ extended: false }),
  (request, response) => void response.send(`Hello, ${request.body.name}`),
);
app.post(
  "/document",
  express.json(),
  (request, response) => void response.send(`Hello, ${request.body.name}`),
);
app.post("/validated", express.json(), async (request, response) => {
  const { data, error } = (await loadSchema()).safeParse(request.body);
  if (error) throw Object.assign(new Error(error.message), { status: 422 });
  response.send(`Hello, ${data.name}`);
});
app.get("/order/:id", (request) => {
  const error = new Error(`No order ${request.params.id}`);
  throw Object.assign(error, { status: 404 });
});
app.use("/staff", () => {
  throw Object.assign(new Error("Log in first"), { status: 401 });
});
app.get("/staff/rota", (_request, response) => void response.send("The rota"));
app.get("/page", async (_request, response) => {
  response.send(await renderPage());
});
app.get("/large", (_request, response) => void response.send(LARGE));
app.get("/async", async (_request, response) => {
  const greeting = await Promise.resolve("Hello");
  const count = await Promise.resolve("three");
  response.send(await Promise.resolve(`${greeting} after ${count} awaits`));
});

app.use((error, _request, response, _next) => {
  response.status(error.status ?? 500).json({ error: error.message });
});

const server = app.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") console.log(address?.port);
});
