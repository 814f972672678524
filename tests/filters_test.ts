/** Mapped methods and the filters around them, on both forms of an application. */

import { Engine } from "@framework/core";
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { type App, call, onBothForms, onEngine, visit } from "./forms.ts";

const CORE = [
  "map",
  "register",
  "before",
  "after",
  "path",
  "get",
  "set",
  "has",
  "clear",
  "init",
  "app",
  "configure",
];

/** Maps a method that returns the parameters it was given. */
function mapEcho(app: App): void {
  app.map("echo", (...params: unknown[]) => params.join(" "));
}

onBothForms("`map()` makes a method that is called by its name", (app) => {
  app.map("add", (a: number, b: number) => a + b);
  assertEquals(call(app, "add", 2, 3), 5);
});

onEngine("`map()` takes a method of an object and of a class", (app) => {
  class Counter {
    static start = 5;
    count = 0;
    next() {
      return ++this.count;
    }
    static first() {
      return this.start;
    }
  }
  const counter = new Counter();
  app.map("next", [counter, "next"]);
  app.map("made", [Counter, "next"]);
  app.map("first", [Counter, "first"]);
  assertEquals([call(app, "next"), call(app, "next")], [1, 2]);
  assertEquals([call(app, "made"), call(app, "made")], [1, 1]);
  assertEquals(call(app, "first"), 5);
});

onEngine(
  "`map()` with `passRoute` gives the method the matched route last",
  async (app) => {
    app.map("where", (...params: unknown[]) => params, true);
    app.route("/user/@name", () => {
      const [greeting, route] = call(app, "where", "hello");
      return [greeting, route.pattern, route.params];
    });
    assertEquals(await (await visit(app, "/user/ada")).json(), [
      "hello",
      "/user/@name",
      { name: "ada" },
    ]);
    assertEquals(call(app, "where", "hello"), ["hello", null]);
  },
);

onEngine(
  "`map()` replaces a default method, and the framework calls the new one",
  async (app) => {
    app.map("notFound", () => "nothing here");
    const response = await visit(app, "/");
    assertEquals([response.status, await response.text()], [
      404,
      "nothing here",
    ]);
  },
);

onEngine("`map()` replaces the way a request is handled", async (app) => {
  app.map("start", () => app.response().write(`all of ${app.request().url}`));
  assertEquals(await (await visit(app, "/x")).text(), "all of /x");
});

onBothForms(
  "`original()` is the framework's own method for an override to call",
  async (app) => {
    app.map(
      "json",
      (data: unknown, ...rest: unknown[]) =>
        app.original("json")({ data }, ...rest),
    );
    app.route("/", () => app.json([1], 201));
    const response = await visit(app, "/");
    assertEquals([response.status, await response.json()], [201, {
      data: [1],
    }]);
  },
);

onEngine(
  "`original()` of another name is an error with the near ones",
  (app) => {
    assertThrows(
      () => app.original("jason"),
      TypeError,
      'Cannot call the original of "jason": there is no such method: did you mean "json"',
    );
  },
);

onBothForms(
  "core methods can be neither mapped nor registered over nor filtered",
  (app) => {
    for (const name of CORE) {
      const message = `"${name}": it is a core method`;
      assertThrows(
        () => app.map(name, () => 0),
        TypeError,
        `Cannot map ${message}`,
      );
      assertThrows(
        () => app.register(name, Map),
        TypeError,
        `Cannot register ${message}`,
      );
      assertThrows(() => app.before(name, () => {}), TypeError, message);
      assertThrows(() => app.after(name, () => {}), TypeError, message);
    }
  },
);

onEngine("a member of an engine that `map()` accepts is replaced", (app) => {
  const names = Object.getOwnPropertyNames(Engine.prototype);
  const accepted = names.filter((name) => {
    try {
      app.map(name, () => `my ${name}`);
      return true;
    } catch {
      return false;
    }
  });
  for (const name of ["halt", "json", "request"]) {
    assert(accepted.includes(name));
  }
  for (const name of accepted) {
    if (name === "start") continue; // `start()` listens; the mapped one runs for each request
    assertEquals(call(app, name), `my ${name}`);
  }
});

onEngine(
  "names that are taken by JavaScript or the framework cannot be given",
  (app) => {
    const names = [
      ...[
        "then",
        "constructor",
        "prototype",
        "toJSON",
        "__proto__",
        "toString",
      ],
      ...["name", "length", "call", "apply", "bind", "hasOwnProperty"],
      ...["fetch", "original", "default", "onListen", ""],
    ];
    for (const name of names) {
      assertThrows(() => app.map(name, () => 0), TypeError, "Cannot map");
      assertThrows(() => app.register(name, Map), TypeError, "Cannot register");
    }
  },
);

onEngine("`map()` refuses what is no callback", (app) => {
  for (const callback of [undefined, null, 5, "text", class {}, [{}, "none"]]) {
    assertThrows(
      () => app.map("x", callback),
      TypeError,
      "Cannot make the method",
    );
  }
});

onBothForms(
  "filters change the parameters that the method gets, and the text it returns",
  (app) => {
    app.map("hello", (name: string) => `Hello, ${name}!`);
    app.before("hello", (params) => {
      params[0] = "Fred";
    });
    app.after("hello", (_params, output) => {
      output.value += " Have a nice day!";
    });
    assertEquals(call(app, "hello", "Bob"), "Hello, Fred! Have a nice day!");
  },
);

onEngine(
  "filters run in the order of their declaration, around the method",
  (app) => {
    const log: string[] = [];
    const logged = (text: string) => () => void log.push(text);
    app.map("work", logged("work"));
    app.after("work", logged("after 1"));
    app.before("work", logged("before 1"));
    app.before("work", logged("before 2"));
    app.after("work", logged("after 2"));
    call(app, "work");
    assertEquals(log, ["before 1", "before 2", "work", "after 1", "after 2"]);
  },
);

onEngine(
  "`false` from a before filter ends the before filters alone",
  (app) => {
    mapEcho(app);
    app.before("echo", (params) => (params.push("1"), false));
    app.before("echo", (params) => params.push("2"));
    app.after("echo", (_params, output) => void (output.value += " 3"));
    assertEquals(call(app, "echo", "0"), "0 1 3");
  },
);

onEngine("`false` from an after filter ends the after filters", (app) => {
  mapEcho(app);
  app.after("echo", (_params, output) => (output.value += " 1", false));
  app.after("echo", (_params, output) => void (output.value += " 2"));
  assertEquals(call(app, "echo", "0"), "0 1");
});

onEngine("only `false` itself ends a chain", (app) => {
  mapEcho(app);
  for (const result of [0, "", null, undefined, NaN, true]) {
    app.before("echo", (params) => (params.push("x"), result));
  }
  assertEquals(call(app, "echo"), "x x x x x x");
});

onEngine(
  "the output of a before filter gives way to the method's result",
  (app) => {
    mapEcho(app);
    app.before("echo", (_params, output) => void (output.value = "early"));
    assertEquals(call(app, "echo", "result"), "result");
  },
);

onEngine("after filters see the parameters as they were changed", (app) => {
  mapEcho(app);
  app.before("echo", (params) => params.push("more"));
  app.after("echo", (params, output) => void (output.value = params.length));
  assertEquals(call(app, "echo", "one"), 2);
});

onEngine("filters survive mapping the method anew", (app) => {
  mapEcho(app);
  app.after("echo", (_params, output) => void (output.value += "!"));
  app.map("echo", () => "new");
  assertEquals(call(app, "echo"), "new!");
});

onEngine(
  "filters of a default method run, whoever calls it",
  async (app) => {
    app.before("json", (params) => void (params[0] = { wrapped: params[0] }));
    app.after("notFound", () => void app.response().header("x-seen", "yes"));
    app.route("/called", () => app.json([1]));
    app.route("/returned", () => [1]);
    for (const path of ["/called", "/returned"]) {
      assertEquals(await (await visit(app, path)).json(), { wrapped: [1] });
    }
    assertEquals((await visit(app, "/none")).headers.get("x-seen"), "yes");
  },
);

onEngine("filters of `start` run around every request", async (app) => {
  const log: string[] = [];
  app.before("start", () => void log.push(`before ${app.request().url}`));
  app.after("start", () => void log.push("after"));
  app.route("/a", () => void log.push("a"));
  await visit(app, "/a");
  await visit(app, "/b");
  assertEquals(log, ["before /a", "a", "after", "before /b", "after"]);
});

onEngine(
  "a synchronous method with synchronous filters returns at once",
  (app) => {
    mapEcho(app);
    app.before("echo", () => {});
    app.after("echo", () => {});
    assertEquals(call(app, "echo", "now"), "now");
  },
);

onEngine(
  "one asynchronous part makes the call a promise, and the order stays",
  async (app) => {
    const parts = ["before", "method", "after"] as const;
    for (const slow of parts) {
      const log: string[] = [];
      const part = (name: string) => () =>
        name === slow
          ? Promise.resolve().then(() => void log.push(name))
          : void log.push(name);
      app.map(`slow_${slow}`, part("method"));
      app.before(`slow_${slow}`, part("before"));
      app.after(`slow_${slow}`, part("after"));
      const outcome = call(app, `slow_${slow}`);
      assertInstanceOf(outcome, Promise);
      await outcome;
      assertEquals(log, [...parts]);
    }
  },
);

onEngine(
  "`false` from an asynchronous filter ends its chain",
  async (app) => {
    mapEcho(app);
    app.before("echo", () => Promise.resolve(false));
    app.before("echo", (params) => params.push("never"));
    assertEquals(await call(app, "echo", "only"), "only");
  },
);

onEngine(
  "what a filter or method throws reaches the caller, and skips the rest",
  async (app) => {
    const log: string[] = [];
    mapEcho(app);
    app.before("echo", () => {
      throw new RangeError("too far");
    });
    app.after("echo", () => log.push("after"));
    assertThrows(() => call(app, "echo"), RangeError, "too far");
    app.route("/", () => call(app, "echo"));
    assertEquals((await visit(app, "/")).status, 500);
    assertEquals(log, []);
  },
);

onEngine(
  "`halt()` in a before filter of `start` responds in place of the route",
  async (app) => {
    app.before("start", () => app.halt(403, "closed"));
    app.route("/", () => "open");
    const response = await visit(app, "/");
    assertEquals([response.status, await response.text()], [403, "closed"]);
  },
);

onEngine(
  "a filter on an unknown name is an error that names the near ones",
  (app) => {
    app.map("hello", () => 0);
    app.register("users", Map);
    const table: [string, string][] = [
      ["helo", 'there is no such method: did you mean "hello"?'],
      [
        "zzzzzz",
        'Cannot add a filter before "zzzzzz": there is no such method',
      ],
      ["users", "it is a registered class, not a method"],
    ];
    for (const [name, message] of table) {
      assertThrows(() => app.before(name, () => {}), TypeError, message);
    }
  },
);

onEngine("a filter that is not a function is refused", (app) => {
  for (const filter of [undefined, null, "x", {}]) {
    const error = assertThrows(
      () => app.after("json", filter as unknown as () => void),
      TypeError,
    );
    assertStringIncludes(error.message, "the filter after");
    assertStringIncludes(error.message, "must be a function");
  }
});

onEngine("a filter may be a method of an object or of a class", (app) => {
  class Words {
    static mark = "!";
    mark = "?";
    static shout(params: string[]) {
      params[0] += this.mark;
    }
    ask(_params: string[], output: { value: string }) {
      output.value += this.mark;
    }
  }
  mapEcho(app);
  app.before("echo", [Words, "shout"]);
  app.after("echo", [Words, "ask"]);
  app.after("echo", [new Words(), "ask"]);
  assertEquals(call(app, "echo", "hey"), "hey!??");
  const misspelled = () => app.after("echo", [Words, "sk"]);
  assertThrows(misspelled, TypeError, 'did you mean "ask"?');
});

onEngine(
  "filters before `start` that did not await a response let nobody in",
  async (app) => {
    let isInside = false;
    app.before("redirect", () => Promise.resolve());
    app.before("start", () => void app.redirect("/login"));
    app.route("/", () => void (isInside = true));
    assertEquals([(await visit(app, "/")).status, isInside], [303, false]);
  },
);

class Refusal {
  readonly reason = "Log in";
}

for (
  const [what, returned] of Object.entries({
    "a response": new Response("Log in", { status: 401 }),
    "a text": "Log in",
    "an object": { reason: "Log in" },
    "an instance": new Refusal(),
    "a date": new Date(),
  })
) {
  onEngine(
    `a filter before \`start\` that returns ${what} lets nobody in`,
    async (app) => {
      let isInside = false;
      app.map("error", (error: Error) => error.message);
      app.before("start", () => returned);
      app.route("/", () => void (isInside = true));
      const response = await visit(app, "/");
      assertEquals([response.status, isInside], [500, false]);
      assertStringIncludes(
        await response.text(),
        'Cannot continue after a before("start") filter: it must not return a response (call halt() or redirect()',
      );
    },
  );
}

onEngine(
  "what an after filter of `notFound` puts into the output takes the place of the default page",
  async (app) => {
    app.after("notFound", (_params, output) => {
      output.value = "mine";
    });
    const response = await visit(app, "/x");
    assertEquals([response.status, await response.text()], [404, "mine"]);
    app.set("framework.debug", true);
    assertEquals(await (await visit(app, "/x")).text(), "mine");
  },
);

onEngine(
  "what a mapped method returns is no result of `start`, with or without filters",
  async (app) => {
    app.map("json", (data: unknown) => {
      app.response().write("written");
      return JSON.stringify(data);
    });
    app.route("/", () => ({ a: 1 }));
    const bare = await (await visit(app, "/")).text();
    app.before("start", () => {});
    assertEquals(await (await visit(app, "/")).text(), bare);
    assertEquals(bare, "written");
  },
);
