/**
 * Owns the application that the soak visits: something of everything that a request can do to a
 * server, each with a response that its client can check.
 */

import { Engine } from "@framework/core";

/** What the application reports of itself. */
export interface Stats {
  /** Resident memory, in bytes. */
  readonly rss: number;
  /** Memory of live and dead objects, in bytes. */
  readonly heap: number;
  /** How often deferred work has run. */
  readonly deferred: number;
}

/** Serves the application on a free port; the folder holds its views. */
export function serveSoak(views: string): void {
  const app = new Engine();
  app.set("framework.views.path", views);
  app.set("framework.body_timeout", 2);
  declarePlain(app);
  declareEnds(app);
  declareBodies(app);
  declareStreams(app);
  declareSockets(app);
  app.start({ port: 0 });
}

function declarePlain(app: Engine): void {
  app.route("GET /text/@n", (n) => `text ${n}`);
  app.route("GET /own/@n", async (n) => {
    app.set("own", n);
    await pause();
    app.response().header("x-own", app.get<string>("own") ?? "");
    return { own: app.get("own"), url: app.request().url };
  });
  app.route("GET /page/@n", async (n) => {
    app.render("part", { n }, "content");
    await pause();
    app.render("layout", { n });
  });
}

/** Requests that end before their handler does, or fail. */
function declareEnds(app: Engine): void {
  app.route("GET /halt/@n", (n) => {
    app.response().write("dropped");
    app.halt(410, `halt ${n}`);
  });
  app.route("GET /fail/@n", async (n) => {
    await pause();
    throw new Error(`fail ${n}`);
  });
  app.route("GET /loose/@n", (n) => {
    void Promise.reject(new Error(`loose ${n}`));
    return pause();
  });
  app.route("GET /late/@n", (n) => {
    void pause().then(() => {
      throw new Error(`late ${n}`);
    });
    return `late ${n}`;
  });
}

function declareBodies(app: Engine): void {
  app.route("POST /echo", () => app.request().data);
  app.route("POST /upload", () => {
    const { data, files } = app.request();
    return { n: data.n, size: (files.file as File).size };
  });
}

function declareStreams(app: Engine): void {
  let deferred = 0;
  app.route("GET /stream/@n", async function* (n) {
    for (let index = 0; index < 5; index++) {
      yield `${n} `;
      await pause();
    }
  });
  app.route("GET /endless", async function* () {
    for (;;) {
      yield "again ".repeat(100);
      await pause();
    }
  });
  app.route("GET /defer/@n", (n) => {
    app.defer(async () => {
      await pause();
      deferred++;
    });
    return `defer ${n}`;
  });
  app.route("GET /stats", (): Stats => {
    const { rss, heapUsed } = Deno.memoryUsage();
    return { rss, heap: heapUsed, deferred };
  });
}

function declareSockets(app: Engine): void {
  app.route("GET /socket", () => {
    const { socket, response } = Deno.upgradeWebSocket(app.request().raw);
    socket.onmessage = ({ data }) => socket.send(data);
    return response;
  });
  app.route("GET /members", () => {
    Deno.upgradeWebSocket(app.request().raw);
    app.halt(403, "Members only");
  });
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2));
}
