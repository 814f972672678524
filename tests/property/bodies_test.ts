/**
 * What holds for any request: no input alone is a 500 or changes a prototype, and what was sent is what is read. The
 * same inputs each time; with a number as its argument (`deno test … -- 10000`), that many new ones.
 */

import { assert, assertEquals } from "@std/assert";
import { Engine } from "@framework/core";
import { numbers } from "../support/random.ts";
import { sendRaw } from "../support/raw_http.ts";

const [given] = Deno.args;
const RUNS = Number(given ?? 200);
const SEED = given === undefined ? 20_261_120 : Date.now() | 0;

/** Random choices, the same for the same seed. */
class Random {
  /** A whole number from 0, below a bound. */
  readonly below: (bound: number) => number;

  constructor(seed: number) {
    this.below = numbers(seed);
  }

  of<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)]!;
  }

  /** Some of these parts in a row, with random text between them. */
  text(parts: readonly string[] = []): string {
    const some = Array.from({ length: this.below(12) }, () => {
      if (parts.length > 0 && this.below(3) > 0) return this.of(parts);
      return String.fromCharCode(this.below(this.of([128, 256, 0x10000])));
    });
    return some.join("").toWellFormed();
  }

  /** Text that a header may carry: one byte a character, no control characters. */
  header(parts: readonly string[] = []): string {
    return this.text(parts).replace(/[^\t\x20-\x7e\x80-\xff]/g, "").trim();
  }
}

const NAMES = "__proto__ constructor prototype toString then".split(" ");

const PATHS = [
  ..."/ // . .. %2e %2E%2e %2f %5c \\ ? # % %zz %00 %ff %c3%bc %ed%a0%80 ü a @ : ; * + ~"
    .split(" "),
  " ",
  ...NAMES,
];

const FIELDS = [
  ..."& = [ ] [] [0] [999999999] [-1] a b % %zz %5B + ; %00 ü".split(" "),
  ...NAMES,
  ...NAMES.map((name) => `[${name}]`),
];

const JSON_PARTS = [
  ...'{ } [ ] , : "a": "__proto__": "x" 1 -0 1e999 null true \\u0000 \ufeff'
    .split(" "),
];

const MULTIPART = [
  "--b",
  "--b--",
  "\r\n",
  "\r\n\r\n",
  '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n',
  'Content-Disposition: form-data; name="__proto__"; filename="../x"',
];

const COOKIES = ["a", "b", "\\", " ", ...'; = , " % %zz'.split(" "), ...NAMES];

const VALUES =
  '* , ; = q=0 q=1.5 " W/ json text/html application/ utf-8 : [] for=1.1.1.1'
    .split(" ");

const BODIES: readonly [type: string, parts: readonly string[]][] = [
  ["application/x-www-form-urlencoded", FIELDS],
  ["application/json", JSON_PARTS],
  ["application/json; charset=nonsense", JSON_PARTS],
  ["multipart/form-data; boundary=b", MULTIPART],
  ["multipart/form-data", MULTIPART],
  ["text/plain", FIELDS],
];

/** The request headers that the framework reads. */
const HEADERS =
  ("accept accept-language client-ip content-type cookie forwarded if-match if-modified-since if-none-match " +
    "range referer user-agent x-forwarded-for x-forwarded-host x-forwarded-proto x-request-id x-requested-with")
    .split(" ");

/** Runs a property for random choices, and checks that the prototypes stay as they were. */
async function holds(
  property: (random: Random) => unknown,
  runs = RUNS,
): Promise<void> {
  const before = prototypes();
  for (let run = 0; run < runs; run++) {
    const seed = SEED + run;
    try {
      await property(new Random(seed));
    } catch (cause) {
      throw new Error(`It does not hold for the seed ${seed}`, { cause });
    }
  }
  assertEquals(prototypes(), before);
}

function prototypes(): string[] {
  return [Object, Array, Function, String, Promise, Map, Request, Response]
    .flatMap(({ name, prototype }) =>
      Reflect.ownKeys(prototype).map((key) => `${name}.${String(key)}`)
    );
}

/** An application that reads everything of a request. */
function everything(): Engine {
  const app = new Engine();
  app.set("framework.trust_proxy", true);
  app.route("*", () => {
    const request = app.request();
    const { query, cookies, ip, proxy_ip, host, scheme, length } = request;
    const { data, files, url } = request;
    for (const record of [query, cookies, files]) assertBare(record);
    assertEquals(Object.getPrototypeOf(data), null);
    request.accepts("text/html");
    request.acceptsLanguages("en");
    app.etag("tag");
    return [url, ip, proxy_ip, host, scheme, length, request.getBody()];
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

/** Visits an application; fails when the input is an error of the server. */
async function visit(
  app: Engine,
  path: string,
  init?: RequestInit,
): Promise<Response> {
  const response = await app.fetch(
    new Request(`http://localhost/${path}`, init),
  );
  assert(response.status < 500, `${response.status} for ${path}`);
  return response;
}

Deno.test("a path is refused, or read as one that reads as itself", async () => {
  const app = everything();
  await holds(async (random) => {
    const response = await visit(app, random.text(PATHS));
    if (response.status !== 200) return await response.body?.cancel();
    const [url] = await response.json();
    assert(!/^[^?]*(?:[\\#\s]|\/\.{1,2}(?:[/?]|$))/.test(url), url);
    const [again] = await (await visit(app, url.slice(1))).json();
    assertEquals(again, url);
  });
});

Deno.test("a served application responds to any bytes, and goes on", async () => {
  const app = everything();
  await using server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  await holds(async (random) => {
    const [host, cookie] = [random.header(VALUES), random.header(COOKIES)];
    const { status } = await sendRaw(
      port,
      `GET /${
        random.text(PATHS)
      } HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}\r\nConnection: close\r\n\r\n`,
    );
    assert(status >= 200 && status < 500, String(status));
  });
});

Deno.test("any query, cookies and headers are data or a refusal", async () => {
  const app = everything();
  await holds(async (random) => {
    const headers = new Headers({ cookie: random.header(COOKIES) });
    for (let count = random.below(4); count > 0; count--) {
      headers.set(random.of(HEADERS), random.header(VALUES));
    }
    const path = `?${random.text(FIELDS)}`;
    await (await visit(app, path, { headers })).body?.cancel();
  });
});

Deno.test("any body of any type is data or a refusal", async () => {
  const app = everything();
  await holds(async (random) => {
    const [type, parts] = random.of(BODIES);
    const headers = { "content-type": type };
    const init = { method: "POST", headers, body: random.text(parts) };
    await (await visit(app, "", init)).body?.cancel();
  });
});

Deno.test("the fields of a form are read as they were sent, in both encodings", async () => {
  const app = new Engine();
  app.post("/", () => Object.entries(app.request().data));
  await holds(async (random) => {
    const fields = new Map<string, string>();
    for (let count = random.below(5); count > 0; count--) {
      // Browsers send a line break of a name or a text as CR LF.
      const text = () => random.text(NAMES).replace(/[\r\n]/g, "");
      fields.set(text().replace(/[[\]]/g, ""), text());
    }
    const form = new FormData();
    for (const [name, value] of fields) form.append(name, value);
    for (const body of [form, new URLSearchParams([...fields])]) {
      const response = await visit(app, "", { method: "POST", body });
      const seen: [string, string][] = await response.json();
      assertEquals(new Map(seen), fields);
    }
  });
});
