/** An application behind nginx, by the configuration of `docs/in_production.md` and by a bare `proxy_pass`. */

import { Engine } from "@framework/core";
import { assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import { certificate } from "../support/certificate.ts";
import { logOf } from "../support/log.ts";
import {
  type Configure,
  documented,
  isMissing,
  Nginx,
} from "../support/nginx.ts";
import { freePort } from "../support/ports.ts";
import { sendRaw } from "../support/raw_http.ts";
import { ServerProcess } from "../support/server_child.ts";

const MIB = 1024 * 1024;

/** An application with nginx in front. */
interface Site {
  readonly app: Engine;
  /** The port of nginx. */
  readonly port: number;
  /** Fetches a path from nginx. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

/** How nginx is configured for an application, by its address such as `127.0.0.1:8000`. */
type Setup = (upstream: string) => Promise<Configure> | Configure;

const plain: Setup = (upstream) => documented([upstream]);
const secure: Setup = (upstream) => documented([upstream], true);

/** Nothing but a `proxy_pass`, below a path and to a path. */
function bare(location = "/", path = ""): Setup {
  return (upstream) => (port) => `
    server {
      listen 127.0.0.1:${port};
      location ${location} { proxy_pass http://${upstream}${path}; }
    }`;
}

/** Declares a test of an application that serves behind nginx, and trusts it. */
function proxyTest(
  name: string,
  setup: Setup,
  declare: (app: Engine) => void,
  test: (site: Site) => Promise<void>,
): void {
  Deno.test({ name, ignore: isMissing }, async () => {
    const app = new Engine();
    app.set("framework.trust_proxy", true);
    declare(app);
    await using server = app.start({ port: 0, signals: false, onListen() {} });
    const upstream = `127.0.0.1:${(server.addr as Deno.NetAddr).port}`;
    const { cert, key } = await certificate();
    const files = { "site.pem": cert, "site.key": key };
    await using nginx = await Nginx.start(await setup(upstream), files);
    using client = Deno.createHttpClient({ caCerts: [cert] });
    const scheme = setup === secure ? "https" : "http";
    const origin = `${scheme}://127.0.0.1:${nginx.port}`;
    await test({
      app,
      port: nginx.port,
      fetch: (path, init = {}) => fetch(origin + path, { ...init, client }),
    });
  });
}

proxyTest(
  "`ip`, `origin` and `id` are what the proxy says, not what the client claims",
  secure,
  (app) => {
    app.route("/", () => {
      const { ip, scheme, secure, origin, id } = app.request();
      return { ip, scheme, secure, origin, id };
    });
  },
  async ({ fetch, port }) => {
    const headers = {
      forwarded: "for=192.0.2.1;host=evil.example",
      "x-forwarded-for": "192.0.2.1",
      "x-forwarded-proto": "http",
      "x-forwarded-host": "evil.example",
      "x-request-id": "mine",
    };
    const { id, ...rest } = await (await fetch("/", { headers })).json();
    const origin = `https://127.0.0.1:${port}`;
    assertEquals(rest, {
      ip: "127.0.0.1",
      scheme: "https",
      secure: true,
      origin,
    });
    assertMatch(id, /^[\da-f]{32}$/);
  },
);

proxyTest(
  "behind TLS, `redirect()` stays on the site and cookies are `Secure`",
  secure,
  (app) => {
    app.route("/", () => {
      app.response().cookie("theme", "dark");
      app.redirect("/here");
    });
    app.route("/here", () => app.request().url);
  },
  async ({ fetch, port }) => {
    const response = await fetch("/", { redirect: "manual" });
    await response.body?.cancel();
    assertMatch(response.headers.getSetCookie().join(), /; Secure\b/);
    const { url } = await fetch("/").then(bodyless);
    assertEquals(url, `https://127.0.0.1:${port}/here`);
  },
);

proxyTest(
  "uploads come whole, and a larger one is the application's 413",
  plain,
  (app) => {
    app.route("POST /", () => {
      const { file } = app.request().files;
      return { size: (file as File).size };
    });
  },
  async ({ fetch }) => {
    const upload = async (size: number): Promise<[number, unknown]> => {
      const body = new FormData();
      body.set("file", new Blob([new Uint8Array(size)]), "a.bin");
      const headers = { accept: "application/json" };
      const init = { method: "POST", body, headers };
      const response = await fetch("/", init);
      return [response.status, await response.json()];
    };
    assertEquals(await upload(3 * MIB), [200, { size: 3 * MIB }]);
    const [status, problem] = await upload(8 * MIB + 1);
    assertEquals([status, (problem as { status: number }).status], [413, 413]);
  },
);

for (
  const [name, setup] of Object.entries({ documented: plain, bare: bare() })
) {
  const next = Promise.withResolvers<void>();
  proxyTest(
    `an event is there before the next one is sent (${name} nginx)`,
    setup,
    (app) => {
      app.route("/", () =>
        app.response().events(async function* () {
          yield { data: "one" };
          await next.promise;
          yield { data: "two" };
        }()));
    },
    async ({ fetch }) => {
      const { body } = await fetch("/");
      const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
      assertEquals((await reader.read()).value, "data: one\n\n");
      next.resolve();
      assertEquals((await reader.read()).value, "data: two\n\n");
      assertEquals((await reader.read()).done, true);
    },
  );
}

proxyTest(
  "WebSockets open, and send both ways",
  plain,
  (app) => {
    app.route("/", () => {
      const { socket, response } = app.request().upgrade();
      socket.onmessage = ({ data }) => socket.send(`${data} back`);
      return response;
    });
  },
  async ({ port }) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
    socket.onopen = () => socket.send("there and");
    const text = await new Promise((resolve) => {
      socket.onmessage = ({ data }) => resolve(data);
      socket.onclose = () => resolve("closed");
    });
    assertEquals(text, "there and back");
    const closed = new Promise((resolve) => socket.onclose = resolve);
    socket.close();
    await closed;
  },
);

proxyTest(
  "`framework.hosts` refuses other hosts with 421",
  plain,
  (app) => {
    app.set("framework.hosts", ["example.com"]);
    app.route("/", () => "here");
  },
  async ({ port }) => {
    const status = async (...lines: string[]): Promise<number> => {
      const head = ["GET / HTTP/1.1", ...lines, "connection: close"];
      return (await sendRaw(port, `${head.join("\r\n")}\r\n\r\n`)).status;
    };
    assertEquals(await status("host: example.com"), 200);
    assertEquals(await status("host: evil.example"), 421);
    const forwarded = "x-forwarded-host: example.com";
    assertEquals(await status("host: evil.example", forwarded), 421);
  },
);

proxyTest(
  "an error has no details behind a bare proxy that is trusted, also under `framework.debug`",
  bare(),
  (app) => {
    app.set("framework.debug", true);
    app.route("/", () => {
      throw new Error("of the database");
    });
  },
  async ({ fetch }) => {
    for (const accept of ["text/html", "application/json"]) {
      await logOf(async () => {
        const response = await fetch("/", { headers: { accept } });
        const text = await response.text();
        assertEquals(response.status, 500);
        assertNotMatch(text, /of the database|proxies_test/);
      });
    }
  },
);

/** nginx in front of a base path, which it keeps or strips. */
const BASES = { keeps: bare("/shop/"), strips: bare("/shop/", "/") };

for (const [what, setup] of Object.entries(BASES)) {
  proxyTest(
    `\`framework.base_url\` works where the proxy ${what} the base path`,
    setup,
    (app) => {
      app.set("framework.base_url", "/shop");
      app.route("/", () => app.redirect("/cart/1"));
      const cart = () => app.getUrl("cart", { id: 2 });
      app.route("/cart/@id", cart, false, "cart");
    },
    async ({ fetch, port }) => {
      const response = await fetch("/shop/");
      assertEquals(response.url, `http://127.0.0.1:${port}/shop/cart/1`);
      assertEquals(await response.text(), "/shop/cart/2");
    },
  );
}

Deno.test({
  name: "no page fails while two processes behind nginx restart in turn",
  ignore: isMissing,
}, async () => {
  const ports = [freePort(), freePort()];
  const start = async (port: number): Promise<ServerProcess> => {
    const server = await ServerProcess.start(`
      import { Framework } from "@framework/core";
      Framework.route("/@n", async (n) => {
        await new Promise((resolve) => setTimeout(resolve, 10));
        return n;
      });
      Framework.start({ port: ${port} });
    `);
    await server.port();
    return server;
  };
  const servers = await Promise.all(ports.map(start));
  const upstreams = ports.map((port) => `127.0.0.1:${port} max_fails=0`);
  await using nginx = await Nginx.start(await documented(upstreams));
  let isOver = false;
  const clients = Array.from({ length: 8 }, async (_, client) => {
    for (let n = 0; !isOver; n++) {
      const url = `http://127.0.0.1:${nginx.port}/${client}-${n}`;
      assertEquals(await (await fetch(url)).text(), `${client}-${n}`);
    }
  });
  const restart = async (): Promise<void> => {
    for (const index of [0, 1, 0, 1]) {
      const server = servers[index]!;
      server.kill("SIGTERM");
      assertEquals((await server.ended()).code, 0);
      await server[Symbol.asyncDispose]();
      servers[index] = await start(ports[index]!);
    }
  };
  await Promise.all([...clients, restart().finally(() => isOver = true)]);
  for (const server of servers) await server[Symbol.asyncDispose]();
});

async function bodyless(response: Response): Promise<Response> {
  await response.body?.cancel();
  return response;
}
