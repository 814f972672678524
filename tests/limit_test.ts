/** Tests `limit`: what a window is, whom it counts for, and the response beyond it. */

import { Engine, HttpError, type MaybePromise } from "@framework/core";
import {
  limit,
  type LimitCount,
  type LimitOptions,
  type LimitStore,
} from "@framework/core/limit";
import { settled } from "@framework/core/testing";
import { assertEquals, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import { FakeTime } from "@std/testing/time";

/** An application with a limited route. */
function limited(options: Partial<LimitOptions> = {}): Engine {
  const app = new Engine();
  const slow = limit(app, { requests: 2, seconds: 60, ...options });
  app.route("/", () => "done").addMiddleware(slow);
  app.route("/free", () => "done");
  return app;
}

/** Requests the route as the client of an address: the status, and when to come again. */
async function visit(
  app: Engine,
  hostname = "192.0.2.1",
  path = "/",
): Promise<[status: number, retryAfter: string | null]> {
  const response = await app.fetch(new Request(`http://localhost${path}`), {
    remoteAddr: { transport: "tcp", hostname, port: 1 },
  });
  await response.body?.cancel();
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

Deno.test("the window of a key begins with its own first request", async () => {
  using time = new FakeTime();
  const app = limited({ requests: 1 });
  await visit(app, "192.0.2.1");
  await time.tickAsync(30_000);
  await visit(app, "192.0.2.2");
  await time.tickAsync(30_000);
  assertEquals(await visit(app, "192.0.2.1"), [200, null]);
  assertEquals(await visit(app, "192.0.2.2"), [429, "30"]);
});

Deno.test("the window of a key is over once the clock was put back to before it", async () => {
  let now = 86_400_000;
  using _clock = stub(Date, "now", () => now);
  const app = limited({ requests: 1 });
  await visit(app, "192.0.2.1");
  await visit(app, "192.0.2.2");
  assertEquals(await visit(app, "192.0.2.1"), [429, "60"]);
  now -= 3_600_000;
  assertEquals(await visit(app, "192.0.2.2"), [200, null]);
  assertEquals(await visit(app, "192.0.2.1"), [200, null]);
  assertEquals(await visit(app, "192.0.2.1"), [429, "60"]);
});

/** Addresses, and whether they count as one client. */
const PAIRS: readonly [string, string, boolean][] = [
  ["192.0.2.1", "192.0.2.2", false],
  ["2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true],
  ["2001:db8:1:2::1", "2001:DB8:0001:0002:0:0:0:9", true],
  ["2001:db8:1:2::1", "2001:db8:1:3::1", false],
  ["2001:db8::1", "2001:db8:0:0:1::", true],
  ["::1", "::2", true],
  ["::1", "1::1", false],
  ["::ffff:192.0.2.1", "192.0.2.1", true],
  ["::ffff:c000:201", "192.0.2.1", true],
  ["0:0:0:0:0:ffff:c000:0201", "::ffff:192.0.2.1", true],
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

for (
  const key of [
    (app: Engine) => app.request().getHeader("x-user"),
    (app: Engine) => Promise.resolve(app.request().getHeader("x-user")),
  ]
) {
  Deno.test("`limit()` counts by `key()`", async () => {
    const app: Engine = limited({ requests: 1, key: () => key(app) });
    const statuses: number[] = [];
    for (const user of ["Ada", "Grace", "Ada"]) {
      const headers = { "x-user": user };
      const request = new Request("http://localhost/", { headers });
      const response = await app.fetch(request);
      await response.body?.cancel();
      statuses.push(response.status);
    }
    assertEquals(statuses, [200, 200, 429]);
  });
}

Deno.test("`limit()` gives clients of JSON problem details, by `error`", async () => {
  const app = limited({ requests: 1 });
  const errors: unknown[] = [];
  app.before("error", ([error]) => void errors.push(error));
  await visit(app, "");
  const headers = { accept: "application/json" };
  const request = new Request("http://localhost/", { headers });
  const response = await app.fetch(request);
  assertEquals(
    [response.headers.get("content-type"), response.headers.get("retry-after")],
    ["application/problem+json", "60"],
  );
  const problem = await response.json();
  assertEquals(problem.detail, "Too many requests: try again in 60 s");
  assertEquals(errors.map((error) => error instanceof HttpError), [true]);
});

Deno.test("one `limit()` counts for all that it is added to, two count apart", async () => {
  const app = new Engine();
  const [slow, other] = [1, 1].map((requests) =>
    limit(app, { requests, seconds: 60 })
  );
  app.group("/a", (router) => {
    router.get("/1", () => "done");
    router.get("/2", () => "done");
  }, [slow!]);
  app.route("/b", () => "done").addMiddleware(other!);
  const statuses: number[] = [];
  for (const path of ["/a/1", "/a/2", "/b"]) {
    statuses.push((await visit(app, "192.0.2.1", path))[0]);
  }
  assertEquals(statuses, [200, 429, 200]);
});

/** What a request that meets a limit twice is routed by. */
const TWICE: readonly [
  where: string,
  add: (app: Engine, slow: () => MaybePromise<void>) => void,
][] = [
  ["a group and a route of it", (app, slow) => {
    app.group("", (router) => {
      router.get("/", () => "done").addMiddleware(slow);
    }, [slow]);
  }],
  ["a route that passes and the next one", (app, slow) => {
    app.route("/", () => true).addMiddleware(slow);
    app.route("/*", () => "done").addMiddleware(slow);
  }],
  ["a filter of `start` and a route", (app, slow) => {
    app.before("start", slow);
    app.route("/", () => "done").addMiddleware(slow);
  }],
];

for (const [where, add] of TWICE) {
  for (const options of [{}, { store: slowStore() }]) {
    Deno.test(`a request that meets \`limit()\` in ${where} counts once${options.store ? ", also in a slow `store`" : ""}`, async () => {
      const app = new Engine();
      add(app, limit(app, { requests: 2, seconds: 60, ...options }));
      const statuses: number[] = [];
      for (let visits = 0; visits < 3; visits++) {
        statuses.push((await visit(app))[0]);
      }
      assertEquals(statuses, [200, 200, 429]);
    });
  }
}

Deno.test("a request that meets `limit()` twice keeps its window, whatever the store counts meanwhile", async () => {
  const app = new Engine();
  const window = { count: 0, resets: new Date(Date.now() + 60_000) };
  const add = (): LimitCount => {
    window.count += 1;
    return window;
  };
  const options = { requests: 2, seconds: 60, key: () => "a", store: { add } };
  const slow = limit(app, options);
  const wait = (): Promise<undefined> =>
    new Promise((resolve) => setTimeout(() => resolve(undefined), 5));
  app.route("/twice", () => "done").addMiddleware(slow, wait, slow);
  app.route("/once", () => "done").addMiddleware(slow, wait);
  const responses = await Promise.all(
    ["/twice", "/once", "/once"].map((path) => app.fetch(path)),
  );
  assertEquals(responses.map(({ status }) => status), [200, 200, 429]);
});

Deno.test("each call of `limit()` counts once the request has its response", async () => {
  const app = new Engine();
  const slow = limit(app, { requests: 2, seconds: 60, key: () => "a" });
  const statuses: (number | undefined)[] = [];
  app.route("/", () => {
    app.defer(() => {
      for (let message = 0; message < 3; message++) {
        try {
          void slow();
          statuses.push(undefined);
        } catch (error) {
          statuses.push((error as HttpError).status);
        }
      }
    });
  });
  await visit(app);
  await settled(app);
  assertEquals(statuses, [undefined, undefined, 429]);
});

Deno.test("a request that meets `limit()` with two keys counts for both, and is refused again where it was before", async () => {
  let key = "";
  const app = new Engine();
  const slow = limit(app, { requests: 1, seconds: 60, key: () => key });
  const statusOf = (next: string): number | undefined => {
    key = next;
    try {
      void slow();
      return undefined;
    } catch (error) {
      return (error as HttpError).status;
    }
  };
  app.route("/@keys", (keys) => keys.split("-").map(statusOf));
  const seen: unknown[] = [];
  for (const path of ["/a-b-a", "/a-c-a-b"]) {
    seen.push(await (await app.fetch(path)).json());
  }
  assertEquals(seen, [[null, null, null], [429, null, 429, 429]]);
});

/** Options of a limit, and what it waits for. */
const WAITS: readonly [what: string, options: Partial<LimitOptions>][] = [
  ["nothing", {}],
  ["its `key`", { key: () => Promise.resolve("a") }],
  ["the hash of a long key", { key: () => "a".repeat(257) }],
  ["its `store`", { store: slowStore() }],
];

/** A store that counts a while after it was asked to. */
function slowStore(): LimitStore {
  let count = 0;
  return {
    async add(_key, seconds) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      const resets = new Date(Date.now() + seconds * 1_000);
      return { count: ++count, resets };
    },
  };
}

for (const [what, options] of WAITS) {
  Deno.test(`middleware that calls \`limit()\` without \`await\` lets nobody in beyond it, when that waits for ${what}`, async () => {
    const app = new Engine();
    const slow = limit(app, { requests: 1, seconds: 60, ...options });
    let calls = 0;
    app.route("/", () => `${++calls}`).addMiddleware(() => void slow());
    const [[first], [second]] = [await visit(app), await visit(app)];
    assertEquals([first, second, calls], [200, 429, 1]);
  });
}

Deno.test("`limit()` counts where a mapped `request` returns something else", async () => {
  const app = new Engine();
  app.map("request", () => ({ ip: "192.0.2.1" }));
  const slow = limit(app, { requests: 1, seconds: 60, store: slowStore() });
  app.route("/", () => "done").addMiddleware(slow);
  const statuses = [(await visit(app))[0], (await visit(app))[0]];
  assertEquals(statuses, [200, 429]);
});

Deno.test("`limit()` throws at once when there is nothing to wait for", async () => {
  const app = new Engine();
  const slow = limit(app, { requests: 1, seconds: 60 });
  let calls = 0;
  app.route("/", () => {
    slow();
    return `${++calls}`;
  });
  const [[first], [second]] = [await visit(app), await visit(app)];
  assertEquals([first, second, calls], [200, 429, 1]);
});

Deno.test("`limit()` limits every request as a filter of `start`", async () => {
  const app = new Engine();
  app.before("start", limit(app, { requests: 1, seconds: 60 }));
  app.route("/", () => "done");
  assertEquals(await visit(app), [200, null]);
  assertEquals(await visit(app), [429, "60"]);
});

Deno.test("`limit()` keeps 10,000 keys in memory; the oldest go", async () => {
  let key = "";
  const app = new Engine();
  const slow = limit(app, { requests: 1, seconds: 60, key: () => key });
  const isRefused = async (next: string): Promise<boolean> => {
    key = next;
    try {
      await slow();
      return false;
    } catch {
      return true;
    }
  };
  for (let index = 0; index < 10_000; index++) await isRefused(`${index}`);
  assertEquals(await isRefused("0"), true);
  assertEquals(await isRefused("one more"), false);
  assertEquals(await isRefused("1"), true);
  assertEquals(await isRefused("0"), false);
  assertEquals(await isRefused("9999"), true);
});

Deno.test("`limit()` lets nobody in whose key is no text", async () => {
  const keys: unknown[] = [["ada"], { name: "ada" }, undefined, null, 1];
  for (const key of keys) {
    const app = limited({ key: () => key as string });
    app.map("error", (error: Error) => error.message);
    assertEquals(await visit(app), [500, null]);
  }
});

Deno.test("`limit()` keeps the hash of a long key", async () => {
  const keys: string[] = [];
  const add = (key: string) => {
    keys.push(key);
    return { count: 1, resets: new Date() };
  };
  for (const key of ["a".repeat(256), "a".repeat(1_000_000), "b".repeat(257)]) {
    await visit(limited({ key: () => key, store: { add } }));
  }
  assertEquals(keys.map(({ length }) => length), [256, 64, 64]);
  assertEquals(new Set(keys).size, 3);
});

Deno.test("`limit()` counts in its `store`, and a store that fails lets nobody in", async () => {
  const calls: [string, number][] = [];
  const counts = [2, 3, 1];
  const store: LimitOptions["store"] = {
    add(key, seconds) {
      calls.push([key, seconds]);
      if (counts.length === 0) return Promise.reject(new Error("gone"));
      const resets = new Date(Date.now() + 5_000);
      return { count: counts.shift() as number, resets };
    },
  };
  const app = limited({ store });
  const statuses: number[] = [];
  for (const address of ["192.0.2.1", "::ffff:192.0.2.1", "1::", "1::2"]) {
    statuses.push((await visit(app, address))[0]);
  }
  assertEquals(statuses, [200, 429, 200, 500]);
  const networks = ["192.0.2.1", "192.0.2.1", "1:0:0:0::/64", "1:0:0:0::/64"];
  assertEquals(calls, networks.map((key) => [key, 60]));
});

for (
  const options of [
    { requests: 0 },
    { requests: 1.5 },
    { requests: NaN },
    { seconds: 0 },
    { seconds: 0.0001 },
    { seconds: 1e12 + 1 },
    { seconds: Number.MAX_SAFE_INTEGER },
    { seconds: Infinity },
  ]
) {
  Deno.test(`\`limit()\` refuses ${Deno.inspect(options)}`, () => {
    const [name] = Object.keys(options);
    const message = `Cannot limit requests: "${name}" must be`;
    assertThrows(() => limited(options), RangeError, message);
  });
}

Deno.test("`limit()` counts in the longest and in the shortest window of `seconds`", async () => {
  using _time = new FakeTime();
  for (const seconds of [1e12, 0.001]) {
    const app = limited({ requests: 1, seconds });
    assertEquals((await visit(app))[0], 200);
    assertEquals((await visit(app))[0], 429);
  }
});

/** What stores return by mistake, such as what JSON makes of a date. */
const WINDOWS: readonly unknown[] = [
  undefined,
  null,
  1,
  {},
  ...[null, undefined, "1", 0, -1, 1.5, NaN, Infinity].map((count) => ({
    count,
    resets: new Date(),
  })),
  ...[null, undefined, "2030-01-01", 1, new Date(NaN)].map((resets) => ({
    count: 1,
    resets,
  })),
];

for (const [index, window] of WINDOWS.entries()) {
  Deno.test(`\`limit()\` lets nobody in whose \`store\` returns no window (${index})`, async () => {
    const app = limited({ store: { add: () => window as LimitCount } });
    const errors: Error[] = [];
    app.map("error", (error: Error) => void errors.push(error));
    assertEquals((await visit(app))[0], 500);
    const message =
      `Cannot limit requests: the store must return { count, resets }: a whole number, at least 1, and a valid Date, got ${
        Deno.inspect(window)
      }`;
    assertEquals(errors.map((error) => error.message), [message]);
    assertEquals(errors[0] instanceof TypeError, true);
  });
}
