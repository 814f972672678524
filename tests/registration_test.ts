/** Registered classes and how their instances live, on both forms of an application. */

import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Engine, HttpResponse, Router } from "@framework/core";
import { guard } from "@framework/core/guard";
import { logOf } from "./log.ts";
import { call, onBothForms, onEngine, visit } from "./forms.ts";

class User {
  readonly params: unknown[];
  tag = "";
  constructor(...params: unknown[]) {
    this.params = params;
  }
}

onBothForms("`register()` makes a name that returns an instance", (app) => {
  app.register("user", User);
  assertInstanceOf(call(app, "user"), User);
});

onEngine("`register()` gives the parameters to the constructor", (app) => {
  app.register("user", User, ["ada", 36]);
  assertEquals(call(app, "user").params, ["ada", 36]);
  assertEquals(call(app, "user", false).params, ["ada", 36]);
});

onEngine(
  "a registered class is shared: each call returns the same instance",
  (app) => {
    app.register("user", User);
    assertStrictEquals(call(app, "user"), call(app, "user"));
    assertStrictEquals(call(app, "user", true), call(app, "user"));
  },
);

onEngine(
  "`false` returns a new instance, which is never the shared one",
  (app) => {
    app.register("user", User);
    const first = call(app, "user", false);
    const shared = call(app, "user");
    assert(first !== shared);
    assert(call(app, "user", false) !== first);
    assertStrictEquals(call(app, "user"), shared);
  },
);

onEngine(
  "the callback runs at once after each construction, with the object alone",
  (app) => {
    const seen: unknown[][] = [];
    app.register("user", User, ["ada"], (...given: User[]) => {
      given[0]!.tag = "made";
      seen.push(given);
    });
    assertEquals(seen, []);
    const shared = call(app, "user");
    call(app, "user");
    const other = call(app, "user", false);
    assertEquals(seen, [[shared], [other]]);
    assertEquals([shared.tag, other.tag], ["made", "made"]);
  },
);

onEngine("an instance is made when it is first called for", (app) => {
  let made = 0;
  app.register(
    "user",
    class {
      constructor() {
        made++;
      }
    },
  );
  assertEquals(made, 0);
  call(app, "user");
  assertEquals(made, 1);
});

onEngine("registering a name anew makes a new shared instance", (app) => {
  app.register("user", User, ["old"]);
  const old = call(app, "user");
  app.register("user", User, ["new"]);
  assertEquals(call(app, "user").params, ["new"]);
  assert(call(app, "user") !== old);
});

onEngine(
  "a mapped method beats a registered class, in either order",
  (app) => {
    app.map("first", () => "mapped");
    app.register("first", User);
    app.register("second", User);
    app.map("second", () => "mapped");
    assertEquals([call(app, "first"), call(app, "second")], [
      "mapped",
      "mapped",
    ]);
  },
);

onEngine(
  "a constructor that throws is tried again by the next call",
  (app) => {
    let attempts = 0;
    app.register(
      "user",
      class {
        constructor() {
          if (++attempts === 1) throw new RangeError("not yet");
        }
      },
    );
    assertThrows(() => call(app, "user"), RangeError, "not yet");
    assertStrictEquals(call(app, "user"), call(app, "user"));
    assertEquals(attempts, 2);
  },
);

Deno.test("a class for `request` whose constructor throws leads to a guarded page and one line in the log", async () => {
  const app = new Engine();
  guard(app);
  app.register(
    "request",
    class {
      constructor() {
        throw new RangeError("no request today");
      }
    },
  );
  app.route("/", () => "never");
  const remoteAddr = { transport: "tcp", hostname: "192.0.2.7", port: 5 };
  const info = { remoteAddr: remoteAddr as Deno.NetAddr };
  const lines = await logOf(async () => {
    const response = await app.fetch("http://site.test/", info);
    assertEquals(response.status, 500);
    assertEquals(response.headers.get("x-content-type-options"), "nosniff");
    assertMatch(await response.text(), /Reference: [0-9a-f]{8}/);
  });
  assertEquals(lines.length, 1, lines.join("\n"));
  assertMatch(lines[0]!, /^[0-9a-f]{8} GET \/ RangeError: no request today at/);
});

onEngine(
  "a callback that throws leaves no shared instance behind",
  (app) => {
    let attempts = 0;
    app.register("user", User, [], () => {
      if (++attempts === 1) throw new RangeError("not yet");
    });
    assertThrows(() => call(app, "user"), RangeError, "not yet");
    assertInstanceOf(call(app, "user"), User);
    assertEquals(attempts, 2);
  },
);

onEngine("classes may use each other", (app) => {
  app.register(
    "chicken",
    class {
      readonly egg = call(app, "egg");
    },
  );
  app.register(
    "egg",
    class {
      readonly chicken = call(app, "chicken");
    },
  );
  assertThrows(() => call(app, "chicken"), RangeError);
  app.register("egg", User);
  assertStrictEquals(call(app, "chicken").egg, call(app, "egg"));
});

onEngine(
  "`register()` refuses what is neither a class nor a name",
  (app) => {
    for (const type of [undefined, null, 5, {}, () => 0]) {
      assertThrows(
        () => app.register("user", type),
        TypeError,
        'Cannot register "user": it must be a class or the name of one',
      );
    }
  },
);

onEngine(
  "`register()` refuses parameters that are no list, and what is no callback",
  (app) => {
    const register = (...rest: unknown[]) => () =>
      app.register("user", class {}, ...rest as [unknown[]]);
    assertThrows(register({ name: "Ada" }), TypeError, "must be an array");
    assertThrows(register([], "Ada"), TypeError, "must be a function");
    register([], null)();
    register(undefined, undefined)();
  },
);

onEngine(
  "a class under a component's name replaces the component",
  async (app) => {
    class Shout {
      readonly loudness: number;
      constructor(loudness: number) {
        this.loudness = loudness;
      }
    }
    app.register("view", Shout, [11]);
    app.map("render", (text: string) =>
      app.response().write(
        text.toUpperCase() + "!".repeat(app.view<Shout>().loudness - 8),
      ));
    app.route("/", () => app.render("hello"));
    assertEquals(await (await visit(app, "/")).text(), "HELLO!!!");
  },
);

onEngine(
  "a class that extends a component is given what the component is given",
  async (app) => {
    class Branded extends HttpResponse {
      brand() {
        return this.header("x-brand", "acme");
      }
    }
    app.register("response", Branded);
    app.route("/", () => (app.response() as Branded).brand().write("page"));
    const response = await visit(app, "/");
    assertEquals(response.headers.get("x-brand"), "acme");
    assertEquals(await response.text(), "page");
  },
);

onEngine(
  "the router and the view are shared, request and response each request's",
  async (app) => {
    const seen: object[][] = [];
    app.route("/", () => {
      seen.push([app.router(), app.view(), app.request(), app.response()]);
      assertStrictEquals(app.request(), app.request());
    });
    await visit(app, "/");
    await visit(app, "/");
    const same = seen[0]!.map((component, place) =>
      component === seen[1]![place]
    );
    assertEquals(same, [true, true, false, false]);
    assertInstanceOf(app.router(), Router);
  },
);

onEngine(
  "`false` returns a new instance of a component too",
  async (app) => {
    class Pages {
      name = "pages";
    }
    app.register("view", Pages);
    assertEquals(call(app, "view", false) === call(app, "view"), false);
    app.route("/", () => app.request(false) === app.request() ? "same" : "new");
    assertEquals(await (await visit(app, "/")).text(), "new");
  },
);

onBothForms(
  "`response(false)` has nothing of the response so far",
  async (app) => {
    const others: unknown[] = [];
    app.route("/", () => {
      app.json({ id: 1 }, 201);
      const other = app.response(false).write("other");
      others.push(other.status(), other.length, app.response(false).sent);
    });
    const response = await visit(app, "/");
    assertEquals(response.status, 201);
    assertEquals(await response.json(), { id: 1 });
    assertEquals(others, [200, 5, false]);
  },
);

onEngine(
  "`register()` calls no `then` of what its callback returns, unless it is a promise",
  (app) => {
    let begun = false;
    const query = { then: () => begun = true };
    app.register("store", class Store {}, [], () => query);
    call(app, "store");
    return Promise.resolve().then(() => assertEquals(begun, false));
  },
);

Deno.test("an autoloaded or mapped `request` decides neither the `Secure` of cookies nor the method of a form", async () => {
  for (
    const declare of [
      (app: Engine) => app.register("request", "Greeting"),
      (app: Engine) => app.map("request", () => ({})),
    ]
  ) {
    const app = new Engine();
    app.path(new URL("fixtures/classes", import.meta.url));
    app.set("framework.method_override", true);
    declare(app);
    app.route("POST /", () => "post");
    app.route("PUT /", () => void app.response().cookie("a", "b").write("put"));
    const body = new URLSearchParams({ _method: "PUT" });
    const init = { method: "POST", body };
    const response = await app.fetch(new Request("https://localhost/", init));
    assertEquals(await response.text(), "put");
    assertEquals(
      response.headers.get("set-cookie"),
      "a=b; Secure; HttpOnly; SameSite=Lax; Path=/",
    );
  }
});

Deno.test("a page that has its response cannot register another class for it", async () => {
  const app = new Engine();
  class Other {}
  app.map("notFound", () => {
    app.response();
    app.register("response", Other);
  });
  app.map("error", (error: Error) => error.message);
  assertEquals(
    await (await app.fetch("/none")).text(),
    'Cannot register "response" here: the request already has an object of another class',
  );
});

Deno.test("a request that has its object cannot register another class for it", async () => {
  for (const name of ["request", "response"] as const) {
    const app = new Engine();
    app.map("error", (error: Error) => error.message);
    class Other {}
    app.route("/used", () => {
      app[name]();
      app.register(name, Other);
    });
    app.route("/unused", () => {
      app.register(name, Other);
      return String((app[name]() as object) instanceof Other);
    });
    assertEquals(
      await (await app.fetch("/used")).text(),
      `Cannot register "${name}" here: the request already has an object of another class`,
    );
    assertEquals(await (await app.fetch("/unused")).text(), "true");
  }
});

Deno.test("a `router` that is none is an error that says so", async () => {
  const app = new Engine();
  app.register("router", class Greeting {});
  const text = await (await app.fetch("/")).text();
  assertStringIncludes(text, "router() must return a Router, got");
});

Deno.test("a class that a request registers is made in that request", async () => {
  const app = new Engine();
  app.route("/", () => {
    app.register(
      "here",
      class {
        readonly url = app.request().url;
      },
    );
    return (app as unknown as { here(): { url: string } }).here().url;
  });
  assertEquals(await (await app.fetch("/")).text(), "/");
});
