/** Tests what answers a request: `redirect`, `halt`, `stop`, `json`, `jsonp`, wherever they are called. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { type App, call, onBothForms, visit } from "./forms.ts";
import { logOf } from "./log.ts";

/** The calls that answer, and what they answer wherever they are made after `write("before")`. */
const CALLS: Record<string, [(app: App) => unknown, number, string]> = {
  redirect: [(app) => app.redirect("/there"), 303, ""],
  "redirect with a code": [(app) => app.redirect("/there", 301), 301, ""],
  halt: [(app) => app.halt(403, "halted"), 403, "halted"],
  "halt without more": [(app) => app.halt(), 200, ""],
  stop: [(app) => app.stop(), 200, "before"],
  "stop with a code": [(app) => app.stop(202), 202, "before"],
  json: [(app) => app.json({ a: 1 }), 200, '{"a":1}'],
  "json with a code": [(app) => app.json([], 201), 201, "[]"],
  jsonp: [(app) => app.jsonp(1), 200, "call(1);"],
  etag: [(app) => app.etag("v1"), 304, ""],
  lastModified: [(app) => app.lastModified(0), 304, ""],
};

/** Writes, calls, and then does what must change nothing. */
function tries(app: App, answer: (app: App) => unknown): void {
  app.response().write("before");
  answer(app);
  app.response().status(299).write("after").clear();
  app.json("after", 299);
  app.redirect("/after");
}

/** Where a call can be made; each place declares what serves `/`, and gives `never` what must not run. */
const PLACES: Record<
  string,
  (app: App, answer: (app: App) => unknown, never: () => void) => void
> = {
  "a handler": (app, answer) => {
    app.route("/", () => tries(app, answer));
  },
  "a handler, after an await": (app, answer) => {
    app.route("/", async () => {
      await later();
      tries(app, answer);
    });
  },
  "a handler, inside try and catch": (app, answer) => {
    app.route("/", () => {
      try {
        tries(app, answer);
      } catch {
        app.response().write("caught");
      }
      return "returned";
    });
  },
  "a handler that passes on": (app, answer) => {
    app.route("/", () => {
      tries(app, answer);
      return true;
    });
    app.route("/", () => "next");
  },
  "a function that is not awaited": (app, answer) => {
    app.route("/", async () => {
      const work = (async () => {
        await later();
        tries(app, answer);
      })();
      await Promise.allSettled([work]);
    });
  },
  "a mapped method": (app, answer) => {
    app.map("answer", () => tries(app, answer));
    app.route("/", () => {
      call(app, "answer");
    });
  },
  "a mapped asynchronous method that is not awaited": (app, answer, never) => {
    app.map("answer", async () => {
      await later();
      tries(app, answer);
      never();
    });
    app.before("answer", later);
    app.route("/", () => {
      call(app, "answer");
    });
  },
  "a filter before `start`": (app, answer, never) => {
    app.before("start", () => tries(app, answer));
    app.route("/", never);
  },
  "an asynchronous filter before `start`": (app, answer, never) => {
    app.before("start", async () => {
      await later();
      tries(app, answer);
    });
    app.route("/", never);
  },
  "a filter after `start`": (app, answer) => {
    app.after("start", () => tries(app, answer));
    app.route("/", () => {});
  },
  "a filter before a method": (app, answer) => {
    app.map("method", () => {});
    app.before("method", () => tries(app, answer));
    app.route("/", () => {
      call(app, "method");
    });
  },
  "middleware before": (app, answer, never) => {
    app.route("/", never).addMiddleware(() => tries(app, answer));
  },
  "asynchronous middleware before": (app, answer, never) => {
    app.route("/", never).addMiddleware({
      async before() {
        await later();
        tries(app, answer);
      },
    });
  },
  "middleware after": (app, answer) => {
    app.route("/", () => {}).addMiddleware({
      after: () => tries(app, answer),
    });
  },
};

for (const [name, [answer, status, body]] of Object.entries(CALLS)) {
  onBothForms(`\`${name}\` answers from wherever it is called`, async (app) => {
    for (const [place, declare] of Object.entries(PLACES)) {
      app.init();
      let ran = false;
      // What ends the request by throwing must not let an asynchronous method go on.
      const throws = !/^(redirect|json)/.test(name);
      declare(app, answer, () => {
        ran ||= throws || !place.includes("mapped");
      });
      const response = await visit(app, "/?jsonp=call", {
        headers: {
          ...(name === "etag" ? { "if-none-match": `"v1"` } : {}),
          ...(name === "lastModified"
            ? { "if-modified-since": "Thu, 01 Jan 1970 00:00:00 GMT" }
            : {}),
        },
      });
      const got = [response.status, await response.text(), ran];
      assertEquals(got, [status, body, false], place);
    }
  });
}

function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

onBothForms(
  "`halt()` drops what was written and keeps the headers",
  async (app) => {
    app.route("/", () => {
      app.response().header("x-a", "1").cookie("b", "2").write("dropped");
      app.halt(403, "Staff only");
    });
    const response = await visit(app, "/");
    assertEquals(await response.text(), "Staff only");
    assertEquals(response.headers.get("x-a"), "1");
    assertEquals(response.headers.getSetCookie().length, 1);
  },
);

onBothForms(
  "`halt()` refuses a status that no response has, and ends nothing",
  async (app) => {
    app.route("/", () => {
      try {
        app.halt(1000, "x");
      } catch (error) {
        return String(error);
      }
    });
    assertStringIncludes(
      await (await visit(app, "/")).text(),
      'RangeError: Cannot respond with the status "1000": it must be 200 to 599',
    );
  },
);

onBothForms("`stop()` sends what un-awaited renders still add", async (app) => {
  app.map("render", async (text: string) => {
    await later();
    app.response().write(text);
  });
  app.route("/", () => {
    app.render("a");
    app.response().write("b");
    app.stop();
  });
  assertEquals(await (await visit(app, "/")).text(), "ab");
});

onBothForms(
  "`redirect()` leads where it says, and never off the site unless written with a scheme",
  async (app) => {
    const cases: [string, string][] = [
      ["/there", "/there"],
      ["there", "/there"],
      ["", "/"],
      ["/a b", "/a%20b"],
      ["/ü?ü#ü", "/%C3%BC?%C3%BC#%C3%BC"],
      ["/100%", "/100%"],
      ["/a%20b", "/a%20b"],
      ["/a/../b", "/b"],
      ["?page=2", "?page=2"],
      ["#top", "#top"],
      ["?\ud800", "?%EF%BF%BD"],
      ["https://example.com/x", "https://example.com/x"],
      ["HTTPS://example.com", "https://example.com/"],
      ["mailto:a@example.com", "mailto:a@example.com"],
      ["//example.com/x", "/example.com/x"],
      ["/\\example.com", "/example.com"],
      ["\\\\example.com", "/example.com"],
      ["/.//example.com", "/example.com"],
      ["/..//example.com", "/example.com"],
      ["  //example.com", "/example.com"],
      ["/%2f%2fexample.com", "/%2f%2fexample.com"],
    ];
    for (const [target, expected] of cases) {
      app.init();
      app.route("/", () => app.redirect(target));
      const response = await visit(app, "/");
      assertEquals(response.headers.get("location"), expected, target);
    }
  },
);

onBothForms("`redirect()` stays under the base, once", async (app) => {
  const cases: [string, string][] = [
    ["/there", "/blog/there"],
    ["there", "/blog/there"],
    ["/", "/blog/"],
    ["/blog/there", "/blog/there"],
    ["/blog", "/blog"],
    ["blog/there", "/blog/blog/there"],
    ["/blogger", "/blog/blogger"],
    ["?a=1", "?a=1"],
    ["https://example.com/", "https://example.com/"],
  ];
  app.set("framework.base_url", "/blog");
  app.route("/there", () => {}, false, "there");
  app.route("/alias", () => app.redirect(app.getUrl("there")));
  for (const [index, [target, expected]] of cases.entries()) {
    app.route(`/${index}`, () => app.redirect(target));
    const response = await visit(app, `/blog/${index}`);
    assertEquals(response.headers.get("location"), expected, target);
  }
  const response = await visit(app, "/blog/alias");
  assertEquals(response.headers.get("location"), "/blog/there");
});

onBothForms(
  "`redirect()` refuses what runs code or breaks the head",
  async (app) => {
    const hostile = [
      "javascript:alert(1)",
      " JavaScript:alert(1)",
      "data:text/html,x",
      "vbscript:x",
      "/a\r\nset-cookie: b=1",
      "/a\nb",
      "java\tscript:alert(1)",
      "/\t/example.com",
      "/a\0",
      "http://",
      "https://exa mple.com",
    ];
    for (const target of hostile) {
      app.init();
      app.route("/", () => app.redirect(target));
      const response = await visit(app, "/");
      assertEquals([response.status, response.headers.get("location")], [
        500,
        null,
      ], target);
    }
  },
);

onBothForms(
  "`redirect()` refuses a status that redirects nowhere",
  async (app) => {
    for (const code of [200, 299, 400, NaN]) {
      app.init();
      app.route("/", () => app.redirect("/there", code));
      assertEquals((await visit(app, "/")).status, 500, String(code));
    }
  },
);

onBothForms(
  "`json()` sends data as JSON, with its charset and indentation",
  async (app) => {
    type Params = Parameters<App["json"]>;
    const cases: [Params, string, string][] = [
      [[{ a: "ü" }], '{"a":"ü"}', "utf-8"],
      [[{ a: 1 }, 200, true, "utf8", 2], '{\n  "a": 1\n}', "utf-8"],
      [['{"a":1}', 200, false], '{"a":1}', "utf-8"],
      [
        ["ü😀", 200, true, "iso-8859-1"],
        '"\\u00fc\\ud83d\\ude00"',
        "iso-8859-1",
      ],
      [[undefined], "null", "utf-8"],
      [[null], "null", "utf-8"],
      [[NaN], "null", "utf-8"],
      [[""], '""', "utf-8"],
      [[false], "false", "utf-8"],
      [[new Date(0)], '"1970-01-01T00:00:00.000Z"', "utf-8"],
      [["</script>\u2028"], '"</script>\u2028"', "utf-8"],
    ];
    for (const [params, body, charset] of cases) {
      app.init();
      app.route("/", () => app.json(...params));
      const response = await visit(app, "/");
      assertEquals(await response.text(), body);
      assertEquals(
        response.headers.get("content-type"),
        `application/json; charset=${charset}`,
      );
    }
  },
);

onBothForms(
  "`json()` keeps a status that was set unless a code is given",
  async (app) => {
    app.route("/set", () => {
      app.response().status(201);
      return { a: 1 };
    });
    app.route("/given", () => {
      app.response().status(201);
      app.json({ a: 1 }, 200);
    });
    assertEquals((await visit(app, "/set")).status, 201);
    assertEquals((await visit(app, "/given")).status, 200);
  },
);

const loop: Record<string, unknown> = { list: [1] };
loop.list = [1, { "a-b": loop }];
const shared = { x: 1 };

/** What has no JSON, and the message that names its place. */
const FAULTS: [unknown, string][] = [
  [1n, "$ is a BigInt"],
  [{ a: [{ b: 1n }] }, "$.a[0].b is a BigInt"],
  [{ "a-b": 1n }, '$["a-b"] is a BigInt'],
  [loop, '$.list[1]["a-b"] is $ again, which contains it'],
  [{ one: shared, two: { shared }, three: 1n }, "$.three is a BigInt"],
  [{ hidden: { value: 1n, toJSON: () => 1 }, seen: 2n }, "$.seen is a BigInt"],
];

onBothForms(
  "`json()` is a 500 that names the place of what has no JSON",
  async (app) => {
    app.set("framework.log_errors", true);
    for (const [index, [value, message]] of FAULTS.entries()) {
      app.route(`/${index}`, () => app.json(value));
      const log = await logOf(async () => {
        assertEquals((await visit(app, `/${index}`)).status, 500);
      });
      assertStringIncludes(
        log.join(),
        `TypeError: Cannot encode JSON: ${message}`,
      );
    }
  },
);

onBothForms("`json()` passes on what a `toJSON()` throws", async (app) => {
  app.map("error", (error: Error) => error.message);
  app.route("/", () => ({
    a: shared,
    ab: shared,
    c: {
      toJSON() {
        throw new Error("no JSON today");
      },
    },
  }));
  assertEquals(await (await visit(app, "/")).text(), "no JSON today");
});

onBothForms(
  "`json()` takes only text for what is not to be encoded",
  async (app) => {
    app.map("error", (error: Error) => error.message);
    app.route("/", () => app.json({ a: 1 }, 200, false));
    assertEquals(
      await (await visit(app, "/")).text(),
      "Cannot send JSON that is not to be encoded: it must be text, got { a: 1 }",
    );
  },
);

onBothForms(
  "`jsonp()` calls the function that the query names",
  async (app) => {
    app.route("/", () => app.jsonp({ a: "ü</script>\u2028\u2029" }));
    app.route("/other", () => app.jsonp([1], "callback", 201));
    const response = await visit(app, "/?jsonp=app.on_$1.ü");
    assertEquals(
      await response.text(),
      'app.on_$1.ü({"a":"ü\\u003c/script>\\u2028\\u2029"});',
    );
    const { headers } = response;
    assertEquals(
      headers.get("content-type"),
      "application/javascript; charset=utf-8",
    );
    assertEquals(headers.get("x-content-type-options"), "nosniff");
    const other = await visit(app, "/other?callback=go");
    assertEquals([other.status, await other.text()], [201, "go([1]);"]);
  },
);

onBothForms(
  "`jsonp()` is a 400 without the name of a function",
  async (app) => {
    app.route("/", () => app.jsonp(1));
    const hostile = [
      "",
      "?jsonp=",
      "?jsonp=alert(1)//",
      "?jsonp=a;b",
      "?jsonp=a[0]",
      "?jsonp=a..b",
      "?jsonp=.a",
      "?jsonp=1a",
      "?jsonp=a%0Ab",
      "?jsonp=%3Cscript%3E",
      "?jsonp[]=a",
      `?jsonp=${"a".repeat(129)}`,
    ];
    for (const query of hostile) {
      assertEquals((await visit(app, `/${query}`)).status, 400, query);
    }
    const longest = "a".repeat(128);
    assertEquals((await visit(app, `/?jsonp=${longest}`)).status, 200);
  },
);

onBothForms(
  "`redirect()` and `json()` can be filtered and mapped anew",
  async (app) => {
    app.before("redirect", (params) => {
      params[0] = "/filtered";
    });
    app.map("json", (data: unknown) => app.halt(200, `mapped ${data}`));
    app.route("/redirect", () => app.redirect("/there"));
    app.route("/json", () => app.json("x"));
    app.route("/object", () => [1]);
    const response = await visit(app, "/redirect");
    assertEquals(response.headers.get("location"), "/filtered");
    assertEquals(await (await visit(app, "/json")).text(), "mapped x");
    assertEquals(await (await visit(app, "/object")).text(), "mapped 1");
  },
);
