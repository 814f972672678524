/** Tests `sessions` on several processes, each with workers, behind a proxy: there is no store to share. */

import { type Page, Visitor } from "@framework/core/testing";
import { assertEquals, assertNotEquals } from "@std/assert";
import { freePort } from "./ports.ts";
import { RoundRobin } from "./round_robin.ts";
import { ServerProcess } from "./server_child.ts";

const SOURCE = `
  import { Framework } from "@framework/core";
  import { sessions } from "@framework/core/sessions";

  const secret = "the one secret of all processes, at least 32 characters";
  const session = sessions<{ user: string }>(Framework, { secret });

  Framework.before("start", () => {
    Framework.response().header("x-process", String(Deno.pid));
  });
  Framework.route("/login/@user", (user) => {
    session().renew().set("user", user);
  });
  Framework.route("/save", () => void session().flash("notice", "Saved"));
  Framework.route("/", () => {
    const user = session().get("user") ?? "nobody";
    return user + ": " + (session().flash("notice") ?? "nothing");
  });

  export default Framework;
`;

Deno.test("a login and a flash of one process are read by the other, the flash once", async () => {
  await using first = await startProcess();
  await using second = await startProcess();
  const origins = [first, second].map(({ origin }) => origin);
  await using proxy = new RoundRobin(origins);
  const visitor = new Visitor({ fetch }, proxy.origin);
  const pages: Page[] = [];
  for (const path of ["/login/Ada", "/", "/save", "/", "/", "/"]) {
    pages.push(await visitor.visit(path));
  }
  const texts = ["", "Ada: nothing", "", "Ada: Saved", "Ada: nothing"];
  assertEquals(pages.map(({ text }) => text), [...texts, "Ada: nothing"]);
  const [odd, even] = pages.map(processOf);
  assertNotEquals(odd, even);
  assertEquals(pages.map(processOf), [odd, even, odd, even, odd, even]);
});

const processOf = (page: Page) => page.response.headers.get("x-process");

/** Starts a process with workers, and waits until it listens. */
async function startProcess(): Promise<ServerProcess & { origin: string }> {
  const port = freePort();
  const command = ["serve", "--parallel", "--host=127.0.0.1", `--port=${port}`];
  const process = await ServerProcess.start(SOURCE, {
    command,
    env: { DENO_JOBS: "2" },
  });
  await process.port();
  return Object.assign(process, { origin: `http://127.0.0.1:${port}` });
}
