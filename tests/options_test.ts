/** Tests that options with an unknown name are refused where they are given, and what is no record. */

import { Engine, type StartOptions } from "@framework/core";
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
