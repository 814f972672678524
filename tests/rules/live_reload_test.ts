/** Tests live reload on the wire: which pages get the script, who may have it, and what its events tell. */

import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { Engine } from "@framework/core";
import { files } from "@framework/core/files";
import { Desk } from "../support/desk.ts";
import { logOf } from "../support/log.ts";

const PAGE = "<!doctype html><html><body>Gr\u00fc\u00dfe</body></html>";
const TAG = '<script src="/.framework/live.js" defer></script>\n';
const LIVE_PAGE = PAGE + TAG; // browsers run it there, too

function html(body: string, headers: HeadersInit = {}, status = 200): Response {
  const response = new Response(body, { status, headers });
  response.headers.set("content-type", "text/html; charset=utf-8");
  return response;
}

/** The states that a server tells to a page. */
class Events {
  readonly #reader: ReadableStreamDefaultReader<string>;

  constructor({ body }: Response) {
    this.#reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  }

  static async of(desk: Desk, path = "/.framework/live"): Promise<Events> {
    return new Events(await desk.visit(path));
  }

  /** The next state; undefined at the end. */
  async next(): Promise<string | undefined> {
    const { value } = await this.#reader.read();
    return /\ndata: (\S+)\n\n$/.exec(value ?? "")?.[1];
  }

  /** Leaves as a page does. */
  async leave(): Promise<void> {
    await this.#reader.cancel();
  }
}

/** The state by which the response to a path was made. */
async function stateOf(desk: Desk, path = "/"): Promise<string | undefined> {
  const { headers, body } = await desk.visit(path);
  await body?.cancel();
  return /live;desc="([^"]+)"/.exec(headers.get("server-timing") ?? "")?.[1];
}

// The script

Deno.test("a page for a client on this machine gets the script behind its end", async () => {
  const long = PAGE.replace("ü", "ü".repeat(10_000));
  await using desk = new Desk((app) => {
    app.route("/", () => PAGE);
    app.route("/long", () => long);
  });
  assertEquals(await (await desk.visit("/")).text(), LIVE_PAGE);
  assertEquals(await (await desk.visit("/long")).text(), long + TAG);
});

Deno.test("a page that is streamed gets the script, and is still sent as it is made", async () => {
  const { promise: isShown, resolve } = Promise.withResolvers<void>();
  await using desk = new Desk((app) =>
    app.route("/", async function* () {
      yield "<body>first";
      await isShown;
      yield "</body>";
    })
  );
  const { body } = await desk.visit("/");
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  assertEquals((await reader.read()).value, "<body>first");
  resolve();
  let rest = "";
  for (let each; (each = await reader.read()).value;) rest += each.value;
  assertEquals(rest, `</body>${TAG}`);
});

Deno.test("live reload leaves what is no whole page for a browser to show as it is", async () => {
  const responses: Readonly<Record<string, () => Response>> = {
    fragment: () => html("<p>part</p>"),
    text: () => new Response(PAGE),
    JSON: () => Response.json({ html: PAGE }),
    encoded: () => html(PAGE, { "content-encoding": "identity" }),
    download: () => html(PAGE, { "content-disposition": "attachment" }),
    part: () => html(PAGE, { "content-range": "bytes 0-1/9" }, 206),
  };
  await using desk = new Desk((app) =>
    app.route("/@name", (name) => responses[name]!())
  );
  for (const [name, make] of Object.entries(responses)) {
    const response = await desk.visit(`/${name}`);
    assertEquals(await response.text(), await make().text(), name);
  }
});

Deno.test("the script has the nonce of the page's policy", async () => {
  const policy = "script-src 'nonce-aB3+/=' 'strict-dynamic'";
  const headers = { "content-security-policy": policy };
  await using desk = new Desk((app) =>
    app.route("/", () => html(PAGE, headers))
  );
  const text = await (await desk.visit("/")).text();
  assertMatch(
    text,
    /<script src="[^"]+" [^>]*nonce="aB3\+\/="[^>]*><\/script>/,
  );
});

/** Clients that may see nothing of live reload: address, host, and whether `framework.debug` is set. */
const STRANGERS: Readonly<Record<string, [string, string, boolean]>> = {
  "on another machine": ["192.0.2.1", "localhost", true],
  "that was led here by a foreign name": ["127.0.0.1", "evil.example", true],
  "without `framework.debug`": ["127.0.0.1", "localhost", false],
};

for (const [who, [hostname, host, isDebug]] of Object.entries(STRANGERS)) {
  Deno.test(`a client ${who} gets no script, and the application's 404`, async () => {
    const app = new Engine();
    app.set("framework.debug", isDebug);
    app.map("notFound", () => "mine");
    app.route("/", () => PAGE);
    const remoteAddr = { transport: "tcp", hostname, port: 1 } as const;
    const textOf = async (path: string): Promise<string> => {
      const url = `http://${host}${path}`;
      return await (await app.fetch(url, { remoteAddr })).text();
    };
    assertEquals(await textOf("/"), PAGE);
    assertEquals(await textOf("/.framework/live"), "mine");
    assertEquals(await textOf("/.framework/live.js"), "mine");
  });
}

// The events

Deno.test("the events tell the state at once, and anew when a template of a page changes", async () => {
  await using desk = new Desk((app) =>
    app.route("/", () => app.render("home.vto"))
  );
  await desk.write("part.vto", "one");
  await desk.write("home.vto", '<body>{{ include "part.vto" }}</body>');
  const made = await stateOf(desk);
  const events = await Events.of(desk);
  assertMatch(made!, /./);
  assertEquals(await events.next(), made);
  await desk.write("part.vto", "another");
  assertNotEquals(await events.next(), made);
  await events.leave();
});

Deno.test("the events end when the server shuts down", async () => {
  await using desk = new Desk((app) => {
    // Events end by themselves after ten seconds. Held up for less, a drain aborts them, which is logged.
    app.set("framework.shutdown_timeout", 5);
  });
  const events = await Events.of(desk);
  assertMatch(await events.next() ?? "", /./);
  assertEquals(await logOf(() => desk.shutdown()), []);
  assertEquals(await events.next(), undefined);
});

Deno.test("the events tell of a static file that a page has named", async () => {
  await using desk = new Desk((app, folder) => {
    const asset = files(app, "/public", folder);
    app.route("/", () => html(asset("style.css")));
  });
  await desk.write("style.css", "");
  await stateOf(desk);
  const events = await Events.of(desk);
  const made = await events.next();
  await desk.write("style.css", "* {}");
  assertNotEquals(await events.next(), made);
  await events.leave();
});
