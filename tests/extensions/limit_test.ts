/** Tests `limit`: what a window is, whom it counts for, and the response beyond it. */

import { Engine } from "@framework/core";
import {
  limit,
  type LimitCount,
  type LimitOptions,
  type LimitStore,
} from "@framework/core/limit";
import { assertEquals, assertThrows } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import { logOf } from "../support/log.ts";

/** An application with a limited route. */
function limited(options: Partial<LimitOptions> = {}): Engine {
  const app = new Engine();
  const slow = limit(app, { requests: 2, seconds: 60, ...options });
  app.route("/", () => "done").addMiddleware(slow);
  return app;
}

/** Requests a path as the client of an address: the status, and when to come again. */
async function visit(
  app: Engine,
  hostname = "192.0.2.1",
  { path = "/", headers = {} } = {},
): Promise<[status: number, retryAfter: string | null]> {
  const request = new Request(`http://example.com${path}`, { headers });
  const response = await app.fetch(request, {
    remoteAddr: { transport: "tcp", hostname, port: 1 },
  });
  return [response.status, response.headers.get("retry-after")];
}

Deno.test("`limit()` refuses requests beyond its number until the window is over, to the millisecond", async () => {
  using time = new FakeTime();
  const app = limited();
  const seen: unknown[] = [];
  for (const milliseconds of [0, 30_000, 10_500, 19_499, 1, 0, 0]) {
    await time.tickAsync(milliseconds);
    seen.push(await visit(app));
  }
  const ok = [200, null];
  // At 0, 30, 40.5, 59.999 and three times at 60 seconds.
  assertEquals(seen, [ok, ok, [429, "20"], [429, "1"], ok, ok, [429, "60"]]);
});

/** Addresses, and whether they count as one client. */
const PAIRS: readonly [string, string, boolean][] = [
  ["192.0.2.1", "192.0.2.2", false],
  ["2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true],
  ["2001:db8:1:2::1", "2001:DB8:0001:0002:0:0:0:9", true],
  ["2001:db8:1:2::1", "2001:db8:1:3::1", false],
  ["::ffff:192.0.2.1", "192.0.2.1", true],
  ["::ffff:192.0.2.1", "::ffff:192.0.2.2", false],
];

for (const [first, second, isOne] of PAIRS) {
  Deno.test(`\`limit()\` takes ${first} and ${second} for ${isOne ? "one client" : "two"}`, async () => {
    const app = limited({ requests: 1 });
    await visit(app, first);
    const [status] = await visit(app, second);
    assertEquals(status, isOne ? 429 : 200);
  });
}

Deno.test("a client gets no further requests by forging the address of a proxy", async () => {
  const app = limited({ requests: 1 });
  const statuses: number[] = [];
  for (const address of ["198.51.100.1", "198.51.100.2"]) {
    const headers = { "x-forwarded-for": address, forwarded: `for=${address}` };
    statuses.push((await visit(app, "192.0.2.1", { headers }))[0]);
  }
  assertEquals(statuses, [200, 429]);
});

Deno.test("behind a trusted proxy, each of its clients counts, by what the proxy wrote last", async () => {
  const app = limited({ requests: 1 });
  app.set("framework.trust_proxy", true);
  const statuses: number[] = [];
  for (
    const address of ["forged, 198.51.100.1", "other, 198.51.100.1", "::2"]
  ) {
    const headers = { "x-forwarded-for": address };
    statuses.push((await visit(app, "192.0.2.1", { headers }))[0]);
  }
  assertEquals(statuses, [200, 429, 200]);
});

Deno.test("`limit()` counts by its `key()`, which may be asynchronous", async () => {
  const key = () => Promise.resolve(app.request().getHeader("x-user"));
  const app: Engine = limited({ requests: 1, key });
  const statuses: number[] = [];
  for (const user of ["Ada", "Grace", "Ada"]) {
    const headers = { "x-user": user };
    statuses.push((await visit(app, "192.0.2.1", { headers }))[0]);
  }
  assertEquals(statuses, [200, 200, 429]);
});

Deno.test("a key that is no text lets nobody in", async () => {
  const keys: unknown[] = [["ada"], { name: "ada" }, undefined, null, 1];
  for (const key of keys) {
    const app = limited({ key: () => key as string });
    assertEquals((await app.fetch("/")).status, 500);
  }
});

Deno.test("`limit()` keeps 10,000 keys in memory; the oldest go", async () => {
  const key = (): string => app.request().getHeader("x-user");
  const app: Engine = limited({ requests: 1, key });
  const statusOf = async (user: string): Promise<number> =>
    (await visit(app, "", { headers: { "x-user": user } }))[0];
  for (let index = 0; index < 10_000; index++) await statusOf(`${index}`);
  assertEquals(await statusOf("0"), 429);
  assertEquals(await statusOf("one more"), 200);
  assertEquals(await statusOf("1"), 429);
  assertEquals(await statusOf("0"), 200);
});

Deno.test("a long key, which a client may have chosen, is kept as its hash", async () => {
  const keys: string[] = [];
  const add = (key: string) => {
    keys.push(key);
    return { count: 1, resets: new Date() };
  };
  const key = () => "a".repeat(1_000_000);
  await visit(limited({ key, store: { add } }));
  assertEquals(keys.map(({ length }) => length), [64]);
});

Deno.test("`limit()` counts in its `store`, and a store that fails lets nobody in", async () => {
  const calls: [string, number][] = [];
  const counts = [2, 3];
  const store: LimitStore = {
    add(key, seconds) {
      calls.push([key, seconds]);
      const count = counts.shift();
      if (count === undefined) return Promise.reject(new Error("gone"));
      const resets = new Date(Date.now() + 5_000);
      return Promise.resolve({ count, resets });
    },
  };
  const app = limited({ store });
  const statuses: number[] = [];
  await logOf(async () => {
    for (const address of ["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1"]) {
      statuses.push((await visit(app, address))[0]);
    }
  });
  assertEquals(statuses, [200, 429, 500]);
  assertEquals(calls, Array(3).fill(["192.0.2.1", 60]));
});

Deno.test("a `store` that returns no window lets nobody in", async () => {
  const resets = new Date();
  const windows: unknown[] = [
    undefined,
    { count: NaN, resets },
    { count: "1", resets },
    { count: 1, resets: "2030-01-01" },
    { count: 1, resets: new Date(NaN) },
  ];
  for (const window of windows) {
    const app = limited({ store: { add: () => window as LimitCount } });
    const { status } = await app.fetch("/");
    assertEquals(status, 500, Deno.inspect(window));
  }
});

Deno.test("`limit()` refuses numbers that make no window", () => {
  const refused = [{ requests: 0 }, { requests: NaN }, { seconds: 0 }];
  for (const options of refused) {
    const [name] = Object.keys(options);
    const message = `Cannot limit requests: "${name}" must be`;
    assertThrows(() => limited(options), RangeError, message);
  }
});
