/** The server as a process: how it ends on signals, what it prints, and how `deno serve` runs it. */

import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { Engine } from "@framework/core";
import { since29 } from "./deno_version.ts";
import {
  RawConnection,
  sendRaw,
  untilRefused,
  upgradeHead,
} from "./raw_http.ts";
import { ServerProcess } from "./server_child.ts";

/** Slow in every way: a request, a stream, deferred work, and a handler that never returns. */
const SLOW = `
  import { Engine } from "@framework/core";

  const app = new Engine();
  const time = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
  app.route("/slow", async () => {
    app.defer(async () => {
      await time(100);
      console.log("deferred");
    });
    console.log("asked");
    await time(300);
    return "late";
  });
  app.route("/endless", async function* () {
    for (;;) {
      yield "again ";
      await time(10);
    }
  });
  app.route("/never", () => {
    console.log("asked");
    return new Promise(() => {});
  });
  app.set("framework.shutdown_timeout", Number(Deno.args[0] ?? 10));
  app.start({ port: 0 });
`;

/** The same, with another time to shut down. */
function slowWith(seconds: number): string {
  return SLOW.replace("Deno.args[0] ?? 10", String(seconds));
}

/** Requests a path of a process. */
async function visit(process: ServerProcess, path: string): Promise<Response> {
  return await fetch(`http://127.0.0.1:${await process.port()}${path}`);
}

Deno.test("`start()` prints its address once, and nothing else", async () => {
  await using process = await ServerProcess.start(SLOW);
  await process.port();
  process.kill("SIGTERM");
  assertEquals((await process.ended()).code, 0);
  assertMatch(
    process.printed,
    /^Listening on http:\/\/127\.0\.0\.1:\d+\/ \(press Ctrl\+C to stop\)\n$/,
  );
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.test(`\`start()\` drains on ${signal}: requests and deferred work are done, the code is 0`, async () => {
    await using process = await ServerProcess.start(SLOW);
    const response = visit(process, "/slow");
    await process.prints(/asked/);
    process.kill(signal);
    assertEquals(await (await response).text(), "late");
    assertEquals((await process.ended()).code, 0);
    assertMatch(process.printed, /deferred/);
  });
}

Deno.test("`start()` ends at once on a second signal, with the code of that signal", async () => {
  const codes: Partial<Record<Deno.Signal, number>> = {};
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    await using process = await ServerProcess.start(SLOW);
    const response = visit(process, "/never");
    await process.prints(/asked/);
    process.kill("SIGTERM");
    await untilRefused(await process.port());
    const timer = setInterval(() => process.kill(signal), 20);
    await assertRejects(() => response);
    clearInterval(timer);
    codes[signal] = (await process.ended()).code;
  }
  assertEquals(codes, { SIGINT: 130, SIGTERM: 143 });
});

Deno.test("`start()` takes one Ctrl+C that is passed on twice for one", async () => {
  await using process = await ServerProcess.start(SLOW);
  const response = visit(process, "/slow");
  await process.prints(/asked/);
  process.kill("SIGINT");
  process.kill("SIGTERM"); // of one signal sent twice at once, the process may see one
  assertEquals(await (await response).text(), "late");
  assertEquals((await process.ended()).code, 0);
});

Deno.test("`start()` under `deno run --watch` drains on Ctrl+C, without an error", async () => {
  await using process = await ServerProcess.start(SLOW, {
    command: ["run", "--watch", "--no-clear-screen"],
  });
  const response = visit(process, "/slow");
  await process.prints(/asked/);
  process.kill("SIGINT");
  assertEquals(await (await response).text(), "late");
  assertEquals((await process.ended()).code, 0);
  assertEquals(/error|not reachable/i.test(process.printed), false);
});

Deno.test("`start()` says on Ctrl+C what it finishes, and on SIGTERM without the hint", async () => {
  const finishing = {
    SIGINT:
      "Waiting for 1 request and 2 open streams (press Ctrl+C again to stop now)\n",
    SIGTERM: "Waiting for 1 request and 2 open streams\n",
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    await using process = await ServerProcess.start(slowWith(0.2));
    const streams = await Promise.all([
      visit(process, "/endless"),
      visit(process, "/endless"),
    ]);
    const response = visit(process, "/never");
    await process.prints(/asked/);
    process.kill(signal);
    await assertRejects(() => response);
    await Promise.all(streams.map((each) => assertRejects(() => each.text())));
    assertEquals((await process.ended()).code, 0);
    assertStringIncludes(process.printed, finishing[signal]);
  }
});

Deno.test("`start()` aborts an endless stream when the time to drain is over, and the code is 0", async () => {
  await using process = await ServerProcess.start(slowWith(0.2));
  const response = await visit(process, "/endless");
  process.kill("SIGTERM");
  await assertRejects(() => response.text());
  assertEquals((await process.ended()).code, 0);
  assertMatch(
    process.printed,
    /after 0\.2 s with 1 open stream unfinished\n$/,
  );
});

Deno.test("`start()` leaves a handler that never returns when the time to drain is over", async () => {
  await using process = await ServerProcess.start(slowWith(0.2));
  const response = visit(process, "/never");
  await process.prints(/asked/);
  process.kill("SIGINT");
  await assertRejects(() => response);
  assertEquals((await process.ended()).code, 0);
  assertMatch(process.printed, /after 0\.2 s with 1 request unfinished\n$/);
});

Deno.test("`start()` with `signals: false` leaves the signals to Deno", async () => {
  const source = SLOW.replace("port: 0", "port: 0, signals: false");
  await using process = await ServerProcess.start(source);
  await process.port();
  process.kill("SIGTERM");
  assertEquals((await process.ended()).signal, "SIGTERM");
});

Deno.test("`start()` of two applications drains both before the process ends", async () => {
  const source = `${SLOW}
    const other = new Engine();
    other.start({ port: 0, onListen() {} });
  `;
  await using process = await ServerProcess.start(source);
  const response = visit(process, "/slow");
  await process.prints(/asked/);
  process.kill("SIGTERM");
  assertEquals(await (await response).text(), "late");
  assertEquals((await process.ended()).code, 0);
});

Deno.test("`start()` of two applications says in one number what both finish", async () => {
  const source = `${slowWith(0.2)}
    const other = new Engine();
    other.set("framework.shutdown_timeout", 0.2);
    other.route("/never", () => (console.log("other"), new Promise(() => {})));
    const { addr } = other.start({ port: 0, onListen() {} });
    fetch(\`http://127.0.0.1:\${addr.port}/never\`);
  `;
  await using process = await ServerProcess.start(source);
  const response = visit(process, "/never");
  await process.prints(/asked[^]*other|other[^]*asked/);
  process.kill("SIGTERM");
  await assertRejects(() => response);
  await process.ended();
  assertStringIncludes(process.printed, "\nWaiting for 2 requests\n");
});

since29.test("`start()` on a Unix socket names the flags it needs, and works with them", async () => {
  const path = `${await Deno.makeTempDir()}/socket`;
  const source = `
    import { Engine } from "@framework/core";
    const app = new Engine();
    app.route("*", () => app.request().url + " " + app.request().scheme);
    app.start({ path: ${JSON.stringify(path)} });
    const connection = await Deno.connect({ transport: "unix", path: ${
    JSON.stringify(path)
  } });
    await connection.write(new TextEncoder().encode(
      "GET /b?c HTTP/1.1\\r\\nConnection: close\\r\\n\\r\\n",
    ));
    console.log(await new Response(connection.readable).text());
    Deno.exit();
  `;
  await using refused = await ServerProcess.start(source, { permissions: [] });
  const [, flags] = await refused.prints(/run with (--.*)/);
  const permissions = flags!.split(" ");
  await using process = await ServerProcess.start(source, { permissions });
  assertEquals((await process.ended()).code, 0, process.printed);
  assertMatch(
    process.printed,
    /^Listening on \/.*\/socket \(press Ctrl\+C to stop\)\n/,
  );
  assertMatch(process.printed, /\/b\?c http$/m);
  await Deno.remove(path.replace(/\/socket$/, ""), { recursive: true });
});

Deno.test({
  name:
    "`start()` with a certificate serves TLS, and nothing that claims to be plain",
  ignore: !await hasOpenssl(),
  fn: async () => {
    const { cert, key } = await certificate();
    const app = new Engine();
    app.route("*", () => `${app.request().scheme} ${app.request().url}`);
    await using server = app.start({
      port: 0,
      cert,
      key,
      signals: false,
      onListen() {},
    });
    const { port } = server.addr as Deno.NetAddr;
    using connection = await Deno.connectTls({
      hostname: "127.0.0.1",
      port,
      caCerts: [cert],
    });
    const requests = [
      "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "GET http://localhost/a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    ];
    await connection.write(new TextEncoder().encode(requests.join("")));
    const responses = await new Response(connection.readable).text();
    assertMatch(responses, /^HTTP\/1\.1 200 OK[^]*https \/aHTTP\/1\.1 400 /);
  },
});

/** An application whose responses tell workers apart. */
const SERVED = `
  import { Framework } from "@framework/core";
  const worker = crypto.randomUUID();
  Framework.route("/hello/@name", (name) => "Hello, " + name + "! " + worker);
  export default Framework;
`;

Deno.test("`Framework` as the default export runs under `deno serve`", async () => {
  await using process = await ServerProcess.start(SERVED, {
    command: ["serve", "--host=127.0.0.1", "--port=0"],
    permissions: [],
  });
  assertMatch(await text(process, "/hello/Ada"), /^Hello, Ada! /);
  assertEquals((await visit(process, "/%zz").then(bodyless)).status, 400);
  process.kill("SIGTERM");
  assertEquals((await process.ended()).code, 0);
});

Deno.test("`deno serve` ends with status 1 where its port is taken", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  await using process = await ServerProcess.start(SERVED, {
    command: ["serve", "--host=127.0.0.1", `--port=${port}`],
  });
  assertEquals((await process.ended()).code, 1);
  assertStringIncludes(process.printed, "AddrInUse");
});

Deno.test("`Framework` as the default export runs under `deno serve --parallel`", async () => {
  await using process = await ServerProcess.start(SERVED, {
    command: ["serve", "--parallel", "--host=127.0.0.1", "--port=0"],
    env: { DENO_JOBS: "2" },
    permissions: [],
  });
  const texts = await Promise.all(
    Array.from({ length: 32 }, () => text(process, "/hello/Ada")),
  );
  assert(texts.every((text) => text.startsWith("Hello, Ada! ")));
});

async function text(process: ServerProcess, path: string): Promise<string> {
  return await (await visit(process, path)).text();
}

async function bodyless(response: Response): Promise<Response> {
  await response.body?.cancel();
  return response;
}

/** Whether this machine can make certificates. */
async function hasOpenssl(): Promise<boolean> {
  try {
    return (await openssl("version")).startsWith("OpenSSL");
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** A certificate for this machine, made for this run. */
async function certificate(): Promise<{ cert: string; key: string }> {
  const pem = await openssl(
    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 " +
      "-keyout - -out - -subj /CN=test -addext subjectAltName=IP:127.0.0.1 " +
      "-addext basicConstraints=critical,CA:FALSE",
  );
  const at = pem.indexOf("-----BEGIN CERTIFICATE-----");
  return { key: pem.slice(0, at), cert: pem.slice(at) };
}

async function openssl(args: string): Promise<string> {
  const command = new Deno.Command("openssl", {
    args: args.split(" "),
    stderr: "null",
  });
  return new TextDecoder().decode((await command.output()).stdout);
}

/** An upload that its client begins, and what the client sends later. */
const UPLOAD = {
  head: "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nhalf",
  rest: "done",
} as const;

/** Counts bytes. A request to `/begun` tells that those before it have been looked at. */
const UPLOADING = `
  import { Framework } from "@framework/core";
  Framework.set("framework.shutdown_timeout", 0.3);
  Framework.route("POST /upload", () =>
    Framework.request().getBody().length + " bytes");
  Framework.route("/never", () => {
    console.log("asked");
    return new Promise(() => {});
  });
  Framework.route("/endless", async function* () {
    console.log("asked");
    for (;;) {
      yield "again ";
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  });
  Framework.route("/begun", () => "yes");
`;

const MOUNTED = `
  import { Engine } from "@framework/core";
  const app = new Engine();
  app.set("framework.shutdown_timeout", 0.3);
  app.mount("/", Framework);
  app.start({ port: 0 });
`;

Deno.test("`start()` lets an upload finish on SIGTERM, and meanwhile refuses new requests with 503", async () => {
  const source = UPLOADING.replace("0.3", "30");
  await using process = await ServerProcess.start(
    `${source} Framework.start({ port: 0 });`,
  );
  using connection = await RawConnection.open(await process.port());
  await connection.send(UPLOAD.head);
  await (await visit(process, "/begun")).text();
  process.kill("SIGTERM");
  await process.prints(/Waiting for 1 request/);
  const refused = await sendRaw(
    await process.port(),
    "GET /begun HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
  );
  assertEquals(refused.status, 503);
  assertMatch(refused.head, /connection: close/i);
  await connection.send(UPLOAD.rest);
  assertMatch(await connection.receive("bytes"), /^HTTP\/1.1 200 [^]*8 bytes$/);
  assertEquals((await process.ended()).code, 0);
});

for (
  const [name, end, options] of [
    ["`start()`", "Framework.start({ port: 0 });", {}],
    ["a mounted engine", MOUNTED, {}],
    ["`deno serve`", "export default Framework;", {
      command: ["serve", "--host=127.0.0.1", "--port=0"],
    }],
  ] as const
) {
  since29.test(`${name} refuses an upload with 503 that does not finish after SIGTERM`, async () => {
    await using process = await ServerProcess.start(UPLOADING + end, options);
    using connection = await RawConnection.open(await process.port());
    await connection.send(UPLOAD.head);
    await (await visit(process, "/begun")).text();
    process.kill("SIGTERM");
    const response = await connection.receive("shutting down");
    assertMatch(response, /^HTTP\/1.1 503 [^]*connection: close/i);
    assertEquals((await process.ended()).code, 0);
  });
}

for (
  const [what, path, unfinished] of [
    ["aborts an endless stream", "/endless", "1 open stream"],
    ["leaves a handler that never returns", "/never", "1 request"],
  ] as const
) {
  Deno.test(`\`deno serve\` ${what} when the time to drain is over, and says so`, async () => {
    const source = `${UPLOADING} export default Framework;`;
    await using process = await ServerProcess.start(source, {
      command: ["serve", "--host=127.0.0.1", "--port=0"],
    });
    const text = visit(process, path).then((response) => response.text());
    await process.prints(/asked/);
    process.kill("SIGTERM");
    await assertRejects(() => text);
    assertEquals((await process.ended()).code, 0);
    assertStringIncludes(
      process.printed,
      `Shut down after 0.3 s with ${unfinished} unfinished\n`,
    );
  });
}

/** What a handler does after it has upgraded its request, and the status of the response. */
const UPGRADED: Record<string, readonly [then: string, status: number]> = {
  "throws": [`throw new HttpError(403, "Members only");`, 403],
  "throws what nobody handles": [
    `app.set("framework.handle_errors", false); throw new Error("oops");`,
    500,
  ],
  "returns text": [`return "text";`, 200],
  "redirects later": [
    `await Promise.resolve(); app.redirect("/elsewhere");`,
    303,
  ],
};

for (const [what, [then, status]] of Object.entries(UPGRADED)) {
  for (const method of ["GET", "HEAD"]) {
    Deno.test(`\`start()\` responds to ${method} of a WebSocket whose handler ${what}, and keeps nothing open`, async () => {
      await using process = await ServerProcess.start(`
        import { Engine, HttpError } from "@framework/core";
        const app = new Engine();
        app.route("/", () => "alive");
        app.route("/socket", ${then.startsWith("await") ? "async " : ""}() => {
          const { socket } = Deno.upgradeWebSocket(app.request().raw);
          socket.onopen = () => console.log("opened");
          socket.onerror = ({ error }) => console.log(error.message);
          ${then}
        });
        app.start({ port: 0 });
      `);
      const port = await process.port();
      for (let visits = 0; visits < 5; visits++) {
        using connection = await RawConnection.open(port);
        await connection.send(upgradeHead(method));
        const head = await connection.receive("\r\n\r\n");
        assertMatch(head, new RegExp(`^HTTP/1.1 ${status} `));
      }
      const response = await fetch(`http://127.0.0.1:${port}/`);
      assertEquals(await response.text(), "alive");
      process.kill("SIGTERM");
      assertEquals((await process.ended()).code, 0);
      assertMatch(process.printed, new RegExp(`is ${status}, not 101`));
      assertEquals(/opened|did not wait/.test(process.printed), false);
    });
  }
}

Deno.test("`start()` keeps nothing open of clients that leave before their WebSocket opens", async () => {
  await using process = await ServerProcess.start(`
    import { Engine } from "@framework/core";
    const app = new Engine();
    const left = Promise.withResolvers();
    app.route("/socket", async () => {
      const { socket, response } = Deno.upgradeWebSocket(app.request().raw);
      socket.onopen = () => console.log("opened");
      socket.onerror = ({ error }) => console.log(error.message);
      console.log("asked");
      await left.promise;
      return response;
    });
    app.route("/left", () => left.resolve() ?? "yes");
    app.route("/", () => "alive");
    app.start({ port: 0 });
  `);
  const port = await process.port();
  for (let visits = 1; visits <= 5; visits++) {
    using connection = await RawConnection.open(port);
    await connection.send(upgradeHead("GET"));
    await process.prints(new RegExp(`(?:asked[^]*){${visits}}`));
  }
  for (const path of ["/", "/", "/left"]) await text(process, path);
  await process.prints(/(?:the client has disconnected[^]*){5}/);
  process.kill("SIGTERM");
  assertEquals((await process.ended()).code, 0);
  assertEquals(/opened|did not wait|legacy/.test(process.printed), false);
});

Deno.test("`start()` keeps nothing open of clients that reset the connection of their WebSocket", async () => {
  await using process = await ServerProcess.start(`
    import { Engine } from "@framework/core";
    const app = new Engine();
    app.route("/socket", () => {
      const { socket, response } = app.request().upgrade();
      socket.onopen = () => console.log("opened");
      socket.onerror = ({ error }) => console.log(error.message);
      socket.onclose = () => console.log("closed");
      return response;
    });
    app.route("/", () => "alive");
    app.start({ port: 0 });
  `);
  const port = await process.port();
  for (let visits = 1; visits <= 5; visits++) {
    const connection = await RawConnection.open(port);
    await connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await text(process, "/"); // the response to the other is there now
    await connection.send(upgradeHead("GET"));
    connection[Symbol.dispose](); // resets the connection, as nobody has read that response
    // On a busy machine the reset may come after the response: that socket opens, and closes.
    await process.prints(
      new RegExp(`(?:(?:the client has disconnected|closed)[^]*){${visits}}`),
    );
  }
  process.kill("SIGTERM");
  assertEquals((await process.ended()).code, 0);
  assertStringIncludes(process.printed, "the client has disconnected");
  assertEquals(/did not wait/.test(process.printed), false);
});

since29.test("`start()` waits for no client that resets the connection as its WebSocket opens", async () => {
  await using process = await ServerProcess.start(`
    import { Engine } from "@framework/core";
    const { setImmediate } = globalThis;
    globalThis.setImmediate = (open) =>
      setImmediate(() => {
        console.log("blocked");
        const end = performance.now() + 500;
        while (performance.now() < end);
        open();
      });
    const app = new Engine();
    app.route("/socket", () => {
      const { socket, response } = app.request().upgrade();
      socket.onopen = () => console.log("opened");
      socket.onerror = ({ error }) => console.log(error.message);
      return response;
    });
    app.route("/", () => "alive");
    app.start({ port: 0 });
  `);
  const connection = await RawConnection.open(await process.port());
  await connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await text(process, "/"); // the response to the other is there now
  await connection.send(upgradeHead("GET"));
  await process.prints(/blocked/);
  connection[Symbol.dispose](); // resets the connection, as nobody has read that response
  await process.prints(/the client has disconnected/);
  assertEquals(await text(process, "/"), "alive");
  process.kill("SIGTERM");
  assertEquals((await process.ended()).code, 0);
  assertEquals(/opened|unfinished/.test(process.printed), false);
});

Deno.test("`unref()` lets the process end while the server listens, and `ref()` undoes it", async () => {
  await using process = await ServerProcess.start(`
    import { Framework } from "@framework/core";
    const server = Framework.start({ port: 0 });
    server.unref();
    server.ref();
    setTimeout(() => server.unref());
  `);
  assertEquals((await process.ended()).code, 0);
  assertStringIncludes(process.printed, "Listening on");
});
