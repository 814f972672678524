/** A clone: README's commands run without JSR, and a tag that does not fit releases nothing. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { Process } from "../../tasks/process.ts";
import { ProjectCopy } from "../../tasks/project_copy.ts";
import { BlogCopy, BlogProcess, statusesOf } from "../support/blog_child.ts";

const STANDINS = "--import-map=compat/import_map.json\n";

/** Where no registry listens. */
const NOWHERE = "http://127.0.0.1:9/";

Deno.test("`deno task flag` chooses the stand-ins where the registry is a page to log in", async () => {
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const respond = () => new Response("<h1>Please log in</h1>");
  await using registry = Deno.serve(options, respond);
  const { port } = registry.addr;
  assertEquals(await flag(`http://127.0.0.1:${port}/`), STANDINS);
});

Deno.test("`deno task flag` chooses the stand-ins where the registry never responds", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  assertEquals(await flag(`http://127.0.0.1:${port}/`), STANDINS);
});

Deno.test({
  name: "`deno task blog` serves the blog on port 8000 without JSR",
  ignore: isTaken(8000),
}, async () => {
  await using copy = await BlogCopy.make();
  const args = ["task", "blog"];
  const env = { JSR_URL: NOWHERE };
  await using blog = new BlogProcess(copy.folder, args, env);
  await blog.listening;
  assertEquals(blog.origin, "http://127.0.0.1:8000", blog.printed);
  assertEquals(await statusesOf(blog.origin), [200, 200, 200, 303, 200]);
  assertEquals(await blog.end("SIGINT"), 0);
});

Deno.test("`deno task test` runs tests without JSR", async () => {
  await using copy = await ProjectCopy.make();
  const args = ["task", "test", "--no-check", "tests/spec/posts_test.ts"];
  await using process = new Process([Deno.execPath(), ...args], {
    cwd: copy.folder,
    env: { JSR_URL: NOWHERE },
  });
  assertEquals((await process.ended()).code, 0, process.printed);
  assertStringIncludes(process.printed, "0 failed");
});

/** What the choice for the blog prints, with a registry at the address and an empty cache of JSR. */
async function flag(registry: string): Promise<string> {
  const cache = await Deno.makeTempDir();
  await using copy = await ProjectCopy.make();
  try {
    await Deno.symlink(await npmCache(), `${cache}/npm`);
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["task", "-q", "flag", "blog"],
      cwd: copy.folder,
      env: { JSR_URL: registry, DENO_DIR: cache, NO_COLOR: "1" },
    }).output();
    return new TextDecoder().decode(stdout);
  } finally {
    await Deno.remove(cache, { recursive: true });
  }
}

/** Where this machine keeps packages of npm, which are downloaded once. */
async function npmCache(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json"],
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).npmCache;
}

/** Whether another program listens on a port. */
function isTaken(port: number): boolean {
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
    return false;
  } catch {
    console.warn(`A test is skipped: port ${port} is taken`);
    return true;
  }
}
