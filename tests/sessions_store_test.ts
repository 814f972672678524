/** Tests `sessions` with a store: what its rows are, when they go, and what a logout ends. */

import { Engine } from "@framework/core";
import {
  type SessionOptions,
  sessions,
  type SessionStore,
} from "@framework/core/sessions";
import { Visitor } from "@framework/core/testing";
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { FakeTime } from "@std/testing/time";

const SECRET = "the first secret of thirty-two characters or more";

interface Row {
  readonly values: Record<string, unknown>;
  readonly expires: Date;
}

/** A store in memory, whose methods each take some milliseconds where that is asked for. */
class MapStore implements SessionStore {
  readonly rows = new Map<string, Row>();
  /** The methods in the order of their calls. */
  readonly calls: string[] = [];

  constructor(readonly delay?: Partial<Record<keyof SessionStore, number>>) {}

  read(id: string) {
    return this.#do("read", () => this.rows.get(id)?.values);
  }

  write(id: string, values: Record<string, unknown>, expires: Date) {
    return this.#do("write", () => void this.rows.set(id, { values, expires }));
  }

  remove(id: string) {
    return this.#do("remove", () => this.rows.delete(id));
  }

  /** The id of the only row. */
  get id(): string {
    const [id, ...others] = this.rows.keys();
    assertEquals(others, []);
    return id!;
  }

  #do<Result>(method: keyof SessionStore, work: () => Result) {
    this.calls.push(method);
    if (this.delay === undefined) return work();
    const { promise, resolve } = Promise.withResolvers<Result>();
    setTimeout(() => resolve(work()), this.delay[method] ?? 0);
    return promise;
  }
}

/** An application whose slow routes say that they have `begun`, and wait for `release`. */
function application(store: SessionStore, more: Partial<SessionOptions> = {}) {
  const app = new Engine();
  const session = sessions(app, { secret: SECRET, store, ...more });
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { promise, resolve: release } = Promise.withResolvers<void>();
  app.route("/set/@key/@value", (key, value) => void session().set(key, value));
  app.route("/slow/@key/@value", async (key, value) => {
    begin();
    await promise;
    session().set(key, value);
  });
  app.route("/slow", async () => {
    begin();
    await promise;
    return session().get<string>("user") as string;
  });
  app.route("/login/@user", (user) => void session().renew().set("user", user));
  app.route("/get/@key", (key) => `${session().get(key)}`);
  app.route("/flash", () => void session().flash("form", { name: "Ada" }));
  app.route("/flashed", () => session().flash<object>("form") ?? {});
  app.route("/logout", () => session().clear());
  return { app, session, begun, release };
}

/** The visitor with the same cookies, as from a copy. */
function copyOf(visitor: Visitor, app: Engine): Visitor {
  const cookie = Object.entries(visitor.cookies)
    .map(([name, value]) => `${name}=${value}`).join("; ");
  return new Visitor(app, { headers: { cookie } });
}

const textOf = async (visitor: Visitor, path: string): Promise<string> =>
  (await visitor.visit(path)).text;

for (const delay of [undefined, {}]) {
  const kind = delay ? "an asynchronous" : "a synchronous";
  Deno.test(`\`sessions()\` keeps a large session in ${kind} store, and the cookie the id alone`, async () => {
    const store = new MapStore(delay);
    const { app } = application(store);
    const visitor = new Visitor(app);
    const text = "x".repeat(5000);
    await visitor.visit(`/set/a/${text}`);
    await visitor.visit("/set/b/2");
    assertEquals(await textOf(visitor, "/get/a"), text);
    assertEquals(await textOf(visitor, "/get/b"), "2");
    assert(visitor.cookies.session!.length < 500);
    const { values, expires } = store.rows.get(store.id)!;
    assertEquals(JSON.parse(JSON.stringify(values)), values);
    const days = (expires.getTime() - Date.now()) / 86_400_000;
    assert(Math.abs(days - 7) < 0.01);
  });
}

Deno.test("`sessions()` writes no row for a visitor of whom nothing is kept, and none for a read", async () => {
  const store = new MapStore();
  const visitor = new Visitor(application(store).app);
  for (const path of ["/get/a", "/logout", "/flashed"]) {
    await visitor.visit(path);
  }
  assertEquals([store.calls, visitor.cookies], [[], {}]);
  await visitor.visit("/set/a/1");
  store.calls.length = 0;
  await visitor.visit("/get/a");
  assertEquals(store.calls, ["read"]);
});

Deno.test("a flash of what a form sent goes with its row", async () => {
  const store = new MapStore();
  const visitor = new Visitor(application(store).app);
  await visitor.visit("/flash");
  assertEquals(await textOf(visitor, "/flashed"), `{"name":"Ada"}`);
  assertEquals([store.rows.size, visitor.cookies], [0, {}]);
  assertEquals(await textOf(visitor, "/flashed"), "{}");
});

Deno.test("a logout ends every copy of the cookie, and removes the row", async () => {
  const store = new MapStore();
  const { app } = application(store);
  const visitor = new Visitor(app);
  await visitor.visit("/login/Ada");
  const copy = copyOf(visitor, app);
  assertEquals(await textOf(copy, "/get/user"), "Ada");
  await visitor.visit("/logout");
  assertEquals(store.rows.size, 0);
  assertEquals(await textOf(copy, "/get/user"), "undefined");
});

Deno.test("the change of a slow request is dropped when a logout came before", async () => {
  const store = new MapStore();
  const { app, begun, release } = application(store);
  const visitor = new Visitor(app);
  await visitor.visit("/login/Ada");
  const copy = copyOf(visitor, app);
  const slow = copy.visit("/slow/role/admin");
  await begun;
  await visitor.visit("/logout");
  release();
  const { response } = await slow;
  assertEquals([response.status, response.headers.getSetCookie()], [200, []]);
  assertEquals(store.rows.size, 0);
  assertEquals(await textOf(copy, "/get/user"), "undefined");
});

for (const path of ["/goodbye", "/delete/user"]) {
  Deno.test(`a slow request does not bring back what ${path} has ended`, async () => {
    const store = new MapStore();
    const { app, session, begun, release } = application(store);
    app.route("/goodbye", () => {
      session().clear();
      session().flash("form", { text: "Goodbye" });
    });
    app.route("/delete/@key", (key) => void session().delete(key));
    const visitor = new Visitor(app);
    await visitor.visit("/login/Ada");
    await visitor.visit("/set/basket/tea");
    const copy = copyOf(visitor, app);
    const slow = copy.visit("/slow/role/admin");
    await begun;
    await visitor.visit(path);
    release();
    await slow;
    assertEquals(await textOf(copy, "/get/user"), "undefined");
    assertEquals(await textOf(visitor, "/get/user"), "undefined");
    const isNew = path === "/goodbye";
    assertEquals(
      await textOf(visitor, "/get/basket"),
      isNew ? "undefined" : "tea",
    );
    const flashed = isNew ? `{"text":"Goodbye"}` : "{}";
    assertEquals(await textOf(visitor, "/flashed"), flashed);
  });
}

Deno.test("concurrent requests that change other keys keep each other's", async () => {
  const store = new MapStore({ read: 5, write: 5 });
  const { app, begun, release } = application(store);
  const visitor = new Visitor(app);
  await visitor.visit("/set/a/1");
  const slow = copyOf(visitor, app).visit("/slow/b/2");
  await begun;
  await Promise.all(
    ["/set/c/3", "/set/a/4", "/set/d/5"].map((path) =>
      copyOf(visitor, app).visit(path)
    ),
  );
  release();
  await slow;
  const texts: string[] = [];
  for (const key of "abcd") texts.push(await textOf(visitor, `/get/${key}`));
  assertEquals(texts, ["4", "2", "3", "5"]);
});

Deno.test("a flash that is read across a login does not take the new cookie", async () => {
  const store = new MapStore();
  const { app, session, begun, release } = application(store);
  app.route("/notice", async () => {
    await app.fetch("http://localhost/slow");
    return session().flash<object>("form") ?? {};
  });
  const visitor = new Visitor(app);
  await visitor.visit("/flash");
  const slow = copyOf(visitor, app).visit("/notice");
  await begun;
  await visitor.visit("/login/Ada");
  release();
  assertEquals((await slow).response.headers.getSetCookie(), []);
  assertEquals(await textOf(visitor, "/get/user"), "Ada");
});

Deno.test("a logout does not cross the change of another request in a slow store", async () => {
  const orders = [{ write: 20 }, { remove: 20 }, { read: 20, write: 10 }];
  for (const delay of orders) {
    const store = new MapStore(delay);
    const { app } = application(store);
    const visitor = new Visitor(app);
    await visitor.visit("/login/Ada");
    const copies = [1, 2, 3].map(() => copyOf(visitor, app));
    const changes = copies.map((copy) => copy.visit("/set/role/admin"));
    await new Promise((resolve) => setTimeout(resolve, 22));
    await Promise.all([visitor.visit("/logout"), ...changes]);
    assertEquals(store.rows.size, 0);
  }
});

Deno.test("a slow request that only reads writes no row, so that a logout stands", async () => {
  using time = new FakeTime();
  const store = new MapStore();
  const { app, begun, release } = application(store);
  const visitor = new Visitor(app);
  await visitor.visit("/login/Ada");
  await time.tickAsync(3_600_000);
  const copy = copyOf(visitor, app);
  const slow = copy.visit("/slow");
  await begun;
  await visitor.visit("/logout");
  release();
  const page = await slow;
  assertEquals([page.text, store.rows.size], ["Ada", 0]);
  assertEquals(await textOf(copy, "/get/user"), "undefined");
});

Deno.test("`renew()` gives a new id, so that who knew the old one gets nothing", async () => {
  const store = new MapStore();
  const { app, begun, release } = application(store);
  const visitor = new Visitor(app);
  await visitor.visit("/set/basket/tea");
  const thief = copyOf(visitor, app);
  const slow = copyOf(visitor, app).visit("/slow/role/admin");
  await begun;
  const { id } = store;
  await visitor.visit("/login/Ada");
  release();
  await slow;
  assertNotEquals(store.id, id);
  assertEquals(await textOf(visitor, "/get/basket"), "tea");
  assertEquals(await textOf(visitor, "/get/role"), "undefined");
  assertEquals(await textOf(thief, "/get/user"), "undefined");
});

Deno.test("a slow logout ends the session that was renewed meanwhile, and a later one does not", async () => {
  const store = new MapStore();
  const { app, session, begun, release } = application(store);
  app.route("/leave", async () => {
    await textOf(new Visitor(app), "/slow");
    session().clear();
  });
  const visitor = new Visitor(app);
  await visitor.visit("/login/Ada");
  const [old, other] = [copyOf(visitor, app), copyOf(visitor, app)];
  const leaving = old.visit("/leave");
  await begun;
  await visitor.visit("/login/Ada");
  await visitor.visit("/login/Ada");
  await other.visit("/logout"); // begins when its session has a new id already
  assertEquals(await textOf(visitor, "/get/user"), "Ada");
  release();
  await leaving;
  assertEquals(await textOf(visitor, "/get/user"), "undefined");
  assertEquals(store.rows.size, 0);
});

for (const options of [{ maxAge: 50 }, { idle: 50 }]) {
  Deno.test(`a session that ${Deno.inspect(options)} has ended loses its row when it is used`, async () => {
    using time = new FakeTime();
    const store = new MapStore();
    const { app } = application(store, options);
    const visitor = new Visitor(app);
    await visitor.visit("/login/Ada");
    const copy = copyOf(visitor, app);
    await time.tickAsync(49_999);
    await visitor.visit("/elsewhere");
    assertEquals(store.rows.size, 1);
    await time.tickAsync(1);
    assertEquals(await textOf(copy, "/get/user"), "undefined");
    assertEquals(store.rows.size, 0);
  });
}

Deno.test("a session with a store is idle from its last use, although no read writes it", async () => {
  using time = new FakeTime();
  const store = new MapStore();
  const { app } = application(store, { idle: 100 });
  const visitor = new Visitor(app);
  await visitor.visit("/login/Ada");
  store.calls.length = 0;
  for (const seconds of [60, 99, 99]) {
    await time.tickAsync(seconds * 1000);
    assertEquals(await textOf(visitor, "/get/user"), "Ada");
  }
  assertEquals(store.calls, ["read", "read", "read"]);
  await time.tickAsync(100_000);
  assertEquals(await textOf(copyOf(visitor, app), "/get/user"), "undefined");
});

Deno.test("a value that is changed in its place is kept at the end of the request, not before", async () => {
  const store = new MapStore();
  const { app, session, release } = application(store);
  const { promise: waits, resolve: isWaiting } = Promise.withResolvers<void>();
  app.route("/begin", () => void session().set("list", [1]));
  app.route("/push", async () => {
    (session().get("list") as number[]).push(2);
    isWaiting();
    await app.fetch("http://localhost/slow");
  });
  app.route("/list", () => session().get("list") as number[]);
  const visitor = new Visitor(app);
  await visitor.visit("/begin");
  const pushing = visitor.visit("/push");
  await waits;
  assertEquals(await textOf(copyOf(visitor, app), "/list"), "[1]");
  release();
  await pushing;
  assertEquals(await textOf(visitor, "/list"), "[1,2]");
});

Deno.test("a store that fails is an error of the request", async () => {
  const store = new MapStore();
  const { app } = application(store);
  const visitor = new Visitor(app);
  await visitor.visit("/login/Ada");
  store.read = () => {
    throw new Error("out of reach");
  };
  assertEquals((await visitor.visit("/get/user")).status, 500);
});

/** What is no row, and how the error names it, which does not show the values. */
const NO_ROWS: readonly [row: unknown, kind: string][] = [
  ['{"started":1,"used":2,"values":[],"flashes":[]}', "[object String]"],
  [7, "[object Number]"],
  [false, "[object Boolean]"],
  [["secret"], "[object Array]"],
  [new Map([["values", "secret"]]), "[object Map]"],
  [{}, "a record with the names []"],
  [{ values: "secret" }, 'a record with the names [ "values" ]'],
];

for (const [row, kind] of NO_ROWS) {
  Deno.test(`a store that reads ${Deno.inspect(row)} is an error of the request, and logs nobody out`, async () => {
    const store = new MapStore();
    const { app } = application(store);
    app.map("error", (error: Error) => error.message);
    const visitor = new Visitor(app);
    await visitor.visit("/login/Ada");
    const { id } = store;
    const { read } = store;
    store.read = () => row as Record<string, unknown>;
    const { status, text } = await visitor.visit("/get/user");
    const why =
      `Cannot read the session: the store must return what "write" was given, got ${kind}`;
    assertEquals([status, text, store.id], [500, why, id]);
    store.read = read;
    assertEquals(await textOf(visitor, "/get/user"), "Ada");
  });
}

Deno.test("a store that reads null or undefined has no session", async () => {
  const store = new MapStore();
  const { app } = application(store);
  const visitor = new Visitor(app);
  await visitor.visit("/login/Ada");
  for (const row of [null, undefined]) {
    store.read = (() => row) as MapStore["read"];
    assertEquals(await textOf(visitor, "/get/user"), "undefined");
  }
});

Deno.test("a row with more than a session has is a session", async () => {
  const store = new MapStore();
  const { app } = application(store);
  const visitor = new Visitor(app);
  await visitor.visit("/login/Ada");
  const { values } = store.rows.get(store.id)!;
  store.read = () => ({ ...values, id: "of the row", version: 0 });
  assertEquals(await textOf(visitor, "/get/user"), "Ada");
});

Deno.test("`sessions()` reads and writes the rows that exist", async () => {
  const store = new MapStore();
  const { app } = application(store);
  const visitor = new Visitor(app);
  await visitor.visit("/login/Ada");
  const started = Date.now() / 1000 - 100;
  const row = { started, used: started + 9, values: [["user", "Grace"]] };
  store.write(store.id, { ...row, flashes: [["form", {}]] }, new Date());
  assertEquals(await textOf(visitor, "/get/user"), "Grace");
  assertEquals(await textOf(visitor, "/flashed"), "{}");
  const { used, ...written } = store.rows.get(store.id)!.values;
  assert(Number(used) > row.used);
  assertEquals(written, { started, values: row.values, flashes: [] });
});
