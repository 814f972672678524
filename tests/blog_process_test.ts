/** The blog as a process: crowds of writers, kills, signals and permissions. */

import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import {
  BlogCopy,
  BlogProcess,
  runArguments,
  taskFlags,
} from "./blog_child.ts";

Deno.test("`deno task blog` loses none of 100 posts created at once", async () => {
  await using copy = await BlogCopy.make();
  await using blog = await copy.start();
  const names = Array.from({ length: 100 }, (_, index) => `Post ${index}`);
  const statuses = await Promise.all(names.map((name) => blog.create(name)));
  assertEquals(new Set(statuses), new Set([303]));
  const titles = await copy.titles();
  assertEquals(titles.length, 103);
  assertEquals(new Set(titles.slice(3)), new Set(names));
});

Deno.test("`deno task blog` loses nothing when two run on one file", async () => {
  await using copy = await BlogCopy.make();
  await using one = await copy.start();
  await using two = await copy.start();
  const names = Array.from({ length: 80 }, (_, index) => `Post ${index}`);
  const statuses = await Promise.all(
    names.map((name, index) => (index % 2 ? one : two).create(name)),
  );
  assertEquals(new Set(statuses), new Set([303]));
  assertEquals(new Set((await copy.titles()).slice(3)), new Set(names));
});

Deno.test("`deno task blog` killed while it saves leaves a whole file with every acknowledged post", async () => {
  await using copy = await BlogCopy.make();
  for (let round = 0; round < 3; round++) {
    await using blog = await copy.start();
    const acknowledged: string[] = [];
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let index = 0;; index++) {
        const name = `Round ${round}, writer ${writer}, post ${index}`;
        if (await blog.create(name) !== 303) return;
        acknowledged.push(name);
        if (acknowledged.length === 40) await blog.end("SIGKILL");
      }
    });
    await Promise.all(writers);
    const titles = new Set(await copy.titles());
    assertEquals(acknowledged.filter((name) => !titles.has(name)), []);
    assert(acknowledged.length >= 40);
  }
});

Deno.test("`deno task blog` refuses a corrupt file and leaves it as it is", async () => {
  await using copy = await BlogCopy.make();
  await Deno.writeTextFile(copy.posts, `[{"slug": "half`);
  await using blog = await copy.start();
  assertEquals([await statusOf(blog, "/"), await blog.create("New")], [
    500,
    500,
  ]);
  assertEquals(await Deno.readTextFile(copy.posts), `[{"slug": "half`);
});

Deno.test("`deno task blog` works with the permissions it has, and writes nothing else", async () => {
  await using copy = await BlogCopy.make();
  await using blog = await copy.start();
  assertEquals(await everything(blog), [200, 200, 200, 303]);
  assert(!blog.printed.includes("not written"), blog.printed);
  assertEquals((await filesOf(`${copy.folder}/blog/data`)).sort(), [
    "posts.json",
    "posts.json.lock",
    "seed.json",
  ]);
  assertEquals((await filesOf(`${copy.folder}/blog/cache`)).length, 3);
});

Deno.test("`deno task blog` starts with the posts that come with it, and says how to stop", async () => {
  await using copy = await BlogCopy.make();
  await Deno.remove(copy.posts);
  await using blog = await copy.start();
  const seed = `${copy.folder}/blog/data/seed.json`;
  assertEquals(
    await Deno.readTextFile(copy.posts),
    await Deno.readTextFile(seed),
  );
  assertEquals(await blog.create("New"), 303);
  assertEquals((await copy.titles()).length, 4);
  await blog.end();
  const [start, request, ...rest] = blog.printed.split("\n");
  assertEquals(
    start!.replace(/:\d+/, ":8000"),
    "Listening on http://127.0.0.1:8000/ (press Ctrl+C to stop)",
  );
  assertMatch(request!, /^\d{4}-.*Z POST \/create 303 [\d.]+ ms 0 B$/);
  assertEquals(rest, [""]);
});

Deno.test("`deno task blog` has no permission that it does not need", async () => {
  const flags = (await taskFlags()).map((flag) => flag.split("=")[0]);
  assertEquals(flags, ["--allow-net", "--allow-read", "--allow-write"]);
  await using copy = await BlogCopy.make();

  for (const name of ["--allow-net", "--allow-read"]) {
    const flags = (await taskFlags()).filter((flag) => !flag.startsWith(name));
    await using silent = new BlogProcess(copy.folder, runArguments(flags));
    await silent.listening;
    assertEquals(silent.origin, "");
    assertStringIncludes(silent.printed, name);
  }
  await using mute = await copy.start((flags) =>
    flags.map((flag) => flag.replace("blog/data,", ""))
  );
  assertEquals(await everything(mute), [200, 200, 200, 500]);
  await Deno.remove(`${copy.folder}/blog/cache`, { recursive: true });
  await using slow = await copy.start((flags) =>
    flags.map((flag) => flag.replace(",blog/cache", ""))
  );
  assertEquals(await everything(slow), [200, 200, 200, 303]);
  assertStringIncludes(slow.printed, "Cannot write");
});

Deno.test("`deno task blog` keeps the mode of its posts, and the link that leads to them", async () => {
  await using copy = await BlogCopy.make();
  const file = `${copy.folder}/blog/data/mine.json`;
  await Deno.rename(copy.posts, file);
  await Deno.chmod(file, 0o600);
  await Deno.symlink("mine.json", copy.posts);
  await using blog = await copy.start();
  assertEquals(await blog.create("New"), 303);
  assertEquals((await copy.titles()).length, 4);
  assertEquals((await Deno.lstat(copy.posts)).isSymlink, true);
  assertEquals((await Deno.stat(file)).mode! & 0o777, 0o600);
});

Deno.test("`blog/main.ts` starts no server where a test imports it", async () => {
  await using copy = await BlogCopy.make();
  await Deno.writeTextFile(
    `${copy.folder}/visit.ts`,
    `import { Framework } from "@framework/core";
    import "./blog/main.ts";
    const response = await Framework.fetch(new Request("http://localhost/"));
    console.log(response.status, (await response.text()).includes("Post two"));`,
  );
  const args = runArguments(await taskFlags()).slice(0, -2);
  await using visit = new BlogProcess(copy.folder, [...args, "visit.ts"]);
  await visit.ended();
  assertMatch(visit.printed, /(^|\n)200 true\n/);
  assertEquals(visit.origin, "");
});

Deno.test("no link leads out of the folder of the static files of `deno task blog`", async () => {
  await using copy = await BlogCopy.make();
  const link = `${copy.folder}/blog/public/main.css`;
  const linked = new Deno.Command("ln", { args: ["-s", "../main.ts", link] });
  assert((await linked.output()).success);
  await using blog = await copy.start();
  assertEquals(await statusOf(blog, "/public/style.css"), 200);
  assertEquals(await statusOf(blog, "/public/main.css"), 404);
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.test(`\`deno task blog\` ends cleanly on ${signal}`, async () => {
    await using copy = await BlogCopy.make();
    await using blog = await copy.start();
    assertEquals(await statusOf(blog, "/"), 200);
    assertEquals(await blog.end(signal), 0);
  });
}

Deno.test("`deno task blog` says that the port is taken, and fails", async () => {
  await using copy = await BlogCopy.make();
  await using first = await copy.start();
  const port = Number(new URL(first.origin).port);
  const flags = (await taskFlags()).map((flag) =>
    flag.replace(":0", `:${port}`)
  );
  await using second = new BlogProcess(copy.folder, runArguments(flags, port));
  await second.listening;
  assertStringIncludes(second.printed, `127.0.0.1:${port}`);
  assert(!second.printed.includes("at "), "a stack is no message");
  assertNotEquals(await second.end(), 0);
});

Deno.test({
  name: "`deno task blog` serves the blog on port 8000",
  ignore: isTaken(8000),
}, async () => {
  await using copy = await BlogCopy.make();
  await copy.addProject();
  // No registry listens at this address, so that the choice of the standard library takes no time.
  await using blog = new BlogProcess(copy.folder, ["task", "blog"], {
    JSR_URL: "http://127.0.0.1:9",
  });
  await blog.listening;
  assertEquals(blog.origin, "http://127.0.0.1:8000", blog.printed);
  assertEquals(await everything(blog), [200, 200, 200, 303]);
  assertEquals(await blog.end("SIGINT"), 0);
});

/** Whether another program listens on a port. */
function isTaken(port: number): boolean {
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
    return false;
  } catch {
    console.warn(
      `The test of \`deno task blog\` is skipped: port ${port} is taken`,
    );
    return true;
  }
}

/** The statuses of home page, form, style sheet and creation. */
async function everything(blog: BlogProcess): Promise<number[]> {
  const statuses: number[] = [];
  for (const address of ["/", "/create", "/public/style.css"]) {
    statuses.push(await statusOf(blog, address));
  }
  return [...statuses, await blog.create("One more")];
}

async function statusOf(blog: BlogProcess, address: string): Promise<number> {
  const response = await fetch(blog.origin + address);
  await response.body?.cancel();
  return response.status;
}

async function filesOf(folder: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
}
