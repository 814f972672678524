/** Live reload on the wire: which documents get the script, who may have it, and what its events tell. */

import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { Engine, HttpError } from "@framework/core";
import { files } from "@framework/core/files";
import { secondsOf } from "./clock.ts";
import { Desk } from "./desk.ts";
import { logOf } from "./log.ts";

const PAGE = "<!doctype html><html><body>Grüße</body></html>";
const TAG = '<script src="/.framework/live.js" defer></script>\n';
const LIVE_PAGE = `<!doctype html><html><body>Grüße${TAG}</body></html>`;

/** The states that a server tells. */
class Events {
  readonly #reader: ReadableStreamDefaultReader<string>;

  constructor(readonly response: Response) {
    const texts = response.body!.pipeThrough(new TextDecoderStream());
    this.#reader = texts.getReader();
  }

  /** The next state; undefined at the end. */
  async next(): Promise<string | undefined> {
    const { value } = await this.#reader.read();
    if (value === undefined) return undefined;
    const [, state] = /^retry: 250\ndata: (\S+)\n\n$/.exec(value) ?? [];
    return state ?? value;
  }

  /** Leaves as a client does. */
  async leave(): Promise<void> {
    await this.#reader.cancel();
  }
}

/** Listens to the events of a server. */
async function listen(desk: Desk): Promise<Events> {
  return new Events(await desk.visit("/.framework/live"));
}

/** The state by which a response was made. */
function stateOf({ headers }: Response): string | undefined {
  return /live;desc="([^"]+)"/.exec(headers.get("server-timing") ?? "")?.[1];
}

Deno.test("a document for a client on this machine gets the script, and its length is right", async () => {
  await using desk = new Desk((app) => app.route("/", () => PAGE));
  const response = await desk.visit("/");
  const text = await response.text();
  assertEquals(text, LIVE_PAGE);
  const length = String(new TextEncoder().encode(text).length);
  assertEquals(response.headers.get("content-length"), length);
});

Deno.test("a page of an error or of nothing found gets the script", async () => {
  await using desk = new Desk((app) =>
    app.route("/boom", () => {
      throw new HttpError(409, "Taken");
    })
  );
  const headers = { accept: "text/html" };
  for (const path of ["/boom", "/nowhere"]) {
    const response = await desk.visit(path, { headers });
    assertStringIncludes(await response.text(), TAG);
  }
});

/** Responses that are no document for the client to show, or that are sent as they were made. */
const OTHERS: Readonly<Record<string, () => Response>> = {
  fragment: () => html("<p>part</p>"),
  text: () => new Response(PAGE, { headers: { "content-type": "text/plain" } }),
  JSON: () => Response.json({ html: PAGE }),
  stream: () =>
    new Response(ReadableStream.from([new TextEncoder().encode(PAGE)]), {
      headers: { "content-type": "text/html" },
    }),
  "encoded document": () => html(PAGE, { "content-encoding": "identity" }),
  download: () => html(PAGE, { "content-disposition": "attachment" }),
  part: () => html(PAGE, { "content-range": "bytes 0-1/9" }, 206),
};

function html(
  body: BodyInit,
  headers: Record<string, string> = {},
  status = 200,
): Response {
  const type = "text/html; charset=utf-8";
  return new Response(body, {
    status,
    headers: { "content-type": type, ...headers },
  });
}

for (const [name, make] of Object.entries(OTHERS)) {
  Deno.test(`live reload leaves a response as it is: ${name}`, async () => {
    await using desk = new Desk((app) => app.route("/", make));
    const response = await desk.visit("/");
    assertEquals(stateOf(response), undefined);
    assertEquals(await response.text(), await make().text());
  });
}

Deno.test("the script stands at the last end of a body, in bytes of any encoding", async () => {
  const latin1 = Uint8Array.from(
    "<body>\xfc</BODY ></body\n>",
    (character) => character.charCodeAt(0),
  );
  await using desk = new Desk((app) => app.route("/", () => html(latin1)));
  const bytes = await (await desk.visit("/")).bytes();
  const text = new TextDecoder("latin1").decode(bytes);
  assertEquals(text, `<body>\xfc</BODY >${TAG}</body\n>`);
});

Deno.test("requests for addresses of debug itself are over with their responses", async () => {
  const app = new Engine();
  app.set("framework.debug", true);
  app.set("framework.shutdown_timeout", 1);
  app.route("/", () => PAGE);
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const url = `http://127.0.0.1:${port}/.framework/live.js`;
  for (let n = 0; n < 3; n++) await (await fetch(url)).text();
  assertEquals(await logOf(() => server.shutdown()), []);
});

Deno.test("a HEAD of a response that has no body keeps its status", async () => {
  await using desk = new Desk((app) =>
    app.route("/", () => {
      app.response().status(204).header("content-type", "text/html");
      app.response().header("content-length", 0);
    })
  );
  for (const method of ["GET", "HEAD"]) {
    const response = await desk.visit("/", { method });
    await response.body?.cancel();
    assertEquals(response.status, 204, method);
  }
});

Deno.test("a HEAD of a document has no length, which only a GET can tell", async () => {
  await using desk = new Desk((app) => app.route("/", () => PAGE));
  const response = await desk.visit("/", { method: "HEAD" });
  assertEquals(response.headers.get("content-length"), null);
  assertEquals(await response.text(), "");
});

Deno.test("a document keeps its `ETag`, and a 304 tells the state of live reload", async () => {
  await using desk = new Desk((app) =>
    app.route("/", () => {
      app.etag("one");
      return PAGE;
    })
  );
  const { headers } = await bodyless(await desk.visit("/"));
  assertEquals(headers.get("etag"), '"one"');
  const again = { headers: { "if-none-match": '"one"' } };
  const unchanged = await desk.visit("/", again);
  assertEquals([unchanged.status, await unchanged.text()], [304, ""]);
  assertMatch(stateOf(unchanged) ?? "", /^[-\w]+\.\d+$/);
});

Deno.test("the script has the nonce of the page's policy, and the method that is not repeated", async () => {
  const policy = "script-src 'nonce-aB3+/=' 'strict-dynamic'";
  await using desk = new Desk((app) =>
    app.route("POST /", () => html(PAGE, { "content-security-policy": policy }))
  );
  const response = await desk.visit("/", { method: "POST" });
  const attributes = 'data-method="POST" nonce="aB3+/=" defer';
  assertStringIncludes(
    await response.text(),
    `<script src="/.framework/live.js" ${attributes}></script>`,
  );
});

Deno.test("a document of `files()` gets the script", async () => {
  await using desk = new Desk((app, folder) => files(app, "/", folder));
  await desk.write("page.html", PAGE);
  const response = await desk.visit("/page.html");
  assertEquals(await response.text(), LIVE_PAGE);
});

Deno.test("live reload comes before every route, below the base", async () => {
  await using desk = new Desk((app) => {
    app.set("framework.base_url", "/shop");
    app.before("start", () => app.halt(403));
    app.route("*", () => PAGE);
    app.after("send", () => app.halt(403));
  });
  const response = await desk.visit("/shop/.framework/live.js");
  const type = "text/javascript; charset=utf-8";
  assertEquals(response.headers.get("content-type"), type);
  assertEquals(response.headers.get("cache-control"), "no-store");
  assertStringIncludes(await response.text(), "EventSource");
});

Deno.test("the script's address is below the base", async () => {
  await using desk = new Desk((app) => {
    app.set("framework.base_url", "/shop");
    app.route("/", () => PAGE);
  });
  const text = await (await desk.visit("/shop/")).text();
  assertStringIncludes(text, '<script src="/shop/.framework/live.js" defer>');
});

Deno.test("an application that is mounted in another has live reload below its prefix", async () => {
  const inner = new Engine();
  inner.set("framework.debug", true);
  inner.route("/page", () => PAGE);
  await using desk = new Desk((app) => {
    app.set("framework.debug", false);
    app.mount("/admin", inner);
  });
  const text = await (await desk.visit("/admin/page")).text();
  assertStringIncludes(text, '<script src="/admin/.framework/live.js" defer>');
  const response = await desk.visit("/admin/.framework/live");
  assertEquals(response.headers.get("content-type"), "text/event-stream");
  const events = new Events(response);
  assertMatch(await events.next() ?? "", /^[-\w]+\.\d+$/);
  const { promise: late, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(resolve, 8_000, "by aborting it after ten seconds");
  const ended = desk.shutdown().then(() => "by asking it to");
  assertEquals(await Promise.race([ended, late]), "by asking it to");
  clearTimeout(timer);
  assertEquals(await events.next(), undefined);
});

/** Clients that may see nothing of live reload. */
const STRANGERS: Readonly<Record<string, ClientOf>> = {
  "on another machine": () => ({ remote: "192.0.2.1" }),
  "behind a proxy": () => ({ headers: { "x-forwarded-for": "127.0.0.1" } }),
  "that was led here by a foreign name": () => ({ host: "evil.example" }),
  "that is the program itself": () => ({ isProgram: true }),
  "under `framework.trust_proxy`": (app) => {
    app.set("framework.trust_proxy", true);
    return {};
  },
  "without `framework.debug`": (app) => {
    app.set("framework.debug", false);
    return {};
  },
};

type ClientOf = (app: Engine) => {
  readonly remote?: string;
  readonly isProgram?: boolean;
  readonly host?: string;
  readonly headers?: Record<string, string>;
};

for (const [name, clientOf] of Object.entries(STRANGERS)) {
  Deno.test(`a client ${name} gets no script, and the application's 404`, async () => {
    const app = new Engine();
    app.set("framework.debug", true);
    app.map("notFound", () => "mine");
    app.route("/", () => PAGE);
    const { remote: hostname = "127.0.0.1", host = "localhost", ...client } =
      clientOf(app);
    const remoteAddr = { transport: "tcp", hostname, port: 1 } as const;
    const info = client.isProgram ? undefined : { remoteAddr };
    const headers = client.headers ?? {};
    const visit = (path: string): Promise<Response> =>
      Promise.resolve(
        app.fetch(new Request(`http://${host}${path}`, { headers }), info),
      );
    assertEquals(await (await visit("/")).text(), PAGE);
    for (const path of ["/.framework/live", "/.framework/live.js"]) {
      const response = await visit(path);
      assertEquals([response.status, await response.text()], [404, "mine"]);
    }
  });
}

Deno.test("the events tell the state at once, and anew when a template in use changes", async () => {
  await using desk = new Desk((app) =>
    app.route("/", () => app.render("home.vto"))
  );
  await desk.write("part.vto", "one");
  await desk.write("home.vto", '<body>{{ include "part.vto" }}</body>');
  const events = await listen(desk);
  const made = await events.next();
  assertEquals(stateOf(await bodyless(await desk.visit("/"))), made);
  const began = performance.now();
  await desk.write("part.vto", "another");
  assertNotEquals(await events.next(), made);
  assert(performance.now() - began < 5_000, "the change was noticed late");
  await events.leave();
});

Deno.test("the events tell of a template that was missing", async () => {
  await using desk = new Desk((app) => app.route("/", () => app.render("new")));
  await logOf(async () => bodyless(await desk.visit("/")));
  const events = await listen(desk);
  const missing = await events.next();
  await desk.write("new.vto", "there");
  assertNotEquals(await events.next(), missing);
  await events.leave();
});

Deno.test("the events tell of a template whose folder was missing", async () => {
  await using desk = new Desk((app, folder) => {
    app.set("framework.views.path", `${folder}/views`);
    app.route("/", () => app.render("home.vto"));
  });
  await logOf(async () => bodyless(await desk.visit("/")));
  const events = await listen(desk);
  const missing = await events.next();
  await Deno.mkdir(`${desk.folder}/views`);
  await desk.write("views/home.vto", "there");
  assertNotEquals(await events.next(), missing);
  await events.leave();
});

Deno.test("the events tell of a template that a view of the application's own uses", async () => {
  await using desk = new Desk((app, folder) => {
    app.set("framework.views.extension", ".txt");
    const read = (name: string) => Deno.readTextFile(`${folder}/${name}.txt`);
    app.map("render", read);
    app.route("/", () => read("home"));
  });
  await desk.write("home.txt", "<body>one</body>");
  await bodyless(await desk.visit("/"));
  const events = await listen(desk);
  const state = await events.next();
  await desk.write("home.txt", "<body>another</body>");
  assertNotEquals(await events.next(), state);
  await events.leave();
});

Deno.test("the events tell of a static file that a page has loaded, or named", async () => {
  await using desk = new Desk((app, folder) => {
    const asset = files(app, "/public", folder);
    app.route("/", () => html(asset("named.css")));
  });
  await desk.write("loaded.css", "");
  await bodyless(await desk.visit("/public/loaded.css"));
  await bodyless(await desk.visit("/"));
  const events = await listen(desk);
  let state = await events.next();
  for (const name of ["loaded.css", "named.css"]) {
    await desk.write(name, "* {}");
    const next = await events.next();
    assertNotEquals(next, state, name);
    state = next;
  }
  await events.leave();
});

Deno.test("what changes while no page listens is told to the next one", async () => {
  await using desk = new Desk((app) =>
    app.route("/", () => app.render("home.vto"))
  );
  await desk.write("home.vto", "<body>one</body>");
  const made = stateOf(await bodyless(await desk.visit("/")));
  await desk.write("home.vto", "<body>another</body>");
  const events = await listen(desk);
  assertNotEquals(await events.next(), made);
  await events.leave();
});

Deno.test("the events tell nothing of a file that no page uses", async () => {
  await using desk = new Desk((app) =>
    app.route("/", () => app.render("home.vto"))
  );
  await desk.write("home.vto", "one");
  await bodyless(await desk.visit("/"));
  const events = await listen(desk);
  const state = await events.next();
  await desk.write("data.json", "{}");
  await new Promise((resolve) => setTimeout(resolve, 200));
  const other = await listen(desk);
  assertEquals(await other.next(), state);
  await Promise.all([events.leave(), other.leave()]);
});

Deno.test("`shutdown()` ends the events at once", async () => {
  await using desk = new Desk((app) =>
    app.set("framework.shutdown_timeout", 60)
  );
  const events = await listen(desk);
  await events.next();
  const began = performance.now();
  const end = events.next();
  await desk.shutdown();
  assertEquals(await end, undefined);
  assert(performance.now() - began < 30_000, "the shutdown was delayed");
});

Deno.test("the events end after ten seconds, so that any server can shut down", async () => {
  const app = new Engine();
  app.set("framework.debug", true);
  const local = { transport: "tcp", hostname: "127.0.0.1", port: 1 } as const;
  const info = { remoteAddr: local };
  const visit = () =>
    app.fetch(new Request("http://localhost/.framework/live"), info);
  await (await visit()).body?.cancel(); // loads what debug needs
  const seconds = await secondsOf(async () => await (await visit()).text());
  assertEquals(seconds, 10);
});

async function bodyless(response: Response): Promise<Response> {
  await response.body?.cancel();
  return response;
}
