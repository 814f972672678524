/** Tests that options with an unknown name are refused where they are given, and what is no record. */

import {
  Engine,
  HttpError,
  HttpResponse,
  type StartOptions,
} from "@framework/core";
import { cors } from "@framework/core/cors";
import { files } from "@framework/core/files";
import { guard } from "@framework/core/guard";
import { limit } from "@framework/core/limit";
import { log } from "@framework/core/log";
import { sessions } from "@framework/core/sessions";
import { assertIsolated, Visitor } from "@framework/core/testing";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";

const secret = "x".repeat(32);

class Posts {
  index(): void {}
}

/** What takes options, given as code without types gives them: a right one, a misspelled one, and the message. */
const TAKERS: readonly [
  name: string,
  take: (app: Engine, options: never) => unknown,
  right: Record<string, unknown>,
  wrong: Record<string, unknown>,
  message: string,
][] = [
  [
    "resource()",
    (app, options) => app.router().resource("/posts", Posts, options),
    { only: ["index"] },
    { only: ["index"], exept: ["store"] },
    'Cannot make the resource "/posts": there is no option "exept": did you mean "except"?',
  ],
  [
    "guard()",
    guard,
    { trusted: [] },
    { trustd: [] },
    'Cannot guard the application: there is no option "trustd": did you mean "trusted"?',
  ],
  [
    "sessions()",
    sessions,
    { secret },
    { secret, maxage: 60 },
    'Cannot keep sessions: there is no option "maxage": did you mean "maxAge"?',
  ],
  [
    "limit()",
    limit,
    { requests: 1, seconds: 1 },
    { requests: 1, seconds: 1, by: () => "" },
    'Cannot limit requests: there is no option "by": it takes "requests", "seconds", "key", "store"',
  ],
  [
    "files()",
    (app, options) => files(app, "/", ".", options),
    { index: "index.html" },
    { cachecontrol: "no-store" },
    'Cannot serve files: there is no option "cachecontrol": did you mean "cacheControl"?',
  ],
  [
    "log()",
    log,
    { write: () => {} },
    { secret: /token/ },
    'Cannot log requests: there is no option "secret": did you mean "secrets"?',
  ],
  [
    "cors()",
    cors,
    { origins: [] },
    { origins: [], credential: true },
    'Cannot allow origins: there is no option "credential": did you mean "credentials"?',
  ],
  [
    "new Visitor()",
    (app, options) => new Visitor(app, options),
    { headers: {} },
    { header: {} },
    'Cannot make a visitor: there is no option "header": did you mean "headers"?',
  ],
  [
    "cookie()",
    (_app, options) => new HttpResponse().cookie("s", "1", options),
    { sameSite: "Strict" },
    { samesite: "Strict" },
    'Cannot set the cookie "s": there is no option "samesite": did you mean "sameSite"?',
  ],
];

for (const [name, take, right, wrong, message] of TAKERS) {
  Deno.test(`\`${name}\` refuses options with an unknown name, and what is no record`, () => {
    take(new Engine(), right as never);
    for (const options of [wrong, { ...right, ...wrong }]) {
      assertThrows(
        () => take(new Engine(), options as never),
        TypeError,
        message,
      );
    }
    for (const options of [null, 5, [right], () => right, new Headers()]) {
      assertThrows(
        () => take(new Engine(), options as never),
        TypeError,
        "the options must be a record, got",
      );
    }
  });
}

Deno.test("`guard()`, `log()` and `files()` take undefined for no options", () => {
  const app = new Engine();
  guard(app, undefined);
  log(app, undefined);
  files(app, "/", ".", undefined);
});

Deno.test("`limit()` refuses a key that is no function, and a store that cannot count", () => {
  const others = [
    [{ key: "ip" }, "the key must be a function"],
    [{ store: {} }, 'the store must have a method "add"'],
    [{ store: null }, 'the store must have a method "add"'],
  ] as const;
  for (const [options, message] of others) {
    const given = { requests: 1, seconds: 1, ...options } as never;
    assertThrows(() => limit(new Engine(), given), TypeError, message);
  }
});

Deno.test("`files()` refuses options that are no text", () => {
  for (const options of [{ cacheControl: 600 }, { index: true }]) {
    const [name] = Object.keys(options);
    assertThrows(
      () => files(new Engine(), "/", ".", options as never),
      TypeError,
      `Cannot serve files: "${name}" must be text, got `,
    );
  }
});

Deno.test("`events()` refuses an unknown option", async () => {
  const app = new Engine();
  app.map("error", (error: Error) => error.message);
  const options = { heartBeat: 5 } as never;
  app.route("/", () => app.response().events([], options));
  assertEquals(
    await (await app.fetch("/")).text(),
    'Cannot send events: there is no option "heartBeat": did you mean "heartbeat"?',
  );
});

Deno.test("`assertIsolated()` refuses an unknown option", async () => {
  await assertRejects(
    () => assertIsolated(new Engine(), ["/"], { round: 1 } as never),
    TypeError,
    'Cannot compare requests: there is no option "round": did you mean "rounds"?',
  );
});

Deno.test("`start()` refuses what is no record of options, and `host`", () => {
  for (const options of [8080, "8080", null, [8080], () => {}]) {
    assertThrows(
      () => new Engine().start(options as StartOptions),
      TypeError,
      "Cannot start the server: the options must be a record such as { port: 8080 }, got",
    );
  }
  const options = { host: "0.0.0.0", port: 0 };
  assertThrows(
    () => new Engine().start(options),
    TypeError,
    'Cannot start the server: there is no option "host": did you mean "hostname"?',
  );
});

Deno.test("`start()` takes options with names that it does not know", async () => {
  const options = { port: 0, name: "shop", host: undefined, onListen() {} };
  const server = new Engine().start(options);
  await server.shutdown();
});

/** Calls that had a part of what they were given ignored, with the messages that say so now. */
const REFUSED: readonly [call: (app: Engine) => unknown, message: string][] = [
  [
    () => new HttpResponse().cookie("s", "1", { secure: "false" as never }),
    'Cannot set the cookie "s": secure must be true or false, got the string "false"',
  ],
  [
    () => new HttpError(503, "", { header: {} } as never),
    'Cannot make an HttpError: there is no option "header": did you mean "headers"?',
  ],
  [
    () => new HttpError(503, "", "no-store" as never),
    'Cannot make an HttpError: the options must be a record, got the string "no-store"',
  ],
  [
    (app) => (app.mount as Method)("/inner", new Engine(), [() => false]),
    "Cannot mount an application with middleware: mount it in a group() that has the middleware",
  ],
  [
    (app) => (app.before as Method).call(app, "start", () => {}, () => {}),
    "Cannot call before() with several filters: call it once for each",
  ],
  [
    (app) => (app.after as Method).call(app, "send", () => {}, () => {}),
    "Cannot call after() with several filters: call it once for each",
  ],
  [
    (app) => log(app, { write: "file" as never }),
    'Cannot log requests: "write" must be a function, got the string "file"',
  ],
  [
    (app) => log(app, { secrets: "token" as never }),
    'Cannot log requests: "secrets" must be a regular expression, got the string "token"',
  ],
  [
    (app) => files(app, "GET /public", "."),
    'Cannot serve files: the prefix must name no method, got the string "GET /public"',
  ],
  [
    (app) => app.fetch("/", { method: "POST" } as never),
    "Cannot fetch with options: pass a new Request(url, options)",
  ],
  [
    (app) => app.set(["a"] as never),
    "Cannot set variables: the first argument must be a name, or a record of values by name, got",
  ],
  [
    (app) => app.view().set(5 as never),
    "Cannot set variables of the view: the first argument must be a name, or a record of values by name, got 5",
  ],
  [
    (app) => {
      app.route("/", () => {}, false, "home");
      app.getUrl("home", {}, new URLSearchParams("a=1") as never);
    },
    "Cannot make the query of a URL: it must be a record of values by name, got",
  ],
];

type Method = (...params: unknown[]) => unknown;

for (const [call, message] of REFUSED) {
  Deno.test(`nothing is ignored: ${message}`, () => {
    assertThrows(() => call(new Engine()), TypeError, message);
  });
}

Deno.test("`json()` refuses an indentation that is no number", async () => {
  const app = new Engine();
  app.map("error", (error: Error) => error.message);
  const indentation = "x" as never;
  app.route("/", () => app.json({ a: 1 }, 200, true, "utf8", indentation));
  assertEquals(
    await (await app.fetch("/")).text(),
    'Cannot send JSON: the option must be how many spaces indent a level, got the string "x"',
  );
});

Deno.test("`start()` refuses names of options that are mistaken, and hooks that are none", () => {
  const options: readonly [Record<string, unknown>, string][] = [
    [{ certFile: "c" }, 'there is no option "certFile": did you mean "cert"?'],
    [{ keyFile: "k" }, 'there is no option "keyFile": did you mean "key"?'],
    [{ onShutdown: "x" }, "onShutdown must be a function"],
    [{ signals: "no" }, "signals must be true or false"],
  ];
  for (const [given, message] of options) {
    const start = () => new Engine().start(given as StartOptions);
    assertThrows(start, TypeError, `Cannot start the server: ${message}`);
  }
});

Deno.test("`upgrade()` refuses an unknown option", async () => {
  const app = new Engine();
  app.map("error", (error: Error) => error.message);
  const options = { idleTimeot: 1 } as never;
  app.route("/", () => app.request().upgrade(options).response);
  assertEquals(
    await (await app.fetch("/")).text(),
    'Cannot make a WebSocket: there is no option "idleTimeot": did you mean "idleTimeout"?',
  );
});
