/** What the framework looks up in the runtime's own record of a request: tells when that moves. */

import { assertEquals } from "@std/assert";

Deno.test("`targetOf()` finds the Host header where the runtime keeps it", async () => {
  const hosts: unknown[] = [];
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request) => {
      const kept = Object.getOwnPropertySymbols(request)
        .find(({ description }) => description === "request");
      const record = Reflect.get(request, kept ?? "");
      hosts.push(record.header("host"), request.headers.get("host"));
      return new Response();
    },
  );
  const host = `127.0.0.1:${(server.addr as Deno.NetAddr).port}`;
  await (await fetch(`http://${host}/`)).body?.cancel();
  assertEquals(hosts, [host, host]);
});
