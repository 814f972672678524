/**
 * The framework over a real driver: sockets, a pool that requests share, transactions that wait, clients
 * that leave, and callbacks that the driver calls from its sockets.
 */

import { assertEquals, assertThrows } from "@std/assert";
import { Engine } from "@framework/core";
import postgres from "npm:postgres@^3.4.9";
import { isMissing } from "./postgres.ts";
import { server } from "./stores.ts";

const CONNECTIONS = 32;
const CLIENTS = 48;
const VISITS = 12;

type Sql = ReturnType<typeof postgres>;

/** An application that serves on a socket, with a pool of its own. */
class Site implements AsyncDisposable {
  readonly app = new Engine();
  readonly sql: Sql;
  readonly problems: string[] = [];
  #server: Deno.HttpServer<Deno.Addr> | undefined;

  constructor(readonly name: string, url: string) {
    this.sql = postgres(url, { max: CONNECTIONS, fetch_types: false });
  }

  start(): void {
    this.#server = this.app.start({
      port: 0,
      signals: false,
      onListen: () => {},
    });
  }

  async get(path: string, signal?: AbortSignal): Promise<string> {
    const { port } = this.#server!.addr as Deno.NetAddr;
    const address = `http://127.0.0.1:${port}${path}`;
    return await (await fetch(address, { signal: signal ?? null })).text();
  }

  /** Notes a problem unless the current request's variable is as expected. */
  expect(value: string, place: string): void {
    const found = this.app.get("id");
    if (found === value) return;
    this.problems.push(`${place}: ${found} in place of ${value}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.shutdown();
    await this.sql.end();
  }
}

/** A handler that changes its variable around every wait of a transaction. */
function declareTransaction({ app, sql, expect, problems }: Site): void {
  app.route("/transaction/@id", async (id) => {
    app.set("id", id);
    await sql.begin(async (transaction) => {
      expect(id, "at the beginning");
      app.set("id", `${id}, begun`);
      await transaction`select set_config('site.id', ${id}, true)`;
      expect(`${id}, begun`, "after the first statement");
      app.set("id", `${id}, waiting`);
      await transaction`select pg_sleep(${Math.random() / 100})`;
      expect(`${id}, waiting`, "after waiting");
      const [row] = await transaction`select current_setting('site.id') as id`;
      if (row?.id !== id) problems.push(`the session has ${row?.id}`);
      app.set("id", `${id}, done`);
    });
    expect(`${id}, done`, "behind the transaction");
    for await (const rows of sql`select generate_series(1, 3)`.cursor(1)) {
      expect(`${id}, done`, `at row ${rows.length}`);
    }
    return app.get<string>("id");
  });
}

Deno.test({
  name:
    "requests of two engines over 64 connections see their own variables, also when clients leave",
  ignore: isMissing,
}, async () => {
  const url = server().url(await server().createDatabase());
  await using one = new Site("one", url);
  await using two = new Site("two", url);
  for (const site of [one, two]) {
    site.expect = site.expect.bind(site);
    declareTransaction(site);
    site.app.set("id", "the application's");
    site.start();
  }
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let visit = 0; visit < VISITS; visit++) {
      const site = visit % 2 ? one : two;
      const id = `${site.name}-${client}-${visit}`;
      const leaves = (client + visit) % 5 === 0;
      const signal = leaves ? AbortSignal.timeout(visit) : undefined;
      const text = await site.get(`/transaction/${id}`, signal)
        .catch((error) => leaves ? undefined : `${error}`);
      if (text === `${id}, done` || text === undefined) continue;
      site.problems.push(`${id} got ${text}`);
    }
  });
  await Promise.all(clients);
  assertEquals([...one.problems, ...two.problems], []);
  for (const { app, sql } of [one, two]) {
    assertEquals(app.get("id"), "the application's");
    await Promise.all(
      Array.from(
        { length: CONNECTIONS },
        () => sql.begin((work) => work`select 1`),
      ),
    );
  }
});

Deno.test({
  name:
    "callbacks that the driver calls from its sockets see no request, and cannot change the application",
  ignore: isMissing,
}, async () => {
  await using site = new Site(
    "site",
    server().url(await server().createDatabase()),
  );
  const { app, sql } = site;
  const calls: string[] = [];
  const call = (place: string): void => {
    assertThrows(() => app.set("id", place), Error, "belongs to none");
    calls.push(`${place} sees ${app.get("id")}`);
  };
  app.set("id", "the application");
  app.route("/@id", async (id) => {
    app.set("id", id);
    await sql`select 1`.forEach(() => call("a row"));
    await sql`select 1`.cursor(() => call("a cursor"));
    return app.get<string>("id");
  });
  site.start();
  // The first request opens the connections that the others use, and is the last to end.
  const ids = Array.from({ length: 20 }, (_, index) => `${index}`);
  assertEquals(await Promise.all(ids.map((id) => site.get(`/${id}`))), ids);
  assertEquals(calls.length, 40);
  assertEquals(
    new Set(calls),
    new Set(["a row sees the application", "a cursor sees the application"]),
  );
});

Deno.test({
  name:
    "a notification changes a variable for every request by `configure()`, and not without it",
  ignore: isMissing,
}, async () => {
  await using site = new Site(
    "site",
    server().url(await server().createDatabase()),
  );
  const { app, sql } = site;
  let heard = Promise.withResolvers<void>();
  const onNotify = (rate: string): void => {
    assertThrows(() => app.set("rate", rate), Error, "belongs to none");
    app.configure(() => app.set("rate", rate));
    heard.resolve();
  };
  app.set("rate", "1");
  app.route("/listen", async () => {
    app.set("rate", "mine");
    await sql.listen("rates", onNotify);
    return app.get<string>("rate");
  });
  app.route("/rate", () => app.get<string>("rate"));
  app.route("/notify/@rate", async (rate) => {
    app.set("rate", "mine");
    await sql.notify("rates", rate);
    await heard.promise;
    return app.get<string>("rate");
  });
  site.start();
  assertEquals(await site.get("/listen"), "mine");
  for (const rate of ["2", "3"]) {
    heard = Promise.withResolvers();
    assertEquals(await site.get(`/notify/${rate}`), "mine");
    assertEquals(await site.get("/rate"), rate);
  }
});
