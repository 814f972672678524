/** Tests an application behind nginx and Caddy, by the configurations of `docs/in_production.md` and by lesser ones. */

import { Engine } from "@framework/core";
import { sessions } from "@framework/core/sessions";
import {
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { logOf } from "./log.ts";
import * as caddy from "./caddy.ts";
import * as nginx from "./nginx.ts";
import { sendRaw } from "./raw_http.ts";

const MIB = 1024 * 1024;

/** A running proxy. */
interface RunningProxy extends AsyncDisposable {
  readonly port: number;
}

/** A kind of proxy that an application may stand behind. */
interface Proxy {
  readonly name: string;
  readonly isMissing: boolean;
  readonly scheme: "http" | "https";
  /** Starts it with an application behind it, on a port, and with files in its folder. */
  start(
    upstream: number,
    files: Readonly<Record<string, string>>,
  ): Promise<RunningProxy>;
}

/** An application with a proxy in front. */
interface Site {
  readonly app: Engine;
  /** The port of the proxy. */
  readonly port: number;
  readonly origin: string;
  /** What fetches by TLS. */
  readonly client: Deno.HttpClient;
}

/** The documented nginx or Caddy, with TLS or without. */
function documented(program: "nginx" | "Caddy", isSecure = false): Proxy {
  const { isMissing } = program === "nginx" ? nginx : caddy;
  const scheme = isSecure ? "https" : "http";
  return {
    name: program,
    isMissing,
    scheme,
    async start(upstream, files) {
      const server = `127.0.0.1:${upstream}`;
      if (program === "Caddy") {
        const site = await caddy.documented(server, isSecure);
        return await caddy.Caddy.start(scheme, site, files);
      }
      const configure = await nginx.documented([server], isSecure);
      return await nginx.Nginx.start(configure, files);
    },
  };
}

/** An nginx with nothing but a `proxy_pass`, below a path and to a path. */
function bareNginx(location = "/", path = ""): Proxy {
  return {
    name: "bare nginx",
    isMissing: nginx.isMissing,
    scheme: "http",
    start: (upstream) =>
      nginx.Nginx.start((port) => `
        server {
          listen 127.0.0.1:${port};
          location ${location} { proxy_pass http://127.0.0.1:${upstream}${path}; }
        }`),
  };
}

/** A Caddy with nothing but a `reverse_proxy`, by `handle` or `handle_path`, for a path. */
function bareCaddy(handle = "handle", path = "*"): Proxy {
  return {
    name: "bare Caddy",
    isMissing: caddy.isMissing,
    scheme: "http",
    start: (upstream, files) => {
      const proxy = `reverse_proxy 127.0.0.1:${upstream}`;
      const site = `${handle} ${path} {\n${proxy}\n}`;
      return caddy.Caddy.start("http", () => site, files);
    },
  };
}

const WHOLE = [documented("nginx"), documented("Caddy")];
const SECURE = [documented("nginx", true), documented("Caddy", true)];
const BARE = [bareNginx(), bareCaddy()];

/** Declares a test of an application behind each of some proxies. */
function proxyTest(
  name: string,
  proxies: readonly Proxy[],
  test: (site: Site) => Promise<void>,
): void {
  for (const proxy of proxies) {
    const ignore = proxy.isMissing;
    Deno.test({ name: `${name} (${proxy.name})`, ignore }, async () => {
      const app = new Engine();
      app.get("/health", () => "well");
      const server = app.start({ port: 0, signals: false, onListen() {} });
      const address = server.addr as Deno.NetAddr;
      const { cert, key } = await certificate();
      const files = { "site.pem": cert, "site.key": key };
      const client = Deno.createHttpClient({ caCerts: [cert] });
      {
        await using running = await proxy.start(address.port, files);
        const { port } = running;
        const origin = `${proxy.scheme}://127.0.0.1:${port}`;
        app.configure(() => app.set("framework.trust_proxy", true));
        await test({ app, port, origin, client });
      }
      client.close();
      await server.shutdown();
    });
  }
}

/** Declares routes and settings of an application that serves already. */
function declare({ app }: Site, work: (app: Engine) => void): void {
  app.configure(() => work(app));
}

proxyTest(
  "`ip`, `origin` and `id` are what the proxy says, not what the client claims",
  SECURE,
  async (site) => {
    declare(site, (app) =>
      app.route("/", () => {
        const { ip, scheme, secure, host, origin, id } = app.request();
        return { ip, scheme, secure, host, origin, id };
      }));
    const headers = {
      forwarded: "for=192.0.2.1;host=evil.example",
      "x-forwarded-for": "192.0.2.1",
      "x-forwarded-proto": "http",
      "x-forwarded-host": "evil.example",
      "x-request-id": "mine",
    };
    const { origin, client } = site;
    const response = await fetch(origin, { headers, client });
    const { id, ...rest } = await response.json();
    const host = origin.slice("https://".length);
    assertEquals(rest, {
      ip: "127.0.0.1",
      scheme: "https",
      secure: true,
      host,
      origin,
    });
    assertMatch(id, /^[\da-f]{32}$|^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/);
  },
);

proxyTest("cookies are `Secure` behind TLS", SECURE, async (site) => {
  declare(site, (app) => {
    const secret = "at least 32 characters of a secret";
    const session = sessions(app, { secret });
    app.route("/", () => {
      session().set("user", "Ada");
      app.response().cookie("theme", "dark");
    });
  });
  const { origin, client } = site;
  const response = await fetch(origin, { client });
  await response.body?.cancel();
  const cookies = response.headers.getSetCookie();
  assertEquals(cookies.length, 2);
  for (const cookie of cookies) assertMatch(cookie, /; Secure\b/);
});

proxyTest("`redirect()` stays on the site and on TLS", SECURE, async (site) => {
  declare(site, (app) => {
    app.route("/", () => app.redirect("/here"));
    app.route("/here", () => app.request().origin);
  });
  const { origin, client } = site;
  const response = await fetch(origin, { client });
  assertEquals([response.url, await response.text()], [
    `${origin}/here`,
    origin,
  ]);
});

proxyTest(
  "uploads come whole, and a larger one is the application's 413",
  WHOLE,
  async (site) => {
    declare(site, (app) => {
      app.route("POST /", () => {
        const { file } = app.request().files;
        return { size: (file as File).size };
      });
    });
    const upload = async (size: number): Promise<[number, unknown]> => {
      const body = new FormData();
      body.set("file", new Blob([new Uint8Array(size)]), "a.bin");
      const headers = { accept: "application/json" };
      const init = { method: "POST", body, headers };
      const response = await fetch(site.origin, init);
      return [response.status, await response.json()];
    };
    assertEquals(await upload(3 * MIB), [200, { size: 3 * MIB }]);
    const [status, problem] = await upload(8 * MIB + 1);
    assertEquals([status, (problem as { status: number }).status], [413, 413]);
  },
);

proxyTest(
  "an event is there before the next one is sent",
  [...WHOLE, ...BARE],
  async (site) => {
    const next = Promise.withResolvers<void>();
    declare(site, (app) => {
      app.route("/", () =>
        app.response().events(async function* () {
          yield { data: "one" };
          await next.promise;
          yield { data: "two" };
        }()));
    });
    const response = await fetch(site.origin);
    const reader = response.body!.pipeThrough(new TextDecoderStream())
      .getReader();
    assertEquals((await reader.read()).value, "data: one\n\n");
    next.resolve();
    assertEquals((await reader.read()).value, "data: two\n\n");
    assertEquals((await reader.read()).done, true);
  },
);

proxyTest("WebSockets open, and send both ways", WHOLE, async (site) => {
  declare(site, (app) => {
    app.route("/", () => {
      const { socket, response } = app.request().upgrade();
      socket.onmessage = ({ data }) => socket.send(`${data} back`);
      return response;
    });
  });
  const socket = new WebSocket(site.origin.replace("http", "ws"));
  socket.onopen = () => socket.send("there and");
  const text = await new Promise((resolve) => {
    socket.onmessage = ({ data }) => resolve(data);
    socket.onclose = () => resolve("closed");
  });
  assertEquals(text, "there and back");
  const closed = new Promise((resolve) => socket.onclose = resolve);
  socket.close();
  await closed;
});

proxyTest(
  "`framework.hosts` refuses other hosts with 421",
  [documented("nginx")],
  async (site) => {
    declare(site, (app) => {
      app.set("framework.hosts", ["example.com"]);
      app.route("/", () => "here");
    });
    const { port } = site;
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

for (const isDebugging of [false, true]) {
  const setting = isDebugging ? "under `framework.debug`" : "as it is";
  proxyTest(
    `an error has no details behind a bare proxy, ${setting}`,
    BARE,
    async (site) => {
      declare(site, (app) => {
        app.set("framework.debug", isDebugging);
        app.route("/", () => {
          throw new Error("of the database");
        });
      });
      for (const accept of ["text/html", "application/json"]) {
        await logOf(async () => {
          const response = await fetch(site.origin, { headers: { accept } });
          const text = await response.text();
          assertEquals(response.status, 500);
          assertStringIncludes(text, "Internal Server Error");
          assertNotMatch(text, /of the database|nginx_test/);
        });
      }
    },
  );
}

proxyTest(
  "the page and the log of an error have the id of nginx",
  [documented("nginx")],
  async (site) => {
    declare(site, (app) => {
      app.route("/", () => {
        throw new Error("hidden");
      });
    });
    let page = "";
    const [line] = await logOf(async () => {
      page = await (await fetch(site.origin)).text();
    });
    const [id] = /\b[\da-f]{32}\b/.exec(page)!;
    assertStringIncludes(line!, id);
  },
);

/** Proxies for the base path `/shop`. */
const BASES: Readonly<Record<string, readonly Proxy[]>> = {
  "is kept": [bareNginx("/shop/"), bareCaddy("handle", "/shop/*")],
  "is stripped": [
    bareNginx("/shop/", "/"),
    bareCaddy("handle_path", "/shop/*"),
  ],
};

for (const [name, proxies] of Object.entries(BASES)) {
  proxyTest(
    `a base path that ${name} works with \`framework.base_url\``,
    proxies,
    async (site) => {
      declare(site, (app) => {
        app.set("framework.base_url", "/shop");
        app.route("/", () => app.redirect("/cart/1"));
        app.route(
          "/cart/@id",
          () => app.getUrl("cart", { id: 2 }),
          false,
          "cart",
        );
      });
      const response = await fetch(`${site.origin}/shop/`);
      assertEquals(response.url, `${site.origin}/shop/cart/1`);
      assertEquals(await response.text(), "/shop/cart/2");
    },
  );
}

/** A certificate for 127.0.0.1 that signs itself. */
async function certificate(): Promise<{ cert: string; key: string }> {
  const { stdout } = await new Deno.Command("openssl", {
    args: [
      ..."req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
        .split(" "),
      ..."-days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
        .split(" "),
      ..."-addext basicConstraints=critical,CA:FALSE -keyout /dev/stdout".split(
        " ",
      ),
    ],
    stderr: "null",
  }).output();
  const text = new TextDecoder().decode(stdout);
  const at = text.indexOf("-----BEGIN CERTIFICATE");
  return { key: text.slice(0, at), cert: text.slice(at) };
}
