/** What the framework looks up in the runtime's own record of a request: tells when that moves. */

import { assertEquals } from "@std/assert";
import { headerOf } from "../src/runtime.ts";

Deno.test("`headerOf()` finds what `headers` has, without looking there", async () => {
  const found: unknown[] = [];
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request) => {
      const kept = Object.getOwnPropertySymbols(request)
        .find(({ description }) => description === "request");
      const record = Reflect.get(request, kept ?? "");
      const readings = [
        (name: string) => record.header(name),
        (name: string) => headerOf(request, name),
        (name: string) => request.headers.get(name),
      ];
      for (const read of readings) {
        found.push(["host", "accept", "x-none"].map(read));
      }
      return new Response();
    },
  );
  const host = `127.0.0.1:${(server.addr as Deno.NetAddr).port}`;
  const headers: [string, string][] = [["accept", "a/b"], ["accept", "c/d"]];
  await (await fetch(`http://${host}/`, { headers })).body?.cancel();
  const expected = [host, "a/b, c/d", null];
  assertEquals(found, [expected, expected, expected]);
});

Deno.test("`headerOf()` reads the headers of a request that nobody serves", () => {
  const request = new Request("http://localhost", { headers: { accept: "a" } });
  assertEquals(headerOf(request, "accept"), "a");
  assertEquals(headerOf(request, "host"), null);
});
