/** Tests `sessions`: what the sealed cookie and the store keep, for how long, and what a forged cookie gets. */

import { Engine } from "@framework/core";
import {
  type SessionOptions,
  sessions,
  type SessionStore,
} from "@framework/core/sessions";
import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { FakeTime } from "@std/testing/time";
import { logOf } from "../support/log.ts";

const SECRET = "the first secret of thirty-two characters or more";
const OTHER = "another secret of thirty-two characters or more";

interface Values {
  user: string;
  role: string;
  basket: string;
  list: number[];
}

/** An application with routes for each thing a session does. */
function application(options: Partial<SessionOptions> = {}): Engine {
  const app = new Engine();
  const session = sessions<Values>(app, { secret: SECRET, ...options });
  app.route("/login/@user", (user) => {
    session().renew().set("user", user);
  });
  app.route("/logout", () => session().clear());
  app.route("/user", () => session().get("user") ?? "nobody");
  app.route("/buy/@item", (item) => void session().set("basket", item));
  app.route("/basket", () => session().get("basket") ?? "nothing");
  app.route("/push/@n", (n) => {
    if (!session().has("list")) session().set("list", []);
    session().get("list")!.push(Number(n));
    return session().get("list")!;
  });
  app.route("/flash/@text", (text) => void session().flash("notice", text));
  app.route("/notice", () => session().flash<string>("notice") ?? "nothing");
  app.route("/elsewhere", () => "no session is used here");
  return app;
}

/** An application whose routes `/slow/...` say that they have `begun`, and wait for `release`. */
function slowApplication(options: Partial<SessionOptions> = {}) {
  const app = application(options);
  const session = sessions<Values>(app, { secret: SECRET, ...options });
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  app.route("/slow/@what", async (what) => {
    begin();
    await released;
    if (what === "write") session().set("role", "admin");
    return session().get("user")!;
  });
  return { app, begun, release };
}

/** A client that keeps cookies by name, and sends them everywhere, however old they are. */
class Client {
  readonly #cookies: Map<string, string>;

  constructor(readonly app: Engine, cookies: Iterable<[string, string]> = []) {
    this.#cookies = new Map(cookies);
  }

  /** A client with the same cookies, as of a thief. */
  copy(app = this.app): Client {
    return new Client(app, this.#cookies);
  }

  /** The header that it sends. */
  get cookie(): string {
    return [...this.#cookies].map((pair) => pair.join("=")).join("; ");
  }

  /** Requests a path and returns the text of the response. */
  async get(path: string): Promise<string> {
    return await (await this.fetch(path)).text();
  }

  /** Requests a path and keeps the cookies of the response. */
  async fetch(path: string): Promise<Response> {
    const headers = new Headers(this.cookie ? { cookie: this.cookie } : {});
    const url = new URL(path, "http://localhost");
    const request = new Request(url, { headers });
    const response = await this.app.fetch(request);
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      if (line.includes("Max-Age=0")) this.#cookies.delete(name!);
      else this.#cookies.set(name!, value!);
    }
    return response;
  }

  /** The `Set-Cookie` headers that the response to a path has. */
  async cookiesOf(path: string): Promise<string[]> {
    const response = await this.fetch(path);
    await response.body?.cancel();
    return response.headers.getSetCookie();
  }
}

/** A store in memory. */
class MapStore implements SessionStore {
  readonly rows = new Map<string, Record<string, unknown>>();

  read(id: string): Promise<Record<string, unknown> | undefined> {
    return Promise.resolve(structuredClone(this.rows.get(id)));
  }

  async write(id: string, values: Record<string, unknown>): Promise<void> {
    await Promise.resolve();
    this.rows.set(id, structuredClone(values));
  }

  async remove(id: string): Promise<void> {
    await Promise.resolve();
    this.rows.delete(id);
  }
}

Deno.test("`sessions()` keeps values for the next requests of the client", async () => {
  const app = application();
  const [ada, grace] = [new Client(app), new Client(app)];
  await ada.get("/login/Ada");
  await grace.get("/login/Grace");
  assertEquals(await ada.get("/user"), "Ada");
  assertEquals(await grace.get("/user"), "Grace");
  assertEquals(await ada.get("/push/1"), "[1]");
  assertEquals(await ada.get("/push/2"), "[1,2]"); // changed in its place
});

Deno.test("the cookie is one that scripts and other sites do not get, and caches do not keep", async () => {
  const { headers } = await new Client(application()).fetch("/login/Ada");
  const [line] = headers.getSetCookie();
  assertMatch(line!, /^session=[^;]+; /);
  const attributes = line!.split("; ").slice(1).sort();
  const expected = ["HttpOnly", "Max-Age=604800", "Path=/", "SameSite=Lax"];
  assertEquals(attributes, expected);
  assertEquals(headers.get("cache-control"), "private");
  assertEquals(headers.get("vary"), "Cookie");
  const app = application({ name: "__Host-id" });
  const [second] = await new Client(app).cookiesOf("https://a.b/login/Ada");
  assertMatch(second!, /^__Host-id=.*; Path=\/;.*; Secure$/);
});

/** Options of the cookie, and the attributes that it has by them beside `HttpOnly` and `Max-Age`. */
const COOKIES: readonly [Record<string, unknown>, string[]][] = [
  [{ path: "/shop" }, ["Path=/shop", "SameSite=Lax"]],
  [{ domain: "a.b" }, ["Domain=a.b", "Path=/", "SameSite=Lax"]],
  [{ sameSite: "Strict" }, ["Path=/", "SameSite=Strict"]],
  [{ secure: true }, ["Path=/", "SameSite=Lax", "Secure"]],
  [{ sameSite: "None" }, ["Path=/", "SameSite=None", "Secure"]],
];

for (const [options, expected] of COOKIES) {
  Deno.test(`\`sessions()\` with ${Deno.inspect(options)} sends ${expected.join("; ")}, at the logout too`, async () => {
    const client = new Client(application(options));
    for (const path of ["/login/Ada", "/logout"]) {
      const [line] = await client.cookiesOf(path);
      const attributes = line!.split("; ").slice(1).sort()
        .filter((attribute) => !/HttpOnly|Max-Age/.test(attribute));
      assertEquals(attributes, expected, path);
    }
  });
}

Deno.test("`persistent: false` makes a cookie that ends with the browser", async () => {
  const app = application({ persistent: false });
  const [line] = await new Client(app).cookiesOf("/login/Ada");
  assertEquals(/Max-Age|Expires/i.test(line!), false, line);
});

Deno.test("a response with the cookie is never kept by a shared cache", async () => {
  const app = application();
  const session = sessions<Values>(app, { secret: SECRET });
  app.route("/shared", () => {
    session().set("user", "Ada");
    app.response().header("cache-control", "public, max-age=60");
  });
  const { headers } = await app.fetch("/shared");
  const directives = headers.get("cache-control")!.split(", ").sort();
  assertEquals(directives, ["max-age=60", "private"]);
});

Deno.test("the cookie shows nothing of a value", async () => {
  const client = new Client(application());
  await client.get("/login/Ada-Lovelace");
  for (const part of [client.cookie, ...client.cookie.split(/[=*]/)]) {
    assertEquals(part.includes("Lovelace"), false);
    if (!/^[\w-]+$/.test(part) || part.length % 4 === 1) continue;
    const bytes = Uint8Array.fromBase64(part, { alphabet: "base64url" });
    assertEquals(new TextDecoder().decode(bytes).includes("Lovelace"), false);
  }
});

Deno.test("no cookie is sent while nothing has changed", async () => {
  const client = new Client(application());
  assertEquals(await client.cookiesOf("/user"), []);
  await client.get("/login/Ada");
  for (const path of ["/user", "/notice", "/elsewhere", "/nowhere"]) {
    assertEquals(await client.cookiesOf(path), [], path);
  }
});

Deno.test("a session ends `maxAge` seconds after its start, however much it is used, and begins anew with `renew()`", async () => {
  using time = new FakeTime();
  const client = new Client(application({ maxAge: 100, idle: 60 }));
  await client.get("/login/Ada");
  for (const seconds of [50, 49]) {
    await time.tickAsync(seconds * 1000);
    assertEquals(await client.get("/user"), "Ada");
  }
  await client.get("/login/Ada"); // renewed
  for (const [seconds, user] of [[50, "Ada"], [49, "Ada"], [1, "nobody"]]) {
    await time.tickAsync(Number(seconds) * 1000);
    assertEquals(await client.get("/user"), user);
  }
});

Deno.test("a session ends `idle` seconds after its last use", async () => {
  using time = new FakeTime();
  const client = new Client(application({ idle: 100 }));
  await client.get("/login/Ada");
  for (const seconds of [60, 99, 99]) {
    await time.tickAsync(seconds * 1000);
    assertEquals(await client.get("/user"), "Ada");
  }
  await time.tickAsync(100_000);
  assertEquals(await client.get("/user"), "nobody");
});

Deno.test("`clear()` takes the cookie from the client, and a request without one gets none", async () => {
  const client = new Client(application());
  await client.get("/login/Ada");
  const [line] = await client.cookiesOf("/logout");
  assertStringIncludes(line!, "session=; Max-Age=0");
  assertEquals(client.cookie, "");
  assertEquals(await client.cookiesOf("/logout"), []);
});

Deno.test("`flash()` is read once, on the next request or a later one", async () => {
  const client = new Client(application());
  await client.get("/flash/Saved");
  assertEquals(await client.get("/user"), "nobody");
  assertEquals(await client.get("/notice"), "Saved");
  assertEquals(client.cookie, "");
  assertEquals(await client.get("/notice"), "nothing");
});

Deno.test("the first secret seals, and each opens, so that keys can rotate", async () => {
  const before = new Client(application({ secret: OTHER }));
  await before.get("/login/Ada");
  const rotated = before.copy(application({ secret: [SECRET, OTHER] }));
  assertEquals(await rotated.get("/user"), "Ada");
  await rotated.get("/login/Grace");
  assertEquals(await rotated.copy(before.app).get("/user"), "nobody");
  assertEquals(await rotated.copy(application()).get("/user"), "Grace");
});

/** What can be done to a cookie so that it is none of ours. */
const FORGED: Readonly<Record<string, (sealed: string) => string>> = {
  "cut short": (sealed) => sealed.slice(0, -5),
  "without a seal": () => "nonsense",
  "with another ciphertext": (sealed) => {
    const parts = sealed.split("*");
    parts[4] = parts[4]!.replace(/^./, (first) => first === "A" ? "B" : "A");
    return parts.join("*");
  },
  "of a million characters": () => "a".repeat(1_000_000),
};

for (const [how, forge] of Object.entries(FORGED)) {
  for (const store of [undefined, new MapStore()]) {
    Deno.test(`a cookie ${how} is none${store ? ", with a store too" : ""}`, async () => {
      const app = application(store && { store });
      const real = new Client(app);
      await real.get("/login/Ada");
      const forged = forge(real.cookie.replace("session=", ""));
      const client = new Client(app, [["session", forged]]);
      assertEquals(await client.get("/user"), "nobody");
      await client.get("/login/Grace");
      assertEquals(await client.get("/user"), "Grace");
    });
  }
}

Deno.test("the cookie of another name is none, and says so under debug", async () => {
  const other = new Client(application({ name: "other" }));
  await other.get("/login/Ada");
  const renamed = other.cookie.replace("other=", "");
  const app = application();
  app.set("framework.debug", true);
  const client = new Client(app, [["session", renamed]]);
  const lines = await logOf(async () => {
    assertEquals(await client.get("/user"), "nobody");
  });
  assertEquals(lines.length, 1);
  assertStringIncludes(lines[0]!, 'The cookie "session" was ignored');
});

Deno.test("`set()` refuses what a cookie cannot hold, and keeps what was", async () => {
  const app = new Engine();
  const session = sessions<{ text: string }>(app, { secret: SECRET });
  app.route("/", () => {
    session().set("text", "é".repeat(1300));
    const set = () => session().set("text", "é".repeat(1400));
    assertThrows(set, RangeError, "a cookie holds at most 2700");
    return `${session().get("text")?.length}`;
  });
  const client = new Client(app);
  assertEquals(await client.get("/"), "1300");
  assert(client.cookie.length <= 4096);
});

Deno.test("a session cannot be changed after the response, only read", async () => {
  const app = application();
  const session = sessions<Values>(app, { secret: SECRET });
  app.route("/stream", async function* () {
    yield `${session().get("user")} `;
    assertThrows(() => session().clear(), Error, "Cannot change the session");
    yield "goodbye";
  });
  const client = new Client(app);
  await client.get("/login/Ada");
  assertEquals(await client.get("/stream"), "Ada goodbye");
});

Deno.test("a slow request that reads, or that changes a session with a `store`, does not undo a logout", async () => {
  const cases: [what: string, store?: MapStore][] = [
    ["read"],
    ["read", new MapStore()],
    ["write", new MapStore()],
  ];
  for (const [what, store] of cases) {
    using time = new FakeTime();
    const { app, begun, release } = slowApplication(store && { store });
    const client = new Client(app);
    await client.get("/login/Ada");
    await time.tickAsync(3_600_000);
    const slow = client.fetch(`/slow/${what}`);
    await begun;
    await client.get("/logout");
    release();
    assertEquals(await (await slow).text(), "Ada");
    assertEquals(await client.get("/user"), "nobody");
    assertEquals(store?.rows.size ?? 0, 0);
  }
});

Deno.test("with a `store`, a session may be large, and the cookie holds the sealed id alone", async () => {
  const store = new MapStore();
  const client = new Client(application({ store }));
  const text = "x".repeat(5000);
  await client.get(`/buy/${text}`);
  assertEquals(await client.get("/basket"), text);
  assert(client.cookie.length < 500);
  const [id] = store.rows.keys();
  assertEquals(client.cookie.includes(id!), false);
});

Deno.test("a `store` gets the date at which the session ends", async () => {
  using time = new FakeTime();
  const dates: Date[] = [];
  const store: SessionStore = {
    read: () => undefined,
    write: (_id, _values, expires) => void dates.push(expires),
    remove: () => {},
  };
  await application({ store, maxAge: 100 }).fetch("/login/Ada");
  assertEquals(dates, [new Date(time.now + 100_000)]);
});

Deno.test("with a `store`, a logout ends every copy of the cookie, and removes the row", async () => {
  const store = new MapStore();
  const client = new Client(application({ store }));
  await client.get("/login/Ada");
  const copy = client.copy();
  assertEquals(await copy.get("/user"), "Ada");
  await client.get("/logout");
  assertEquals(store.rows.size, 0);
  assertEquals(await copy.get("/user"), "nobody");
});

Deno.test("a login gives a new id, so that who knew the old one gets nothing", async () => {
  const store = new MapStore();
  const client = new Client(application({ store }));
  await client.get("/buy/tea");
  const [thief, [id]] = [client.copy(), [...store.rows.keys()]];
  await client.get("/login/Ada");
  assertNotEquals([...store.rows.keys()], [id]);
  assertEquals(store.rows.size, 1);
  assertEquals(await client.get("/basket"), "tea");
  assertEquals(await thief.get("/user"), "nobody");
});

Deno.test("a store that fails, or reads no row, is an error of the request, and logs nobody out", async () => {
  const store = new MapStore();
  const client = new Client(application({ store }));
  await client.get("/login/Ada");
  const read = store.read.bind(store);
  const reads: (() => unknown)[] = [
    () => Promise.reject(new Error("out of reach")),
    ...[7, "text", [], {}, { values: "secret" }].map((row) => () => row),
  ];
  for (const bad of reads) {
    store.read = bad as MapStore["read"];
    assertEquals((await client.fetch("/user")).status, 500);
  }
  store.read = read;
  assertEquals(await client.get("/user"), "Ada");
});

/** Options that are refused, and why. */
const REFUSED: readonly [Record<string, unknown>, string][] = [
  [{ secret: "too short" }, "each secret must have at least 32 characters"],
  [{ secret: undefined }, "is its environment variable set?"],
  [{ maxAge: 0 }, "must be greater than 0 seconds"],
  [{ name: "a b" }, `"a b" is not a valid cookie name`],
  [{ path: "/a;b" }, `"/a;b" is not a valid cookie path`],
  [{ sameSite: "Sometimes" }, "Strict, Lax or None"],
  [{ name: "__Host-id", path: "/shop" }, `must be "/"`],
  [{ store: {} }, `the store has no method "read"`],
];

for (const [options, message] of REFUSED) {
  Deno.test(`\`sessions()\` refuses ${Deno.inspect(options)}`, () => {
    const declare = () => application(options as Partial<SessionOptions>);
    assertThrows(declare, TypeError, message);
  });
}
