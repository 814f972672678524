/** An application behind nginx, by the configuration of `docs/in_production.md` and by a bare `proxy_pass`. */

import { Engine } from "@framework/core";
import { assertEquals, assertMatch } from "@std/assert";
import { certificate } from "../support/certificate.ts";
import {
  type Configure,
  documented,
  isMissing,
  Nginx,
} from "../support/nginx.ts";
import { freePort } from "../support/ports.ts";
import { ServerProcess } from "../support/server_child.ts";

/** An application with nginx in front. */
interface Site {
  /** The port of nginx. */
  readonly port: number;
  /** Fetches a path from nginx. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

/** How nginx is configured for an application, by its address such as `127.0.0.1:8000`. */
type Setup = (upstream: string) => Promise<Configure> | Configure;

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

const next = Promise.withResolvers<void>();

proxyTest(
  "an event is there before the next one is sent",
  bare(),
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
