/** Tests `sessions`: what the sealed cookie keeps, for how long, and when it is sent. */

import { Engine, HttpRequest, Router } from "@framework/core";
import { files } from "@framework/core/files";
import {
  type Session,
  type SessionOptions,
  sessions,
  type SessionStore,
} from "@framework/core/sessions";
import { settled, Visitor } from "@framework/core/testing";
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { defaults, seal, unseal } from "npm:iron-webcrypto@^2.0.0";
import { logOf } from "./log.ts";

const SECRET = "the first secret of thirty-two characters or more";
const OTHER = "another secret of thirty-two characters or more";

interface Values {
  user: string;
  count: number;
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
  app.route("/forget", () => `${session().delete("user")}`);
  app.route("/push/@n", (n) => {
    const list = session().get("list");
    if (list === undefined) session().set("list", [Number(n)]);
    else list.push(Number(n));
    return session().get("list")!;
  });
  app.route("/flash/@text", (text) => void session().flash("notice", text));
  app.route("/notice", () => session().flash<string>("notice") ?? "nothing");
  app.route("/elsewhere", () => "no session is used here");
  return app;
}

Deno.test("a mounted engine goes on with the session of the one around it, and can end it", async () => {
  const app = application();
  app.mount("/shop", application());
  const visitor = new Visitor(app);
  await visitor.visit("/login/Ada");
  assertEquals((await visitor.visit("/shop/user")).text, "Ada");
  await visitor.visit("/shop/login/Grace");
  assertEquals((await visitor.visit("/user")).text, "Grace");
  await visitor.visit("/logout");
  assertEquals((await visitor.visit("/shop/user")).text, "nobody");
});

/** Two applications with the same options, where the outer one changes each session that the inner one handles. */
function nested(options: Partial<SessionOptions>): Engine {
  const outer = new Engine();
  const session = sessions<{ visits: number; user: string }>(outer, {
    secret: SECRET,
    ...options,
  });
  outer.before("start", () => {
    session().set("visits", (session().get("visits") ?? 0) + 1);
    session().flash("seen");
  });
  outer.route("/visits", () => `${session().get("visits")}`);
  outer.route("/who", () => session().get("user") ?? "nobody");
  outer.route("/see", () => void session().flash("seen", "yes"));
  const between = new Engine();
  between.mount("/shop", application(options));
  outer.mount("/all", between);
  return outer;
}

for (const options of [{}, { store: inMemory() }]) {
  const place = "store" in options ? "a store" : "its cookie";
  Deno.test(`a mounted engine keeps its change of a session in ${place}, whatever the one around it changes`, async () => {
    const client = new Client(nested(options));
    const shop = (path: string) => client.fetch(`/all/shop${path}`);
    for (const first of ["/user", "/see"]) {
      await client.get(first);
      const login = await shop("/login/Ada");
      assertEquals(login.headers.getSetCookie().length, 1);
      const before = client.cookie;
      assertEquals(await client.get("/who"), "Ada");
      const logout = await shop("/logout");
      assertEquals(logout.headers.getSetCookie().length, 1);
      assertEquals(await client.get("/who"), "nobody");
      if (place === "its cookie") continue;
      const copy = new Client(client.app);
      copy.cookie = before;
      assertEquals(await copy.get("/who"), "nobody");
    }
  });

  Deno.test(`a mounted engine shares a session in ${place} with the one around it from the first request on`, async () => {
    const client = new Client(nested(options));
    const login = await client.fetch("/all/shop/login/Ada");
    assertEquals(login.headers.getSetCookie().length, 1);
    assertEquals(await client.get("/who"), "Ada");
    assertEquals(await client.get("/visits"), "3");
    const before = client.cookie;
    await client.get("/all/shop/login/Grace");
    assertNotEquals(client.cookie, before);
    assertEquals(await client.get("/all/shop/user"), "Grace");
    assertEquals(await client.get("/visits"), "6");
  });

  Deno.test(`an engine around a mounted one ends a session in ${place} by its last word`, async () => {
    const outer = new Engine();
    const session = sessions(outer, { secret: SECRET, ...options });
    outer.mount("/shop", application(options));
    outer.route("/who", () => session().get("user") ?? "nobody");
    outer.after("start", () => {
      if (session().get("user") === "Eve") session().clear();
    });
    const client = new Client(outer);
    await client.get("/shop/login/Ada");
    assertEquals(await client.get("/who"), "Ada");
    await client.get("/shop/login/Eve");
    assertEquals(await client.get("/who"), "nobody");
  });
}

Deno.test("a mounted engine shares the session of the one around it, which has a `framework.base_url`", async () => {
  const app = application();
  app.set("framework.base_url", "/site");
  app.mount("/shop", application({ path: undefined as never }));
  const visitor = new Visitor(app);
  await visitor.visit("/site/push/1");
  const { headers } = (await visitor.visit("/site/shop/push/2")).response;
  const [line, ...others] = headers.getSetCookie();
  assertStringIncludes(line!, "; Path=/site;");
  assertEquals(others, []);
  assertEquals((await visitor.visit("/site/push/3")).text, "[1,2,3]");
});

Deno.test("a mounted engine that leaves out the path of the cookie shares the session of the one around it", async () => {
  const app = application({ path: "/" });
  app.mount("/shop", application());
  const visitor = new Visitor(app);
  await visitor.visit("/push/1");
  await visitor.visit("/shop/push/2");
  assertEquals((await visitor.visit("/push/3")).text, "[1,2,3]");
});

Deno.test("a mounted engine with a time of its own does not share the session of the one around it", async () => {
  await inTime(async (pass) => {
    const app = application();
    app.mount("/shop", application({ idle: 10 }));
    const client = new Client(app);
    await client.get("/login/Ada");
    assertEquals(await client.get("/shop/user"), "Ada");
    pass(11);
    assertEquals(await client.get("/shop/user"), "nobody");
    assertEquals(await client.get("/user"), "Ada");
  });
});

/** A client that keeps cookies by name, and sends them everywhere. */
class Client {
  readonly #cookies = new Map<string, string>();

  constructor(readonly app: Engine, readonly origin = "http://localhost") {}

  /** The header that it sends; undefined without cookies. */
  get cookie(): string | undefined {
    return [...this.#cookies].map((pair) => pair.join("=")).join("; ") ||
      undefined;
  }

  set cookie(header: string | undefined) {
    this.#cookies.clear();
    for (const pair of header?.split("; ") ?? []) this.#keep(pair);
  }

  /** Requests a path: the text of the response, after its new cookies if it has some. */
  async get(path: string): Promise<string> {
    return await (await this.fetch(path)).text();
  }

  async fetch(path: string): Promise<Response> {
    const { cookie } = this;
    const headers = cookie ? { cookie } : undefined;
    const request = new Request(this.origin + path, headers && { headers });
    const response = await this.app.fetch(request);
    for (const line of response.headers.getSetCookie()) {
      const [pair] = line.split(";", 1);
      this.#keep(pair!);
      if (!line.includes("Max-Age=0")) continue;
      this.#cookies.delete(pair!.split("=", 1)[0]!);
    }
    return response;
  }

  #keep(pair: string): void {
    const [name, value] = pair.split(/=(.*)/s);
    this.#cookies.set(name!, value!);
  }
}

/** Runs work that can move the clock, by seconds. */
async function inTime(
  work: (pass: (seconds: number) => void) => Promise<void>,
): Promise<void> {
  const { now } = Date;
  let time = now();
  Date.now = () => time;
  try {
    await work((seconds) => time += seconds * 1000);
  } finally {
    Date.now = now;
  }
}

Deno.test("`sessions()` keeps values for the next requests of the client", async () => {
  const [ada, grace] = [application(), application()].map((app) =>
    new Client(app)
  );
  await ada!.get("/login/Ada");
  await grace!.get("/login/Grace");
  assertEquals(await ada!.get("/user"), "Ada");
  assertEquals(await grace!.get("/user"), "Grace");
  assertEquals(await ada!.get("/forget"), "true");
  assertEquals(await ada!.get("/user"), "nobody");
});

Deno.test("two calls of `sessions()` share one session, also after `clear()`", async () => {
  const app = new Engine();
  const options = { secret: SECRET };
  const one = sessions(app, options);
  app.clear();
  const other = sessions(app, options);
  assertThrows(() => sessions(app, { secret: OTHER }), TypeError, "cookie");
  app.route("/set", () => {
    one().set("user", "Ada");
    other().set("cart", 2);
  });
  app.route("/get", () => [other().get("user"), one().get("cart")]);
  const visitor = new Visitor(app);
  await visitor.visit("/set");
  assertEquals((await visitor.visit("/get")).text, '["Ada",2]');
  app.init();
  sessions(app, { secret: OTHER });
});

Deno.test("a session at the end of a chain is no response, and lets a request pass", async () => {
  const app = new Engine();
  const session = sessions(app, { secret: SECRET });
  app.route("/set", () => session().set("user", "Ada"));
  app.route("/renew", () => session().renew());
  app.route("/page", () => "page")
    .addMiddleware(() => session().flash("seen", true));
  for (
    const [path, text] of [["/set", ""], ["/renew", ""], ["/page", "page"]]
  ) {
    const response = await app.fetch(path!);
    assertEquals([response.status, await response.text()], [200, text], path);
  }
});

Deno.test("`sessions()` sends a cookie that scripts and other sites do not get, and caches do not keep", async () => {
  const client = new Client(application());
  const { headers } = await client.fetch("/login/Ada");
  assertMatch(
    headers.getSetCookie()[0]!,
    /^session=Fe26\.2\*[^;]+; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/,
  );
  assertEquals(headers.get("cache-control"), "private");
  assertEquals(headers.get("vary"), "Cookie");
  const secure = new Client(application({ name: "__Host-id" }), "https://a.b");
  const [line] = (await secure.fetch("/login/Ada")).headers.getSetCookie();
  assertMatch(line!, /^__Host-id=.*; Path=\/;.*; Secure$/);
});

/** What a route says of caching, and what is sent with the cookie. */
const CACHING: readonly [set: string, sent: string][] = [
  ["public, max-age=60", "max-age=60, private"],
  ["private, max-age=60", "private, max-age=60"],
  ["max-age=60 , Private", "max-age=60 , Private"],
  ['private="x-foo", max-age=60', "max-age=60, private"],
  ['private="x-foo, x-bar",,max-age=60', "max-age=60, private"],
  ['no-cache="private"', 'no-cache="private", private'],
  ['no-cache="a, private, \\"b"', 'no-cache="a, private, \\"b", private'],
  ["x-private", "x-private, private"],
];

for (const [set, sent] of CACHING) {
  Deno.test(`a cookie makes a response with \`${set}\` one with \`${sent}\``, async () => {
    const app = new Engine();
    const session = sessions(app, { secret: SECRET });
    app.route("/", () => {
      session().set("user", "ada");
      app.response().header("cache-control", set);
    });
    const { headers } = await app.fetch("/");
    assertEquals(headers.get("cache-control"), sent);
  });
}

Deno.test("`sessions()` shows nothing of a value in the cookie", async () => {
  const client = new Client(application());
  await client.get("/login/Ada-Lovelace");
  for (const part of client.cookie!.split(/[=*]/)) {
    assert(!part.includes("Lovelace"));
    const bytes = Uint8Array.from(part, (letter) => letter.charCodeAt(0));
    const text = new TextDecoder().decode(bytes);
    assert(!text.includes("Lovelace"));
    if (!/^[\w-]+$/.test(part) || part.length % 4 === 1) continue;
    const decoded = Uint8Array.fromBase64(part, { alphabet: "base64url" });
    assert(!new TextDecoder().decode(decoded).includes("Lovelace"));
  }
});

Deno.test("`sessions()` keeps a request without the cookie synchronous", () => {
  const app = application();
  for (const path of ["/user", "/notice", "/elsewhere"]) {
    const response = app.fetch(new Request(`http://localhost${path}`));
    assertInstanceOf(response, Response);
    assertEquals(response.headers.getSetCookie(), []);
  }
});

Deno.test("`sessions()` sends no cookie again while nothing has changed", async () => {
  const client = new Client(application());
  await client.get("/login/Ada");
  for (const path of ["/user", "/notice", "/elsewhere", "/nowhere"]) {
    const response = await client.fetch(path);
    await response.body?.cancel();
    assertEquals(response.headers.getSetCookie(), [], path);
  }
});

Deno.test("`sessions()` sees a value that was changed in its place", async () => {
  const client = new Client(application());
  assertEquals(await client.get("/push/1"), "[1]");
  assertEquals(await client.get("/push/2"), "[1,2]");
  assertEquals(await client.get("/push/3"), "[1,2,3]");
});

Deno.test("`sessions()` ends a session `maxAge` seconds after its start, however much it is used", async () => {
  await inTime(async (pass) => {
    const client = new Client(application({ maxAge: 100, idle: 40 }));
    await client.get("/login/Ada");
    for (const seconds of [30, 30, 30, 9.5]) {
      pass(seconds);
      assertEquals(await client.get("/user"), "Ada");
    }
    pass(0.5);
    assertEquals(await client.get("/user"), "nobody");
  });
});

Deno.test("`sessions()` ends a session `idle` seconds after its last use", async () => {
  await inTime(async (pass) => {
    const client = new Client(application({ idle: 100 }));
    await client.get("/login/Ada");
    for (const seconds of [60, 99.5, 99.5]) {
      pass(seconds);
      assertEquals(await client.get("/user"), "Ada");
    }
    pass(100);
    assertEquals(await client.get("/user"), "nobody");
  });
});

Deno.test("`sessions()` notes a use by a new cookie once a minute, and only where the session is used", async () => {
  await inTime(async (pass) => {
    const client = new Client(application());
    await client.get("/login/Ada");
    const sends = async (path: string) =>
      (await client.fetch(path)).headers.getSetCookie().length;
    pass(59);
    assertEquals(await sends("/user"), 0);
    pass(1);
    assertEquals(await sends("/elsewhere"), 0);
    assertEquals(await sends("/user"), 1);
    assertEquals(await sends("/user"), 0);
  });
});

/** Routes whose streams may read the session when the headers have been sent, and some that are not streams. */
function streaming(): Engine {
  const app = new Engine();
  const session = sessions<Values>(app, { secret: SECRET });
  const user = () => session().get("user") ?? "nobody";
  app.route("/login/@user", (user) => void session().set("user", user));
  app.route("/generator", async function* () {
    yield user();
  });
  app.route("/stream", () => ReadableStream.from([new Uint8Array(3)]));
  app.route("/text", () => "text");
  app.route("/declared", () => {
    app.response().header("content-length", 0);
    return ReadableStream.from([]);
  });
  app.route("/stopped", () => {
    app.response().events([]);
    app.stop();
  });
  app.route("/bytes", () => new Uint8Array(3));
  app.route("/response", () => new Response(ReadableStream.from([])));
  files(app, "/static", new URL("./fixtures/more", import.meta.url));
  return app;
}

/** Which responses count as a use of the session of a cookie, though no handler asks for it. */
const STREAMING: readonly [path: string, isUse: boolean][] = [
  ["/generator", true],
  ["/stream", true],
  ["/declared", true],
  ["/stopped", true],
  ["/text", false],
  ["/bytes", false],
  ["/response", false],
  ["/static/greeting.ts", false],
];

for (const [path, isUse] of STREAMING) {
  for (const prefix of ["", "/inner"]) {
    Deno.test(`the response of ${prefix}${path} is ${isUse ? "a" : "no"} use of the session`, async () => {
      await inTime(async (pass) => {
        const app = streaming();
        if (prefix !== "") app.mount(prefix, streaming());
        const client = new Client(app);
        await client.get("/login/Ada");
        pass(60);
        const response = await client.fetch(prefix + path);
        await response.text();
        const { headers } = response;
        const [line, ...others] = headers.getSetCookie();
        assertEquals([response.status, others], [200, []]);
        assertEquals(line?.startsWith("session-used=Fe26") ?? false, isUse);
        assertEquals(/cookie/i.test(headers.get("vary") ?? ""), isUse);
        assertEquals(
          /private/.test(headers.get("cache-control") ?? ""),
          isUse,
        );
      });
    });
  }
}

Deno.test("a stream for a visitor without a session is no use of one", async () => {
  const response = await streaming().fetch("/generator");
  assertEquals(await response.text(), "nobody");
  assertEquals(response.headers.get("vary"), null);
});

Deno.test("`renew()` begins the time of `maxAge` anew", async () => {
  await inTime(async (pass) => {
    const client = new Client(application({ maxAge: 100 }));
    await client.get("/login/Ada");
    pass(90);
    await client.get("/login/Ada");
    pass(90);
    assertEquals(await client.get("/user"), "Ada");
    pass(10);
    assertEquals(await client.get("/user"), "nobody");
  });
});

Deno.test("`sessions()` never lets the cookie outlive the session", async () => {
  await inTime(async (pass) => {
    const client = new Client(application({ maxAge: 100, idle: 80 }));
    const ages: string[] = [];
    for (const seconds of [0, 50, 40]) {
      pass(seconds);
      const path = client.cookie ? "/user" : "/login/Ada";
      const [line] = (await client.fetch(path)).headers.getSetCookie();
      ages.push(/Max-Age=(\d+)/.exec(line!)![1]!);
    }
    assertEquals(ages, ["100", "50", "10"]);
  });
});

Deno.test("`clear()` takes the cookie from the client", async () => {
  const client = new Client(application());
  await client.get("/login/Ada");
  const [line] = (await client.fetch("/logout")).headers.getSetCookie();
  assertStringIncludes(line!, "session=; Max-Age=0; Path=/;");
  assertEquals(client.cookie, undefined);
  const without = await client.fetch("/logout");
  assertEquals(without.headers.getSetCookie(), []);
});

Deno.test("`flash()` is read once, on the next request or a later one", async () => {
  const client = new Client(application());
  await client.get("/flash/Saved");
  assertEquals(await client.get("/user"), "nobody");
  assertEquals(await client.get("/notice"), "Saved");
  assertEquals(client.cookie, undefined);
  assertEquals(await client.get("/notice"), "nothing");
});

Deno.test("`sessions()` seals with the first secret and opens with each", async () => {
  const before = new Client(application({ secret: OTHER }));
  await before.get("/login/Ada");
  const rotated = new Client(application({ secret: [SECRET, OTHER] }));
  rotated.cookie = before.cookie;
  assertEquals(await rotated.get("/user"), "Ada");
  await rotated.get("/login/Grace");
  before.cookie = rotated.cookie;
  assertEquals(await before.get("/user"), "nobody");
  const after = new Client(application());
  after.cookie = rotated.cookie;
  assertEquals(await after.get("/user"), "Grace");
});

/** What can be done to a cookie so that it is none of ours. */
const TAMPERED: Readonly<Record<string, (cookie: string) => string>> = {
  "cut short": (cookie) => cookie.slice(0, -5),
  "without a seal": () => "session=nonsense",
  "empty": () => "session=",
  "with another ciphertext": (cookie) => {
    const parts = cookie.split("*");
    parts[4] = parts[4]!.replace(/^./, (first) => first === "A" ? "B" : "A");
    return parts.join("*");
  },
  "of another name": (cookie) => cookie,
  "with seven stars alone": () => "session=*******",
};

for (const [how, change] of Object.entries(TAMPERED)) {
  Deno.test(`\`sessions()\` takes a cookie ${how} for none, and says so under debug`, async () => {
    const name = how === "of another name" ? "other" : "session";
    const origin = new Client(application({ name }));
    await origin.get("/login/Ada");
    const client = new Client(application());
    const changed = change(origin.cookie!).replace(/^\w+=/, "session=");
    const lines = await logOf(async () => {
      client.cookie = changed;
      assertEquals(await client.get("/user"), "nobody");
      client.app.set("framework.debug", true);
      assertEquals(await client.get("/user"), "nobody");
    });
    assertEquals(lines, [
      `The cookie "session" was ignored: it has expired, or it was sealed with another secret`,
    ]);
    assertEquals(client.cookie, changed);
    await client.get("/login/Grace");
    assertEquals(await client.get("/user"), "Grace");
  });
}

Deno.test("`set()` refuses what makes the cookie too large, and keeps what was", async () => {
  const app = application();
  const session = sessions<{ text: string }>(app, {
    secret: SECRET,
    name: "large",
  });
  let message = "";
  app.route("/large/@n", (n) => {
    try {
      session().set("text", "é".repeat(Number(n)));
    } catch (error) {
      assertInstanceOf(error, RangeError);
      message = error.message;
    }
    return `${session().get("text")?.length}`;
  });
  const client = new Client(app);
  assertEquals(await client.get("/large/1300"), "1300");
  assert(client.cookie!.length <= 4096);
  assertEquals(await client.get("/large/1400"), "1300");
  assertMatch(
    message,
    /^Cannot keep the session: it takes 28\d\d bytes, but a cookie holds at most 2700$/,
  );
});

const CIRCULAR: { list: unknown[] } = { list: [] };
CIRCULAR.list.push(CIRCULAR);

/** What JSON cannot represent. */
const UNKEEPABLE: readonly unknown[] = [
  new Date(0),
  new Map(),
  Promise.resolve(),
  [undefined],
  Array(2),
  { deep: [NaN] },
  1n,
  CIRCULAR,
  () => 1,
];

Deno.test("`set()` refuses what JSON cannot represent, and keeps what was", async () => {
  const app = new Engine();
  const session = sessions(app, { secret: SECRET });
  app.route("/@index", (index) => {
    session().set("value", "before");
    assertThrows(
      () => session().set("value", UNKEEPABLE[Number(index)]),
      TypeError,
      'Cannot keep "value" in the session: JSON cannot represent ',
    );
    return session().get<"value">("value") as string;
  });
  for (const index of UNKEEPABLE.keys()) {
    assertEquals(await new Client(app).get(`/${index}`), "before");
  }
});

Deno.test("`flash()` refuses undefined as `set()` does, and keeps what was", async () => {
  const app = application();
  const session = sessions(app, { secret: SECRET });
  app.route("/undefined", () => {
    const calls = [
      () => session().set("notice", undefined),
      () => session().flash("notice", undefined),
    ];
    for (const call of calls) {
      assertThrows(
        call,
        TypeError,
        `Cannot keep "notice" in the session: JSON cannot represent undefined`,
      );
    }
  });
  const client = new Client(app);
  await client.get("/flash/Saved");
  assertEquals((await client.fetch("/undefined")).status, 200);
  assertEquals(await client.get("/notice"), "Saved");
});

Deno.test("`set()` and `flash()` refuse a key that is not a string, so that the session stays one", async () => {
  const app = application();
  const session = sessions(app, { secret: SECRET });
  app.route("/number", () => {
    const calls = [
      () => session().set(7 as never, "x"),
      () => session().flash(7 as never, "x"),
    ];
    for (const call of calls) {
      assertThrows(
        call,
        TypeError,
        "Cannot change the session: the key must be a string, got 7",
      );
    }
  });
  const client = new Client(app);
  await client.get("/login/Ada");
  assertEquals((await client.fetch("/number")).status, 200);
  assertEquals(await client.get("/user"), "Ada");
});

Deno.test("a value that grew too large in its place is an error, and the session stays as it was", async () => {
  const app = application();
  const session = sessions<{ list: string[] }>(app, {
    secret: SECRET,
    name: "grown",
  });
  app.route("/begin", () => void session().set("list", ["first"]));
  app.route("/grow", () => void session().get("list")!.push("x".repeat(3000)));
  app.route("/list", () => session().get("list")!);
  app.map("error", (error: Error) => {
    const list = session().get("list");
    app.response().write(`${error.message}: ${list}`);
  });
  const client = new Client(app);
  await client.get("/begin");
  const response = await client.fetch("/grow");
  const text = await response.text();
  assertEquals([response.status, response.headers.getSetCookie()], [500, []]);
  assertMatch(
    text,
    /^Cannot keep the session: it takes .* holds at most 2700: first$/,
  );
  assertEquals(await client.get("/list"), `["first"]`);
});

Deno.test("the cookie of the largest session with the longest name is one that clients keep", async () => {
  const app = new Engine();
  const name = "n".repeat(64);
  const session = sessions(app, { secret: SECRET, name });
  app.route("/", () => void session().set("text", "x".repeat(2682)));
  const client = new Client(app);
  await client.get("/");
  assert(client.cookie!.length <= 4096, `${client.cookie!.length}`);
});

Deno.test("a request that only reads, however slow, does not undo a logout", async () => {
  await inTime(async (pass) => {
    const app = application();
    const session = sessions<Values>(app, { secret: SECRET, name: "slow" });
    const { promise, resolve } = Promise.withResolvers<void>();
    app.route("/in", () => void session().set("user", "Ada"));
    app.route("/out", () => session().clear());
    app.route("/read", () => session().get("user") ?? "nobody");
    app.route("/slow", async () => {
      await promise;
      return session().get("user")!;
    });
    const client = new Client(app);
    await client.get("/in");
    pass(1000);
    const slow = client.fetch("/slow");
    await client.get("/out");
    resolve();
    const response = await slow;
    assertEquals(await response.text(), "Ada");
    const [line, ...others] = response.headers.getSetCookie();
    assertMatch(line!, /^slow-used=Fe26/);
    assertEquals(others, []);
    assertEquals(await client.get("/read"), "nobody");
  });
});

Deno.test("the cookie of the last use is worth nothing with another session, or alone", async () => {
  await inTime(async (pass) => {
    const app = application({ idle: 100 });
    const [ada, grace] = [new Client(app), new Client(app)];
    await ada.get("/login/Ada");
    await grace.get("/login/Grace");
    const early = ada.cookie!;
    pass(90);
    await ada.get("/user");
    await grace.get("/user");
    pass(90);
    const [, use] = grace.cookie!.split("; ");
    for (const cookie of [use!, `${early}; ${use}`, early]) {
      const thief = new Client(app);
      thief.cookie = cookie;
      assertEquals(await thief.get("/user"), "nobody");
    }
    assertEquals(await ada.get("/user"), "Ada");
  });
});

Deno.test("two applications of one host do not log each other out", async () => {
  const [shop, blog] = ["/shop", "/blog"].map((base) => {
    const app = application();
    app.set("framework.base_url", base);
    return app;
  });
  const visitor = new Visitor({
    fetch: (request) =>
      (request.url.includes("/shop/") ? shop! : blog!).fetch(request),
  });
  await visitor.visit("/shop/login/Ada");
  await visitor.visit("/blog/login/Grace");
  assertEquals((await visitor.visit("/shop/user")).text, "Ada");
  await visitor.visit("/shop/logout");
  assertEquals((await visitor.visit("/blog/user")).text, "Grace");
});

Deno.test("`clear()` takes both cookies from the client", async () => {
  await inTime(async (pass) => {
    const client = new Client(application());
    await client.get("/login/Ada");
    pass(60);
    await client.get("/user");
    const lines = (await client.fetch("/logout")).headers.getSetCookie();
    const names = lines.map((line) => line.split(";", 1)[0]);
    assertEquals(names, ["session=", "session-used="]);
    assertEquals(client.cookie, undefined);
  });
});

Deno.test("`sessions()` reads the cookies that exist", async () => {
  const now = Date.now() / 1000;
  const [values, flashes] = [[["user", "Ada"]], [["notice", "Hi"]]];
  const content = ["session", "an-id", now - 100, now - 9, values, flashes];
  const client = new Client(application());
  client.cookie = `session=${await seal(content, SECRET, defaults)}`;
  assertEquals(await client.get("/user"), "Ada");
  assertEquals(await client.get("/notice"), "Hi");
  const sealed = client.cookie!.slice("session=".length);
  const [name, id, started, used, ...others] = await unseal(
    sealed,
    SECRET,
    defaults,
  ) as unknown[];
  assertEquals([name, id, started], ["session", "an-id", now - 100]);
  assertEquals(others, [values, []]);
  assert(Number(used) >= now);
});

/** What other programs seal with the same secret. */
const FOREIGN: readonly unknown[] = [
  { user: "Ada" },
  null,
  "text",
  [],
  ["session"],
  ["session", "id", 1, 2],
  ["session", "id", "1", "2", [], []],
  ["session", "id", Date.now(), Date.now(), [1], [[2, 3]]],
  ["session", "id", Date.now(), Date.now(), {}, null],
];

Deno.test("a cookie that another program has sealed with the same secret is no session", async () => {
  for (const content of FOREIGN) {
    const client = new Client(application());
    client.cookie = `session=${await seal(content, SECRET, defaults)}`;
    const response = await client.fetch("/user");
    const text = await response.text();
    const shown = Deno.inspect(content);
    assertEquals([response.status, text], [200, "nobody"], shown);
    await client.get("/login/Grace");
    assertEquals(await client.get("/user"), "Grace");
  }
});

/** The base of an application, its options, and the path of its cookies. */
const COOKIE_PATHS: readonly [
  base: string | null,
  options: Partial<SessionOptions>,
  path: string,
][] = [
  [null, {}, "/"],
  ["/shop", {}, "/shop"],
  ["https://site.example/shop/", {}, "/shop"],
  ["/größe", {}, "/gr%C3%B6%C3%9Fe"],
  ["/shop", { path: "/" }, "/"],
  ["/shop", { path: "/shop/admin" }, "/shop/admin"],
  ["/shop", { name: "__Host-id" }, "/"],
];

for (const [base, options, path] of COOKIE_PATHS) {
  Deno.test(`\`sessions()\` below ${base} with ${Deno.inspect(options)} sends cookies for ${path}`, async () => {
    const app = application(options);
    app.set("framework.base_url", base);
    const client = new Client(app);
    for (const route of ["/login/Ada", "/logout"]) {
      const [line] = (await client.fetch(route)).headers.getSetCookie();
      assertEquals(/; Path=([^;]*);/.exec(line!)![1], path);
    }
  });
}

Deno.test("a `framework.base_url` that is no path for a cookie is an error, and adds no attribute to it", async () => {
  const app = application();
  app.set("framework.base_url", "/shop;Domain=evil.example");
  const lines = await logOf(async () => {
    const { status, headers } = await app.fetch("/login/Ada");
    assertEquals([status, headers.getSetCookie()], [500, []]);
  });
  assertStringIncludes(
    lines.join("\n"),
    `Cannot send the cookie of the session: "/shop;Domain=evil.example" is not a valid cookie path; pass the option "path"`,
  );
});

Deno.test("the option `path` makes up for a `framework.base_url` that is no path for a cookie", async () => {
  const app = application({ path: "/" });
  app.set("framework.base_url", "/shop;Domain=evil.example");
  const [line] = (await app.fetch("/login/Ada")).headers.getSetCookie();
  assertStringIncludes(line!, "; Path=/; HttpOnly");
});

/** What changes a session, by name. */
const CHANGES: Record<string, (session: Session) => unknown> = {
  "set()": (session) => session.set("user", "Grace"),
  "clear()": (session) => session.clear(),
  "renew()": (session) => session.renew(),
  "flash()": (session) => session.flash("notice", "Hello"),
};

/** A store in memory. */
function inMemory(): SessionStore {
  const rows = new Map<string, Record<string, unknown>>();
  return {
    read: (id) => rows.get(id),
    write: (id, values) => void rows.set(id, values),
    remove: (id) => void rows.delete(id),
  };
}

for (const options of [{}, { store: inMemory() }]) {
  const place = "store" in options ? "a store" : "its cookie";
  Deno.test(`a session in ${place} cannot be changed after the response, only read`, async () => {
    const app = new Engine();
    const session = sessions(app, { secret: SECRET, ...options });
    const outcomes: unknown[] = [];
    const change = (name: string): void => {
      const error = assertThrows(() => CHANGES[name]!(session()), Error);
      outcomes.push([error.message, session().get("user")]);
    };
    app.route("/login", () => void session().set("user", "Ada"));
    app.route("/used/@name", (name) => {
      session().get("user");
      app.defer(() => change(name));
    });
    app.route("/defer/@name", (name) => app.defer(() => change(name)));
    app.route("/stream/@name", async function* (name) {
      yield "Bye";
      change(name);
    });
    const member = new Client(app);
    await member.get("/login");
    for (const name of Object.keys(CHANGES)) {
      for (const when of ["used", "defer", "stream"]) {
        for (const client of [member, new Client(app)]) {
          await client.get(`/${when}/${name}`);
          await settled(app);
        }
        const why =
          "Cannot change the session: the response has already been made";
        const expected = [[why, "Ada"], [why, undefined]];
        assertEquals(outcomes.splice(0), expected, `${when} ${name}`);
      }
    }
  });
}

Deno.test("the page of a refused request finds an empty session, and cannot change that of the cookie", async () => {
  const app = application();
  const session = sessions(app, { secret: SECRET });
  let problem = "";
  app.map("error", () => {
    const user = session().get("user");
    const notice = session().flash("notice");
    try {
      session().set("user", "Grace");
    } catch (error) {
      problem = (error as Error).message;
    }
    return `${user} ${notice}`;
  });
  const client = new Client(app);
  await client.get("/login/Ada");
  assertEquals(await client.get("/%zz"), "undefined undefined");
  assertStringIncludes(problem, "it is not open yet, or the request was");
  assertEquals(await client.get("/user"), "Ada");
});

Deno.test("a filter before `sessions()` finds an empty session, and takes nothing from what is behind it", async () => {
  const app = new Engine();
  const early: unknown[] = [];
  // One that was added later could not run before the session opens.
  app.before("start", () => void early.push(session().get("user")));
  const session = sessions<Values>(app, { secret: SECRET });
  app.route("/login", () => void session().set("user", "Ada"));
  app.route("/user", () => session().get("user") ?? "nobody");
  app.route("/rename", () => `${session().set("user", "Bob").get("user")}`);
  const visitor = new Visitor(app);
  await visitor.visit("/login");
  assertEquals((await visitor.visit("/user")).text, "Ada");
  assertEquals((await visitor.visit("/rename")).text, "Bob");
  assertEquals(early, [undefined, undefined, undefined]);
});

Deno.test("a session that a later filter of `send` reads makes the response vary by the cookie", async () => {
  const app = new Engine();
  const session = sessions<Values>(app, { secret: SECRET });
  app.after("send", (_params, { value }) => {
    value.headers.set("x-user", `${session().get("user")}`);
  });
  app.route("/login", () => void session().set("user", "Ada"));
  app.route("/page", () => {
    app.response().cache(60);
    return "page";
  });
  const visitor = new Visitor(app);
  await visitor.visit("/login");
  const { response: { headers } } = await visitor.visit("/page");
  assertEquals([headers.get("x-user"), headers.get("vary")], ["Ada", "Cookie"]);
});

Deno.test("behind a cookie of no session, filters of `start` that were added later run", async () => {
  const app = new Engine();
  sessions(app, { secret: SECRET });
  app.before("start", () => app.halt(401));
  app.route("/", () => "secret");
  for (const headers of [{}, { cookie: "session=expired" }]) {
    const request = new Request("http://localhost/", { headers });
    assertEquals((await app.fetch(request)).status, 401);
  }
});

Deno.test("keys that objects have anyway are keys like any other", async () => {
  const app = new Engine();
  const session = sessions(app, { secret: SECRET });
  app.route("/set", () => void session().set("__proto__", { a: 1 }));
  app.route("/get", () => [
    session().get("__proto__"),
    session().has("constructor"),
    session().flash("toString") ?? null,
  ]);
  const client = new Client(app);
  await client.get("/set");
  assertEquals(await client.get("/get"), `[{"a":1},false,null]`);
});

Deno.test("the sessions of interleaved requests do not touch each other", async () => {
  const app = new Engine();
  const session = sessions<{ user: string }>(app, { secret: SECRET });
  app.route("/@user", async (user) => {
    const before = session().get("user") ?? "nobody";
    session().set("user", user);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
    return `${before} ${session().get("user")}`;
  });
  const clients = Array.from({ length: 20 }, () => new Client(app));
  for (const round of ["a", "b"]) {
    const texts = await Promise.all(
      clients.map((client, index) => client.get(`/${round}${index}`)),
    );
    assertEquals(
      texts,
      clients.map((_, index) =>
        `${round === "a" ? "nobody" : `a${index}`} ${round}${index}`
      ),
    );
  }
});

Deno.test("`sessions()` works with a real client over a socket", async () => {
  const app = application();
  await using server = app.start({ port: 0, signals: false });
  const { port } = server.addr as Deno.NetAddr;
  const login = await fetch(`http://127.0.0.1:${port}/login/Ada`);
  await login.body?.cancel();
  const [cookie] = login.headers.getSetCookie()[0]!.split(";");
  const user = await fetch(`http://127.0.0.1:${port}/user`, {
    headers: { cookie: `a=b; ${cookie}` },
  });
  assertEquals(await user.text(), "Ada");
  assertNotEquals(cookie, "session=");
});

/** Options that are refused, and why. */
const REFUSED: readonly [Partial<SessionOptions>, string][] = [
  [{ secret: "too short" }, "each secret must have at least 32 characters"],
  [{ secret: [] }, "each secret must have at least 32 characters"],
  [{ secret: [SECRET, "x"] }, "each secret must have at least 32 characters"],
  [
    { secret: undefined as unknown as string },
    "each secret must have at least 32 characters, but one is undefined: is its environment variable set?",
  ],
  [{ maxAge: 0 }, `"maxAge" and "idle" must be greater than 0 seconds`],
  [{ idle: NaN }, `"maxAge" and "idle" must be greater than 0 seconds`],
  [{ maxAge: "60" as never }, 'must be greater than 0 seconds, got "60"'],
  [{ idle: "60" as never }, 'must be greater than 0 seconds, got "60"'],
  [
    { maxAge: 1e21 },
    '"maxAge" must be at most 1000000000000 seconds, got 1e+21',
  ],
  [{ name: "a b" }, `"a b" is not a valid cookie name`],
  [{ name: "" }, `"" is not a valid cookie name`],
  [{ path: "shop" }, `"shop" is not a valid cookie path`],
  [{ path: "/a;b" }, `"/a;b" is not a valid cookie path`],
  [{ name: "__Host-id", path: "/shop" }, `must be "/", got "/shop"`],
  [{ store: {} as SessionStore }, `the store has no method "read"`],
];

for (const [options, message] of REFUSED) {
  Deno.test(`\`sessions()\` refuses ${Deno.inspect(options)}`, () => {
    assertThrows(() => application(options), TypeError, message);
  });
}

for (const options of [{}, { store: inMemory() }]) {
  const place = "store" in options ? "a store" : "its cookie";
  Deno.test(`two calls of \`sessions()\` with the same options share one session in ${place}`, async () => {
    const app = new Engine();
    const call = () => sessions(app, { secret: SECRET, ...options });
    const [login, basket] = [call(), call()];
    app.route("/login", () => void login().set("user", "Ada"));
    app.route("/buy", () => {
      login().set("paid", true);
      basket().set("item", "tea");
    });
    app.route("/show", () => [login().get("user"), basket().get("item")]);
    app.route("/logout", () => basket().clear());
    const client = new Client(app);
    await client.get("/login");
    const { headers } = await client.fetch("/buy");
    assert(headers.getSetCookie().length <= 1);
    assertEquals(await client.get("/show"), `["Ada","tea"]`);
    await client.get("/logout");
    assertEquals(client.cookie, undefined);
  });
}

Deno.test("two calls of `sessions()` share one session however their options are written", () => {
  const app = new Engine();
  sessions(app, { secret: SECRET, path: "/", idle: 10 });
  sessions(app, { idle: 10, path: "/", secret: [SECRET] });
});

Deno.test("a second call of `sessions()` with other options under the same cookie is refused, until `init()`", async () => {
  const app = application();
  const others = [
    { secret: OTHER },
    { maxAge: 10 },
    { idle: 10 },
    { path: "/shop" },
    { store: inMemory() },
  ];
  for (const options of others) {
    assertThrows(
      () => sessions(app, { secret: SECRET, ...options }),
      TypeError,
      `the application keeps some in the cookie "session" with other options`,
    );
  }
  app.init();
  const session = sessions(app, { secret: OTHER });
  app.route("/", () => `${session().renew().set("user", "Ada").has("user")}`);
  assertEquals(await new Client(app).get("/"), "true");
});

for (const [first, second] of [["s", "s-used"], ["s-used", "s"]]) {
  Deno.test(`\`sessions()\` refuses the name ${second} beside ${first}, since the two would share a cookie`, () => {
    const app = application({ name: first! });
    assertThrows(
      () => sessions(app, { secret: SECRET, name: second! }),
      TypeError,
      `Cannot keep sessions: the cookie "s-used" keeps when those in "s" were last used; pass another "name"`,
    );
    sessions(app, { secret: SECRET, name: "other" });
  });
}

Deno.test("an engine that is asked by another one, and not mounted, does not share its session", async () => {
  const inner = application();
  const app = application();
  app.route("/ask", () => {
    app.request();
    return inner.fetch("/user");
  });
  const visitor = new Visitor(app);
  await visitor.visit("/login/Ada");
  assertEquals((await visitor.visit("/user")).text, "Ada");
  assertEquals((await visitor.visit("/ask")).text, "nobody");
});

Deno.test("a session is the same one after another router was registered", async () => {
  const app = new Engine();
  const options = { secret: SECRET };
  const one = sessions<Values>(app, options);
  app.register("router", class extends Router {});
  const two = sessions<Values>(app, options);
  app.route("/", () => {
    one().set("count", 1);
    return `${two().get("count")}`;
  });
  assertEquals(await (await app.fetch("/")).text(), "1");
  const other = () => sessions(app, { ...options, idle: 5 });
  assertThrows(other, TypeError, "with other options");
});

Deno.test("a session that `init()` has dropped throws where it is used", async () => {
  const app = new Engine();
  const session = sessions<Values>(app, { secret: SECRET });
  app.init();
  app.map("error", (error: Error) => error.message);
  app.route("/", () => `${session().get("count")}`);
  assertEquals(
    await (await app.fetch("/")).text(),
    "Cannot use the session: the application was reset since; call sessions() again",
  );
});

Deno.test("a mounted engine shares the session of one with a request class of its own", async () => {
  const [app, engine] = [new Engine(), new Engine()];
  app.register("request", class extends HttpRequest {});
  const options = { secret: SECRET };
  const [outer, inner] = [
    sessions<Values>(app, options),
    sessions<Values>(engine, options),
  ];
  app.before("start", () => void outer().set("user", "ada"));
  engine.route("/", () => {
    inner().set("count", 1);
    return `${inner().get("user")}`;
  });
  app.mount("/in", engine);
  const response = await app.fetch("/in");
  assertEquals(await response.text(), "ada");
  assertEquals(response.headers.getSetCookie().length, 1);
});
