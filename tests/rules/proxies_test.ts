/** DESIGN.md, "Proxies": what `X-Forwarded-*` and `X-Request-Id` say counts under `framework.trust_proxy` alone. */

import { assertEquals, assertMatch } from "@std/assert";
import { Engine, type HttpRequest } from "@framework/core";

/** What a handler reads of a request that the proxy at 192.0.2.9 sends on. */
async function read<Value>(
  trusted: boolean | number,
  headers: HeadersInit,
  get: (request: HttpRequest) => Value,
  url = "http://localhost/",
): Promise<Value> {
  const app = new Engine();
  const settings: Record<string, unknown> = {
    "framework.trust_proxy": trusted,
  };
  app.set(settings);
  let value: Value;
  app.route("/", () => void (value = get(app.request())));
  const remoteAddr: Deno.Addr = {
    transport: "tcp",
    hostname: "192.0.2.9",
    port: 1,
  };
  await app.fetch(new Request(url, { headers }), { remoteAddr });
  return value!;
}

const ipOf = ({ ip }: HttpRequest) => ip;

Deno.test("nothing that a proxy says counts without `framework.trust_proxy`", async () => {
  const headers = {
    host: "10.0.0.1:8000",
    "x-forwarded-for": "203.0.113.5",
    "x-forwarded-proto": "https",
    "x-forwarded-host": "evil.example",
    "x-request-id": "forged",
  };
  const { id, ...seen } = await read(false, headers, (request) => {
    const { ip, scheme, secure, host, origin, proxy_ip, id } = request;
    return { ip, scheme, secure, host, origin, proxy_ip, id };
  });
  assertEquals(seen, {
    ip: "192.0.2.9",
    scheme: "http",
    secure: false,
    host: "10.0.0.1:8000",
    origin: "http://10.0.0.1:8000",
    proxy_ip: "203.0.113.5", // only reports
  });
  assertMatch(id, /^[\da-f]{8}$/);
});

Deno.test("`ip` is the address that the trusted proxy wrote, whatever the client wrote before it", async () => {
  const table = {
    "203.0.113.5": "203.0.113.5",
    "10.9.9.9, 203.0.113.5": "203.0.113.5",
    "203.0.113.5:4711": "203.0.113.5",
    "::ffff:203.0.113.5": "203.0.113.5",
    "[2001:db8::7]:4711": "2001:db8::7",
    "2001:db8::7": "2001:db8::7",
  };
  for (const [header, ip] of Object.entries(table)) {
    assertEquals(await read(true, { "x-forwarded-for": header }, ipOf), ip);
  }
  assertEquals(await read(true, {}, ipOf), "192.0.2.9");
});

Deno.test("`ip` of a number of proxies is the entry that the outermost of them wrote", async () => {
  const table: [trusted: number, header: string, ip: string][] = [
    [1, "10.9.9.9, 203.0.113.5", "203.0.113.5"],
    [2, "203.0.113.5, 10.0.0.1", "203.0.113.5"],
    [2, "10.9.9.9, 203.0.113.5, 10.0.0.1", "203.0.113.5"],
    [3, "10.9.9.9,203.0.113.5,10.0.0.1,10.0.0.2", "203.0.113.5"],
  ];
  for (const [trusted, header, ip] of table) {
    const headers = { "x-forwarded-for": header };
    assertEquals(await read(trusted, headers, ipOf), ip, header);
  }
});

Deno.test("`ip` is unknown when the entry of the trusted proxy is no address", async () => {
  for (const entry of ["unknown", "999.1.1.1", "", "<script>"]) {
    const headers = { "x-forwarded-for": `203.0.113.5, ${entry}` };
    assertEquals(await read(true, headers, ipOf), "", entry);
  }
});

Deno.test("`scheme` and `secure` are those that the trusted proxy names", async () => {
  const get = ({ scheme, secure }: HttpRequest) => [scheme, secure];
  const table: [proto: string, url: string, scheme: string][] = [
    ["https", "http://localhost/", "https"],
    ["HTTPS", "http://localhost/", "https"],
    ["https, http", "http://localhost/", "http"],
    ["http", "https://localhost/", "http"],
    ["ws", "http://localhost/", "http"],
  ];
  for (const [proto, url, scheme] of table) {
    const seen = await read(true, { "x-forwarded-proto": proto }, get, url);
    assertEquals(seen, [scheme, scheme === "https"], proto);
  }
});

Deno.test("`host` and `origin` are those that the trusted proxy names", async () => {
  const get = ({ host, origin }: HttpRequest) => [host, origin];
  const headers = {
    host: "10.0.0.1:8000",
    "x-forwarded-host": "evil.example, example.com",
    "x-forwarded-proto": "https",
  };
  const named = ["example.com", "https://example.com"];
  assertEquals(await read(true, headers, get), named);
  const malformed = { "x-forwarded-host": 'a"onload=x' };
  assertEquals(await read(true, malformed, get), ["", ""]);
});

Deno.test("`id` is the `X-Request-Id` of the trusted proxy, when it is safe to print", async () => {
  const idOf = (id: string) =>
    read(true, { "x-request-id": id }, (request) => request.id);
  assertEquals(await idOf("7f.A_b-9"), "7f.A_b-9");
  for (const id of ["", "a b", "<b>", "\xe9", "a".repeat(65)]) {
    assertMatch(await idOf(id), /^[\da-f]{8}$/, id);
  }
});
