/** The blog as a process: its permissions, several processes on one file, kills, and how it starts and ends. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  BlogCopy,
  BlogProcess,
  runArguments,
  statusesOf,
  taskFlags,
} from "../support/blog_child.ts";

Deno.test("`deno task blog` works with the permissions it has, and writes nothing but posts and cache", async () => {
  await using copy = await BlogCopy.make();
  const before = await filesOf(copy.folder);
  await using blog = await copy.start();
  assertEquals(await statusesOf(blog.origin), [200, 200, 200, 303, 200]);
  const after = await filesOf(copy.folder);
  const written = [...after.difference(before)];
  const places = /^blog\/(cache\/|data\/posts\.json)/;
  assertEquals(written.filter((file) => !places.test(file)), []);
  assert(written.some((file) => file.startsWith("blog/cache/")));
});

Deno.test("`deno task blog` has no permission that it does not need", async () => {
  const names = (await taskFlags()).map((flag) => flag.split("=")[0]);
  assertEquals(names, ["--allow-net", "--allow-read", "--allow-write"]);
  await using copy = await BlogCopy.make();
  const without = (part: string) => (flags: string[]) =>
    flags.map((flag) => flag.replace(part, "")).filter(Boolean);
  const flags = (await taskFlags()).slice(1);
  await using deaf = new BlogProcess(copy.folder, runArguments(flags));
  await deaf.listening;
  assertEquals(deaf.origin, "");
  assertStringIncludes(deaf.printed, "--allow-net");
  await using blind = await copy.start(without("--allow-read=blog"));
  assertEquals((await statusesOf(blind.origin))[0], 500);
  await using mute = await copy.start(without("blog/data,"));
  assertEquals((await statusesOf(mute.origin))[3], 500);
});

Deno.test("`deno task blog` begins with the posts of `seed.json`, and says where it listens", async () => {
  await using copy = await BlogCopy.make();
  await Deno.remove(copy.posts);
  await using blog = await copy.start();
  assertStringIncludes(blog.printed, `Listening on ${blog.origin}/`);
  assertEquals(await blog.create("The first"), 303);
  const seed = `${copy.folder}/blog/data/seed.json`;
  const posts = JSON.parse(await Deno.readTextFile(copy.posts));
  assertEquals(
    posts.slice(0, -1),
    JSON.parse(await Deno.readTextFile(seed)),
  );
  const home = await (await fetch(blog.origin)).text();
  for (const title of await copy.titles()) assertStringIncludes(home, title);
});

Deno.test("`deno task blog` shows a changed template after a restart, although its cache has the old one", async () => {
  await using copy = await BlogCopy.make();
  const template = `${copy.folder}/blog/views/create.vto`;
  for (const title of ["the first title", "another title"]) {
    const text = await Deno.readTextFile(template);
    const changed = text.replace(/<h1>.*<\/h1>/, `<h1>${title}</h1>`);
    await Deno.writeTextFile(template, changed);
    await using blog = await copy.start();
    const page = await (await fetch(`${blog.origin}/create`)).text();
    assertStringIncludes(page, title);
    await blog.end();
  }
});

Deno.test("two processes on one file lose none of 80 posts", async () => {
  await using copy = await BlogCopy.make();
  await using one = await copy.start();
  await using two = await copy.start();
  const names = Array.from({ length: 80 }, (_, index) => `Post ${index}`);
  const statuses = await Promise.all(
    names.map((name, index) => (index % 2 ? one : two).create(name)),
  );
  assertEquals(new Set(statuses), new Set([303]));
  assertEquals((await copy.titles()).slice(3).sort(), names.sort());
});

Deno.test("a process killed while it saves leaves a whole file with every acknowledged post", async () => {
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

/** The files in a folder and those in it, by their paths in it. */
async function filesOf(folder: string, under = ""): Promise<Set<string>> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${under}${name}`;
    if (!isDirectory) found.push(path);
    else found.push(...await filesOf(`${folder}/${name}`, `${path}/`));
  }
  return new Set(found);
}
