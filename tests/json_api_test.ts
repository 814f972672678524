/** Tests the JSON API of `sites/` by a real client over a socket, and its twin in Hono by the same tests. */

import {
  assert,
  assertEquals,
  assertLessOrEqual,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { stub } from "@std/testing/mock";
import * as ours from "./sites/json_api.ts";
import * as hono from "./sites/json_api_hono.ts";

const TOKEN = "the-token-of-the-test";
const ORIGIN = "https://app.example";
const LIMIT = 50;

/** A client of one API, which listens on a socket of its own. */
interface Client {
  /** Sends a request with the token, unless the init has other headers. */
  send(
    path: string,
    init?: RequestInit & { json?: unknown },
  ): Promise<Response>;
  /** The lines of the log, without colours. */
  readonly lines: readonly string[];
}

/** Declares a test for both APIs. */
function apiTest(name: string, test: (client: Client) => Promise<void>): void {
  for (const [of, { notesApi }] of Object.entries({ ours, hono })) {
    Deno.test(`the JSON API (${of}) ${name}`, async () => {
      const lines: string[] = [];
      using _log = stub(console, "log", (...parts: unknown[]) => {
        // deno-lint-ignore no-control-regex -- a colour begins with the control character ESC
        lines.push(parts.join(" ").replace(/\x1b\[\d+m/g, ""));
      });
      const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
      await using server = Deno.serve(options, notesApi(TOKEN, LIMIT).fetch);
      const { port } = server.addr;
      await test({
        lines,
        send: (path, { json, ...init } = {}) =>
          fetch(`http://127.0.0.1:${port}${path}`, {
            ...json === undefined ? {} : { body: JSON.stringify(json) },
            ...init,
            headers: {
              authorization: `Bearer ${TOKEN}`,
              accept: "application/json",
              ...json === undefined
                ? {}
                : { "content-type": "application/json" },
              ...init.headers,
            },
          }),
      });
    });
  }
}

apiTest(
  "creates, lists, reads, replaces and deletes notes",
  async ({ send }) => {
    const created = await send("/notes", {
      method: "POST",
      json: { text: "Tea", more: 1 },
    });
    assertEquals(created.status, 201);
    const note = await created.json();
    const path = created.headers.get("location")!;
    assertEquals(note, { id: note.id, text: "Tea", done: false });
    assertEquals(path, `/notes/${note.id}`);
    assertEquals(await (await send("/notes")).json(), [note]);
    const read = await (await send(path)).json();
    assertEquals(read, { text: "Tea", done: false });
    const json = { text: "Green tea", done: true };
    const replaced = await send(path, { method: "PUT", json });
    assertEquals(await replaced.json(), { ...note, ...json });
    const deleted = await send(path, { method: "DELETE" });
    assertEquals([deleted.status, await deleted.text()], [204, ""]);
    assertEquals(await (await send("/notes")).json(), []);
  },
);

apiTest(
  "responds 404 as JSON for a note that is not there",
  async ({ send }) => {
    const json = { text: "Tea" };
    const inits = [{}, { method: "PUT", json }, { method: "DELETE" }];
    for (const init of inits) {
      const response = await send("/notes/none", init);
      assertEquals(response.status, 404);
      assertEquals((await response.json()).status, 404);
    }
    assertEquals((await (await send("/elsewhere")).json()).status, 404);
  },
);

apiTest(
  "refuses a body that the schema does not take, and says why",
  async ({ send }) => {
    for (
      const json of [{}, { text: "" }, { text: 1 }, { text: "a".repeat(201) }]
    ) {
      const response = await send("/notes", { method: "POST", json });
      assertEquals(response.status, 422);
      const { status, errors } = await response.json();
      assertEquals([status, errors[0].path], [422, ["text"]]);
    }
    const malformed = await send("/notes", {
      method: "POST",
      body: "{",
      headers: { "content-type": "application/json" },
    });
    await malformed.body?.cancel();
    assertEquals(malformed.status, 400);
    assertEquals(await (await send("/notes")).json(), []);
  },
);

apiTest("asks for the bearer token", async ({ send }) => {
  for (const authorization of ["", "Bearer", "Bearer wrong", TOKEN]) {
    for (const path of ["/notes", "/notes/none", "/notes/"]) {
      const response = await send(path, { headers: { authorization } });
      await response.body?.cancel();
      const isRefused = [400, 401].includes(response.status);
      assert(isRefused, `${path} with "${authorization}"`);
      assertMatch(response.headers.get("www-authenticate")!, /^Bearer/);
    }
  }
});

apiTest(
  "lets scripts of one origin in, by a preflight without the token too",
  async ({ send }) => {
    const preflight = await send("/notes", {
      method: "OPTIONS",
      headers: {
        authorization: "",
        origin: ORIGIN,
        "access-control-request-method": "PUT",
        "access-control-request-headers": "authorization,content-type",
      },
    });
    assertEquals(preflight.status, 204);
    const allowed = (response: Response, name: string) =>
      response.headers.get(`access-control-${name}`);
    assertEquals(allowed(preflight, "allow-origin"), ORIGIN);
    assertStringIncludes(allowed(preflight, "allow-methods")!, "PUT");
    assertMatch(
      allowed(preflight, "allow-headers")!,
      /^authorization, ?content-type$/,
    );
    for (const path of ["/notes", "/notes/none"]) {
      const response = await send(path, { headers: { origin: ORIGIN } });
      await response.body?.cancel();
      assertEquals(allowed(response, "allow-origin"), ORIGIN);
      assertEquals(allowed(response, "expose-headers"), "location");
      const other = await send(path, {
        headers: { origin: "https://b.example" },
      });
      await other.body?.cancel();
      assertEquals(allowed(other, "allow-origin"), null);
    }
  },
);

apiTest("logs each request with its status", async ({ send, lines }) => {
  await (await send("/notes")).body?.cancel();
  await (await send("/notes/none")).body?.cancel();
  assert(lines.some((line) => /GET \/notes 200\b/.test(line)), lines.join());
  assert(lines.some((line) => /GET \/notes\/none 404\b/.test(line)));
});

apiTest("responds 429 to a client that asks too often", async ({ send }) => {
  const statuses: number[] = [];
  // Twice as many, since a new minute may begin meanwhile.
  for (let count = 0; count <= 2 * LIMIT; count++) {
    const response = await send("/notes");
    statuses.push(response.status);
    if (response.status === 200) await response.body?.cancel();
    else {
      const seconds = Number(response.headers.get("retry-after"));
      assert(seconds > 0 && seconds <= 60, String(seconds));
      assertEquals((await response.json()).status, 429);
    }
  }
  assertEquals(statuses.slice(0, 20), Array(20).fill(200));
  assertEquals(new Set(statuses), new Set([200, 429]));
});

Deno.test("the JSON API takes no more lines of code than with Hono and its middleware", async () => {
  const [own, other] = await Promise.all(
    ["json_api.ts", "json_api_hono.ts"].map(async (name) => {
      const file = new URL(`sites/${name}`, import.meta.url);
      const lines = (await Deno.readTextFile(file)).split("\n");
      return lines.filter((line) => !/^\s*(?:$|\/\*\*|\/\/)/.test(line)).length;
    }),
  );
  assertLessOrEqual(own!, other!);
});
