/** Tests conditional requests: `etag` and `lastModified` (RFC 9110, section 13). */

import { assert, assertEquals } from "@std/assert";
import { type App, onBothForms, onEngine, visit } from "./forms.ts";
import { logOf } from "./log.ts";

const MODIFIED = 784_111_777; // Sun, 06 Nov 1994 08:49:37 GMT
const BEFORE = "Sun, 06 Nov 1994 08:49:36 GMT";
const AT = "Sun, 06 Nov 1994 08:49:37 GMT";
const AFTER = "Sun, 06 Nov 1994 08:49:38 GMT";

/** Declares routes that set a strong or a weak tag, a date, and both. */
function declare(app: App): void {
  app.route("/strong", () => {
    app.etag("v1");
    return "body";
  });
  app.route("/weak", () => {
    app.etag("v1", "weak");
    return "body";
  });
  app.route("/date", () => {
    app.lastModified(MODIFIED);
    return "body";
  });
  app.route("/both", () => {
    app.lastModified(MODIFIED);
    app.etag("v1");
    return "body";
  });
}

type Conditions = Record<string, string>;
type Statuses = [get: number, head: number, put: number];

/** Path, conditions, and the status that GET, HEAD and PUT have then. */
const MATRIX: [path: string, conditions: Conditions, Statuses][] = [
  ["/strong", {}, [200, 200, 200]],
  ["/strong", { "if-none-match": '"v1"' }, [304, 304, 412]],
  ["/strong", { "if-none-match": 'W/"v1"' }, [304, 304, 412]],
  ["/strong", { "if-none-match": '"v0", "v1"' }, [304, 304, 412]],
  ["/strong", { "if-none-match": '"v0",W/"v1" , "v2"' }, [304, 304, 412]],
  ["/strong", { "if-none-match": "*" }, [304, 304, 412]],
  ["/strong", { "if-none-match": '"v0"' }, [200, 200, 200]],
  ["/strong", { "if-none-match": '"v1' }, [200, 200, 200]],
  ["/strong", { "if-none-match": "v1" }, [200, 200, 200]],
  ["/strong", { "if-none-match": '"*"' }, [200, 200, 200]],
  ["/strong", { "if-none-match": '"V1"' }, [200, 200, 200]],
  ["/strong", { "if-none-match": "" }, [200, 200, 200]],
  ["/strong", { "if-match": '"v1"' }, [200, 200, 200]],
  ["/strong", { "if-match": '"v0", "v1"' }, [200, 200, 200]],
  ["/strong", { "if-match": "*" }, [200, 200, 200]],
  ["/strong", { "if-match": 'W/"v1"' }, [412, 412, 412]],
  ["/strong", { "if-match": '"v0"' }, [412, 412, 412]],
  [
    "/strong",
    { "if-match": '"v1"', "if-none-match": '"v1"' },
    [304, 304, 412],
  ],
  [
    "/strong",
    { "if-match": '"v0"', "if-none-match": '"v1"' },
    [412, 412, 412],
  ],
  ["/strong", { "if-modified-since": AFTER }, [200, 200, 200]],
  ["/weak", { "if-none-match": '"v1"' }, [304, 304, 412]],
  ["/weak", { "if-none-match": 'W/"v1"' }, [304, 304, 412]],
  ["/weak", { "if-none-match": '"v0"' }, [200, 200, 200]],
  ["/weak", { "if-match": '"v1"' }, [412, 412, 412]],
  ["/weak", { "if-match": 'W/"v1"' }, [412, 412, 412]],
  ["/weak", { "if-match": "*" }, [200, 200, 200]],
  ["/date", {}, [200, 200, 200]],
  ["/date", { "if-modified-since": BEFORE }, [200, 200, 200]],
  ["/date", { "if-modified-since": AT }, [304, 304, 200]],
  ["/date", { "if-modified-since": AFTER }, [304, 304, 200]],
  ["/date", { "if-modified-since": "never" }, [200, 200, 200]],
  ["/date", { "if-modified-since": "2030-01-01" }, [200, 200, 200]],
  ["/date", { "if-modified-since": `${AFTER}x` }, [200, 200, 200]],
  [
    "/date",
    { "if-modified-since": "Sunday, 06-Nov-94 08:49:37 GMT" },
    [304, 304, 200],
  ],
  [
    "/date",
    { "if-modified-since": "Sun Nov  6 08:49:37 1994" },
    [304, 304, 200],
  ],
  [
    "/date",
    { "if-modified-since": "Sun Nov  6 08:49:36 1994" },
    [200, 200, 200],
  ],
  [
    "/date",
    { "if-modified-since": AT, "if-none-match": '"v1"' },
    [200, 200, 200],
  ],
  ["/date", { "if-unmodified-since": BEFORE }, [412, 412, 412]],
  ["/date", { "if-unmodified-since": AT }, [200, 200, 200]],
  ["/date", { "if-unmodified-since": AFTER }, [200, 200, 200]],
  ["/date", { "if-unmodified-since": "never" }, [200, 200, 200]],
  [
    "/date",
    { "if-unmodified-since": "Sun Nov  6 08:49:36 1994" },
    [412, 412, 412],
  ],
  [
    "/date",
    { "if-unmodified-since": BEFORE, "if-modified-since": AT },
    [412, 412, 412],
  ],
  [
    "/date",
    { "if-unmodified-since": AT, "if-modified-since": AT },
    [304, 304, 200],
  ],
  [
    "/date",
    { "if-match": '"v1"', "if-unmodified-since": BEFORE },
    [200, 200, 200],
  ],
  [
    "/both",
    { "if-match": '"v1"', "if-unmodified-since": BEFORE },
    [200, 200, 200],
  ],
  [
    "/both",
    { "if-match": '"v0"', "if-unmodified-since": AFTER },
    [412, 412, 412],
  ],
  [
    "/both",
    { "if-none-match": '"v1"', "if-unmodified-since": BEFORE },
    [412, 412, 412],
  ],
  ["/both", { "if-modified-since": AT }, [304, 304, 200]],
  ["/both", { "if-none-match": '"v1"' }, [304, 304, 412]],
  [
    "/both",
    { "if-none-match": '"v0"', "if-modified-since": AT },
    [200, 200, 200],
  ],
  [
    "/both",
    { "if-none-match": '"v1"', "if-modified-since": BEFORE },
    [304, 304, 412],
  ],
];

onEngine(
  "`etag()` and `lastModified()` evaluate conditions as RFC 9110 says",
  async (app) => {
    declare(app);
    for (const [path, headers, statuses] of MATRIX) {
      for (const [index, method] of ["GET", "HEAD", "PUT"].entries()) {
        const response = await visit(app, path, { method, headers });
        const body = await response.text();
        const about = `${method} ${path} ${JSON.stringify(headers)}`;
        assertEquals(response.status, statuses[index], about);
        assertEquals(
          body,
          response.ok && method !== "HEAD" ? "body" : "",
          about,
        );
      }
    }
  },
);

onEngine(
  "`etag()` sets the tag in quotes, weak when it is asked to",
  async (app) => {
    declare(app);
    const tag = async (path: string): Promise<string | null> =>
      (await visit(app, path)).headers.get("etag");
    assertEquals([await tag("/strong"), await tag("/weak")], [
      '"v1"',
      'W/"v1"',
    ]);
  },
);

onEngine("`etag()` finds a tag with a comma in it", async (app) => {
  app.route("/", () => app.etag("a,b", "string"));
  const headers = { "if-none-match": '"x", "a,b"' };
  assertEquals((await visit(app, "/", { headers })).status, 304);
});

onEngine("`etag()` refuses what makes no tag", async (app) => {
  const hostile: [string, string?][] = [
    ['"v1"'],
    ["a b"],
    ["ü"],
    ["a\r\nb"],
    [1 as never],
    ["v1", "strange"],
  ];
  for (const [id, type] of hostile) {
    app.init();
    app.route("/", () => app.etag(id, type as "weak"));
    const response = await visit(app, "/");
    assertEquals([response.status, response.headers.get("etag")], [500, null]);
  }
});

onBothForms("`lastModified()` sets the date by the second", async (app) => {
  const date = async (time: number): Promise<string | null> => {
    app.init();
    app.route("/", () => app.lastModified(time));
    return (await visit(app, "/")).headers.get("last-modified");
  };
  assertEquals(await date(MODIFIED), AT);
  assertEquals(await date(MODIFIED + 0.9), AT);
  assertEquals(await date(-1), "Wed, 31 Dec 1969 23:59:59 GMT");
});

onEngine(
  "`lastModified()` never names a time that is to come (section 8.8.2.1)",
  async (app) => {
    app.route("/", () => app.lastModified(Date.now() / 1000 + 1000));
    const date = (await visit(app, "/")).headers.get("last-modified");
    assert(Date.parse(date!) <= Date.now());
  },
);

onEngine(
  "`lastModified()` refuses milliseconds and what is no time",
  async (app) => {
    for (
      const time of [
        Date.now(),
        NaN,
        Infinity,
        "0" as never,
        new Date() as never,
      ]
    ) {
      app.init();
      app.route("/", () => app.lastModified(time));
      assertEquals((await visit(app, "/")).status, 500, String(time));
    }
  },
);

onEngine(
  "`etag()` keeps with a 304 what belongs to it, and drops what describes the body",
  async (app) => {
    app.route("/", () => {
      app.response().cache(60).cookie("a", "1").header("vary", "accept")
        .header("content-location", "/x").header("expires", AT)
        .header("content-type", "text/css").header("content-language", "en")
        .header("content-length", 3).write("abc");
      app.lastModified(MODIFIED);
      app.etag("v1");
    });
    const response = await visit(app, "/", {
      headers: { "if-none-match": '"v1"' },
    });
    assertEquals([response.status, response.body], [304, null]);
    assertEquals([...response.headers.keys()], [
      "cache-control",
      "content-location",
      "etag",
      "expires",
      "last-modified",
      "set-cookie",
      "vary",
    ]);
  },
);

onEngine("`etag()` lets nobody store its 412", async (app) => {
  app.route("/", () => {
    app.response().cache(60).write("abc");
    app.etag("v1");
  });
  const response = await visit(app, "/", { headers: { "if-match": '"v0"' } });
  const headers = [["vary", "Accept"]];
  assertEquals([response.status, [...response.headers]], [412, headers]);
});

onEngine(
  "the 412 of `etag()` and `lastModified()` has the form of any other error",
  async (app) => {
    declare(app);
    const conditions: Conditions[] = [
      { "if-match": '"v0"' },
      { "if-unmodified-since": BEFORE },
    ];
    const problem = {
      type: "about:blank",
      title: "Precondition Failed",
      status: 412,
    };
    for (const headers of conditions) {
      app.set("framework.error_format", "json");
      const response = await visit(app, "/both", { headers });
      const type = response.headers.get("content-type");
      assertEquals([response.status, type], [412, "application/problem+json"]);
      assertEquals(await response.json(), problem);
      app.set("framework.error_format", "auto");
      const accept = "application/json";
      const preferred = await visit(app, "/both", {
        headers: { ...headers, accept },
      });
      assertEquals(await preferred.json(), problem);
      const plain = await visit(app, "/both", { headers });
      assertEquals(await plain.text(), "");
    }
  },
);

onEngine(
  "a handler that has changed something sets the new validators, once the conditions have held",
  async (app) => {
    let version = 1;
    app.route("/", () => {
      app.lastModified(MODIFIED + version);
      app.etag(`v${version}`);
      if (app.request().method === "GET") return;
      version++;
      app.lastModified(MODIFIED + version);
      app.etag(`v${version}`);
    });
    const put = (headers: Conditions) =>
      visit(app, "/", { method: "PUT", headers });
    const saved = await put({ "if-match": '"v1"' });
    assertEquals([saved.status, saved.headers.get("etag")], [200, '"v2"']);
    const late = new Date((MODIFIED + 2) * 1000).toUTCString();
    const again = await put({ "if-unmodified-since": late });
    assertEquals([again.status, again.headers.get("etag")], [200, '"v3"']);
    const refused = [{ "if-match": '"v2"' }, { "if-unmodified-since": late }];
    for (const headers of refused) {
      assertEquals([(await put(headers)).status, version], [412, 3]);
    }
  },
);

onEngine("a second `etag()` still ends a GET with 304", async (app) => {
  app.route("/", () => {
    app.etag("of-the-list");
    app.etag("of-the-page");
    return "body";
  });
  const headers = { "if-none-match": '"of-the-page"' };
  assertEquals((await visit(app, "/", { headers })).status, 304);
});

onEngine(
  "`etag()` ignores conditions when the status is not 2xx (section 13.2.1)",
  async (app) => {
    app.map("notFound", () => {
      app.etag("v1");
      return "lost";
    });
    app.map("error", () => {
      app.lastModified(MODIFIED);
      return "failed";
    });
    app.route("/error", () => {
      throw new Error("x");
    });
    const headers = { "if-none-match": '"v1"', "if-modified-since": AT };
    assertEquals((await visit(app, "/x", { headers })).status, 404);
    assertEquals((await visit(app, "/error", { headers })).status, 500);
  },
);

onEngine(
  "`etag()` does not evaluate conditions after the response was sealed",
  async (app) => {
    app.route("/", () => {
      app.json({ a: 1 });
      app.etag("v1");
    });
    const headers = { "if-none-match": '"v1"' };
    const log = await logOf(async () => {
      const response = await visit(app, "/", { headers });
      assertEquals([response.status, await response.text()], [200, '{"a":1}']);
    });
    assertEquals(log, []);
  },
);

onBothForms("`etag()` can be filtered", async (app) => {
  app.before("etag", (params) => {
    params[0] = "v2";
  });
  declare(app);
  const { headers } = await visit(app, "/strong");
  assertEquals(headers.get("etag"), '"v2"');
});
