/**
 * What holds for any input: no crash, no 500 that the input alone causes, and no prototype changed. The
 * suite runs the same few hundred inputs each time. With a number as its argument, as in
 * `deno task fuzz`, it runs that many new ones.
 */

import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import { Engine, html, HttpError } from "@framework/core";
import fc from "npm:fast-check@^4.3.0";
import { type DefaultTreeAdapterTypes, parseFragment } from "npm:parse5@^8.1.1";
import { targetOf } from "../src/request/target.ts";
import { sendRaw } from "./raw_http.ts";

type Element = DefaultTreeAdapterTypes.Element;
type TextNode = DefaultTreeAdapterTypes.TextNode;

const [given] = Deno.args;
const RUNS: fc.Parameters<unknown> = given === undefined
  ? { numRuns: 200, seed: 20_261_120 }
  : { numRuns: Number(given), seed: Date.now() | 0 };

// Inputs

/** Any text: ASCII, all of Unicode, and lone halves of characters. */
const TEXT = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 12 })
    .map((codes) => String.fromCharCode(...codes)),
);

/** Text made of dangerous parts and of random ones. */
function made(...parts: string[]): fc.Arbitrary<string> {
  return fc.array(fc.oneof(fc.constantFrom(...parts), fc.string()), {
    maxLength: 12,
  }).map((some) => some.join(""));
}

const NAMES = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "then",
];

const PATHS = made(
  ..."/ // . .. %2e %2E%2e %2f %5c \\ ? # % %zz %00 %ff %c3%bc %ed%a0%80 ü a @ : ; * ( ) + ~ admin"
    .split(" "),
  " ",
  "\t",
  ...NAMES,
);

/** Patterns: whole segments in a row, or parts of segments in any order. */
const PATTERNS = fc.oneof(
  fc.uniqueArray(
    fc.constantFrom(
      ..."/a /@id /@n:[0-9]{2,3} (/@b) (/a(/@c)) /* /a-@d /ü /admin /(?:a|b)"
        .split(" "),
    ),
    { maxLength: 4 },
  ).map((segments) => segments.join("") || "/"),
  made(
    ..."/ ( ) @ : * | [ ] { } ? + \\ ^ $ . - GET POST a b id [0-9]+ (?: (?= )? %2f ü"
      .split(" "),
    " ",
    "/@id:[0-9]{3}",
    "(/@b)",
    ...NAMES,
  ),
);

const FIELDS = made(
  ..."& = [ ] [] [0] [999999999] [-1] a b % %zz %5B + ; . %00 ü".split(" "),
  ...NAMES,
  ...NAMES.map((name) => `[${name}]`),
  "a[b][c][d][e][f][g][h][i][j]=1",
);

const COOKIES = made(
  ...`; = , " % %zz a b \\ expires path`.split(" "),
  " ",
  ...NAMES,
);

const CALLBACKS = made(
  ...`a . $ _ ( ) ; ' < > / * alert é \u2028 [0] "x" =`.split(" "),
  ...NAMES,
);

const TEMPLATES = made(
  ..."/ .. . \\ page secret outside %2e%2e %2f \0 .vto .php : file: C: //"
    .split(" "),
  ...NAMES,
);

/** Header values that the runtime allows: one byte a character, no control characters. */
const VALUES = fc.oneof(
  made(
    ...'* , ; = q=0 q=1.5 " W/ \\ json text/html application/ utf-8 - : []'
      .split(" "),
  ),
  fc.string({ unit: "binary" }),
).map((text) => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, "").trim());

/** The request headers that the framework reads. */
const HEADERS = [
  "accept",
  "client-ip",
  "content-type",
  "cookie",
  "forwarded",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "range",
  "referer",
  "user-agent",
  "x-forwarded-for",
  "x-forwarded-proto",
  "x-requested-with",
];

const BODY_TYPES = fc.oneof(
  fc.constantFrom(
    "application/x-www-form-urlencoded",
    "application/json",
    "application/x-www-form-urlencoded; charset=utf-16le",
    "application/json; charset=nonsense",
    "multipart/form-data; boundary=b",
    "multipart/form-data",
    'multipart/form-data; boundary=""',
    "text/plain",
  ),
  VALUES,
);

const BODIES = fc.oneof(
  FIELDS,
  TEXT,
  fc.json(),
  fc.json().map((json) => json.replaceAll('"a', '"__proto__')),
  made(
    "--b",
    "--b--",
    "\r\n",
    "\r\n\r\n",
    'Content-Disposition: form-data; name="a"',
    'Content-Disposition: form-data; name="__proto__"; filename="../x"',
    "Content-Type: text/plain",
  ),
).map((text) => text.toWellFormed());

// Properties

Deno.test("`targetOf()` refuses a target, or returns a path that it does not change again", async () => {
  await holds(fc.property(PATHS, VALUES, (target, host) => {
    const request = new Request(`http://a.test/${target}`, {
      headers: { host },
    });
    const { path, search } = attempt(() => targetOf(request)) ?? {};
    if (path === undefined) return;
    assert(
      path.startsWith("/") && !/[\\#\s]|\/\.{1,2}(?:\/|$)/.test(path),
      path,
    );
    const again = targetOf(new Request(`http://a.test${path}${search}`));
    assertEquals([again.path, again.search], [path, search]);
    assertEquals(new URL(request.url).pathname, path);
  }));
});

Deno.test("`start()` responds to any bytes and goes on", async () => {
  const app = everything();
  await using server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  await holds(
    fc.asyncProperty(PATHS, VALUES, VALUES, async (target, host, value) => {
      const { status } = await sendRaw(
        port,
        `GET /${target} HTTP/1.1\r\nHost: ${host}\r\nCookie: ${value}\r\nConnection: close\r\n\r\n`,
      );
      assert(status >= 200 && status < 500, String(status));
    }),
  );
});

Deno.test("`route()` takes any pattern or throws at once, and then matches any path", async () => {
  await holds(fc.asyncProperty(PATTERNS, PATHS, async (pattern, path) => {
    const app = quiet();
    try {
      app.route(pattern as string, (...params: unknown[]) => params);
    } catch (error) {
      assert(
        error instanceof SyntaxError || error instanceof TypeError,
        String(error),
      );
    }
    await responseOf(app, `/${path}`);
  }));
});

Deno.test("`getUrl()` makes a URL that leads back to the same value", async () => {
  const app = quiet();
  app.route("/at/@value/end", (value) => ({ value }), false, "at");
  await holds(fc.asyncProperty(TEXT, PATHS, async (text, path) => {
    for (const value of [text, path].filter((some) => !some.includes("\0"))) {
      let url: string;
      try {
        url = app.getUrl("at", { value });
      } catch (error) {
        assertInstanceOf(error, RangeError);
        continue;
      }
      const response = await responseOf(app, url);
      assertEquals(await response.json(), { value });
    }
  }));
});

Deno.test("`request().query` of any query is data", async () => {
  const app = everything();
  await holds(fc.asyncProperty(FIELDS, async (query) => {
    await responseOf(app, `/?${query}`);
  }));
});

Deno.test("`request().data` of any body is data or a refusal", async () => {
  const app = everything();
  await holds(fc.asyncProperty(BODY_TYPES, BODIES, async (type, body) => {
    const headers = { "content-type": type };
    await responseOf(app, "/", { method: "POST", headers, body });
  }));
});

Deno.test("`request().cookies` of any header are data", async () => {
  const app = everything();
  await holds(fc.asyncProperty(COOKIES, async (text) => {
    const cookie = text.replace(/[^\t\x20-\x7e\x80-\xff]/g, "");
    const response = await responseOf(app, "/", { headers: { cookie } });
    assertEquals(response.status, 200);
  }));
});

Deno.test("`request()` takes any headers", async () => {
  const app = everything();
  const headers = fc.dictionary(fc.constantFrom(...HEADERS), VALUES, {
    noNullPrototype: true,
  });
  await holds(fc.asyncProperty(headers, PATHS, async (some, path) => {
    await responseOf(app, "/", { headers: some });
    await responseOf(app, `/nowhere/${path}`, { headers: some });
  }));
});

Deno.test("`jsonp()` calls an identifier, or responds with 400", async () => {
  const app = quiet();
  app.route("/", () => app.jsonp({ html: "</script>\u2028" }, "cb"));
  await holds(fc.asyncProperty(CALLBACKS, async (name) => {
    const response = await responseOf(
      app,
      `/?cb=${encodeURIComponent(name.toWellFormed())}`,
    );
    if (response.status === 400) return;
    const body = await response.text();
    assert(body.startsWith(`${name}({`) && body.endsWith("});"), body);
    assert(!/[<\u2028]|[^\p{ID_Continue}$.]/u.test(name), name);
    assert(!/[<\u2028]/.test(body), body);
  }));
});

Deno.test("`header()` and `cookie()` carry a value as it is, or throw", async () => {
  const app = quiet();
  const box = { name: "", value: "" };
  app.route("/", () => {
    const response = app.response();
    attempt(() => response.header(box.name, box.value), TypeError);
    attempt(() => response.cookie("c", box.value), Error);
  });
  const names = fc.oneof(TEXT, fc.constantFrom("x-a", "x a", "x\r\ny", ""));
  const values = fc.oneof(
    TEXT,
    made("\r", "\n", "\0", "; Path=/", "Set-Cookie: a=b"),
  );
  await holds(fc.asyncProperty(names, values, async (name, value) => {
    Object.assign(box, { name: `x-${name}`, value });
    const { headers } = await responseOf(app, "/");
    const own = [...headers.keys()].filter((key) => key.startsWith("x-"));
    assert(
      own.length === 0 || own.length === 1 && own[0] === box.name.toLowerCase(),
    );
    assert(own.length === 0 || headers.get(box.name) === trimmed(value));
    const [cookie, ...others] = headers.getSetCookie();
    const sent = /^c=([^;]*); /.exec(cookie ?? "")?.[1] ?? "";
    assertEquals(
      [decodeURIComponent(sent), others],
      [value.toWellFormed(), []],
    );
  }));
});

Deno.test("`redirect()` to any target without a scheme stays on the site, or throws", async () => {
  const app = quiet();
  const box = { target: "" };
  app.route("/", () => void attempt(() => app.redirect(box.target), TypeError));
  const targets = made(
    "/",
    "//",
    "\\",
    "/\\",
    "evil.test",
    "..",
    "?",
    "#",
    "%",
    "@",
    " ",
    "\t",
    "\r\n",
    "ü",
  );
  await holds(fc.asyncProperty(targets, async (target) => {
    if (/^\s*[a-z][a-z\d+.-]*:/i.test(target)) return;
    box.target = target;
    const location = (await responseOf(app, "/")).headers.get("location");
    if (location === null) return;
    assertEquals(
      new URL(location, "http://a.test/b").origin,
      "http://a.test",
      location,
    );
  }));
});

Deno.test("`render()` of any name reads nothing outside the views", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${folder}/views`);
    await Deno.writeTextFile(`${folder}/views/page.vto`, "inside");
    await Deno.writeTextFile(`${folder}/secret.vto`, "outside");
    await Deno.writeTextFile(`${folder}/outside`, "outside");
    const app = quiet();
    app.set("framework.views.path", `${folder}/views`);
    const box = { name: "" };
    app.route("/", async () => {
      try {
        await app.render(box.name);
      } catch (error) {
        assertInstanceOf(error, Error);
      }
    });
    await holds(fc.asyncProperty(TEMPLATES, async (name) => {
      box.name = name;
      const body = await (await responseOf(app, "/")).text();
      assert(body === "" || body === "inside", body);
    }));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("`html` prints any text so that a parser reads the text, and nothing else", async () => {
  const texts = made(
    ..."< > & ' \" = ` / ! -- &amp; &lt <!-- --> </p> </textarea> <script> onclick= &#x27"
      .split(" "),
    ...NAMES,
  );
  await holds(fc.property(texts, (text) => {
    const page = html`<p title="${text}" lang='${text}'>${text}</p><i></i>`;
    const [p, i] = parseFragment(String(page)).childNodes as Element[];
    // A parser drops NUL, which no HTML can carry.
    const read = text.replaceAll("\0", "");
    assertEquals(p!.attrs.map(({ value }) => value), [text, text]);
    assertEquals(p!.childNodes.length, read === "" ? 0 : 1);
    assertEquals((p!.childNodes[0] as TextNode | undefined)?.value ?? "", read);
    assertEquals([i!.nodeName, i!.attrs], ["i", []]);
  }));
});

Deno.test("`events()` sends any data so that a client reads the data, line by line", async () => {
  const app = quiet();
  const box = { data: "" };
  app.route("/", () => app.response().events([{ data: box.data }]));
  const texts = made(
    ..."\n \r \r\n : data: event: id: \u2028 a".split(" "),
    "\n",
    "\r",
    "\r\n\r\n",
  );
  await holds(fc.asyncProperty(texts, async (text) => {
    box.data = text;
    const sent = await (await responseOf(app, "/")).text();
    const lines = sent.split(/\r\n|\r|\n/);
    assertEquals(lines.splice(-2), ["", ""]);
    const data = lines.map((line) => line.replace(/^data: /, ""));
    assert(lines.every((line) => line.startsWith("data: ")), sent);
    assertEquals(data.join("\n"), text.toWellFormed().replace(/\r\n?/g, "\n"));
  }));
});

// Helpers

/** Runs a property, and checks that it leaves the prototypes as they were. */
async function holds(
  // deno-lint-ignore no-explicit-any -- what a property takes is between it and its arbitraries
  property: fc.IProperty<any> | fc.IAsyncProperty<any>,
): Promise<void> {
  const before = prototypes();
  await fc.assert(property as fc.IAsyncProperty<unknown>, RUNS);
  assertEquals(prototypes(), before);
}

function prototypes(): string[] {
  return [Object, Array, Function, String, Promise, Map, Request, Response]
    .flatMap(({ name, prototype }) =>
      Reflect.ownKeys(prototype).map((key) => `${name}.${String(key)}`)
    );
}

/** What the action returns; undefined when it refuses its input. */
function attempt<Result>(
  action: () => Result,
  refusal: typeof Error | typeof HttpError = HttpError,
): Result | undefined {
  try {
    return action();
  } catch (error) {
    assertInstanceOf(error, refusal);
    return undefined;
  }
}

/** An application that keeps each error that is no refusal, so that the test fails. */
function quiet(): Engine {
  const app = new Engine();
  app.before("error", ([error]) => {
    const isRefusal = error instanceof HttpError && error.status < 500;
    if (!isRefusal) failures.set(app.request().raw, error);
  });
  return app;
}

/** The errors that are no refusals, by request. */
const failures = new WeakMap<Request, unknown>();

/** An application that reads everything of a request, and sets validators. */
function everything(): Engine {
  const app = quiet();
  app.set("framework.trust_proxy", true);
  app.route("/*", () => {
    const request = app.request();
    const { query, cookies, ip, proxy_ip, scheme, type, length, accept } =
      request;
    const { data, files } = request;
    for (const record of [query, cookies, files]) assertBare(record);
    assertEquals(Object.getPrototypeOf(data), null);
    app.etag("tag");
    app.lastModified(1_000_000_000);
    return {
      ip,
      proxy_ip,
      scheme,
      type,
      length,
      accept,
      body: request.getBody().length,
    };
  });
  return app;
}

/** Checks that a record, and each in it, has no prototype that a name could reach. */
function assertBare(value: unknown): void {
  if (typeof value !== "object" || value === null || value instanceof Blob) {
    return;
  }
  if (!Array.isArray(value)) assertEquals(Object.getPrototypeOf(value), null);
  Object.values(value).forEach(assertBare);
}

/** Visits an application; fails when the input alone causes an error of the server. */
async function responseOf(
  app: Engine,
  path: string,
  init?: RequestInit,
): Promise<Response> {
  const request = new Request(`http://localhost${path}`, init);
  const response = await app.fetch(request);
  const failure = failures.get(request);
  if (failure !== undefined) throw failure;
  assert(response.status < 500, `${response.status} for ${path}`);
  return response;
}

function trimmed(value: string): string {
  return value.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
}
