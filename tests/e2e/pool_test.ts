/** Requests over the sockets of a real driver: DESIGN 3, where a pool is shared and callbacks come from sockets. */

import { assertEquals } from "@std/assert";
import { Engine } from "@framework/core";
import postgres from "npm:postgres@^3.4.9";
import { isMissing, PostgresServer } from "../support/postgres.ts";

Deno.test({
  name: "requests that share a pool of connections see their own variables",
  ignore: isMissing,
}, async () => {
  await using server = await PostgresServer.create();
  const options = { max: 8, fetch_types: false };
  const sql = postgres(server.url("postgres"), options);
  const app = new Engine();
  app.set("id", "the application's");
  app.route("/@id", async (id) => {
    app.set("id", id);
    const seen: unknown[] = [];
    await sql.begin(async (transaction) => {
      await transaction`select pg_sleep(${Math.random() / 100})`;
      seen.push(app.get("id"));
      app.set("id", `${id} begun`);
      await transaction`select 1`;
      seen.push(app.get("id"));
    });
    return [...seen, app.get("id")];
  });
  await using http = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = http.addr as Deno.NetAddr;
  const visits = Array.from({ length: 200 }, async (_, id) => {
    const response = await fetch(`http://127.0.0.1:${port}/${id}`);
    const begun = `${id} begun`;
    assertEquals(await response.json(), [`${id}`, begun, begun]);
  });
  await Promise.all(visits);
  assertEquals(app.get("id"), "the application's");
  await sql.end();
});
