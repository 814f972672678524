/** The blog's file of posts: SPEC "Post record", and what DESIGN 7 adds on losing nothing. */

import { assertEquals, assertRejects } from "@std/assert";
import { PostFile } from "../../blog/posts.ts";

/** A temporary folder; `file` is the path of the posts. */
interface Folder extends AsyncDisposable {
  readonly path: string;
  readonly file: string;
  readonly posts: PostFile;
}

/** Makes a folder, with a file of posts that holds `content` unless that is undefined. */
async function folderWith(content?: string | Uint8Array): Promise<Folder> {
  const path = await Deno.makeTempDir({ prefix: "posts" });
  const file = `${path}/posts.json`;
  if (typeof content === "string") await Deno.writeTextFile(file, content);
  else if (content) await Deno.writeFile(file, content);
  return {
    path,
    file,
    posts: new PostFile(file),
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

async function titlesOf(posts: PostFile): Promise<string[]> {
  return (await posts.all()).map(({ title }) => title);
}

const SLUGS: [title: string, slug: string][] = [
  ["Hello World", "hello-world"],
  ["two  spaces ", "two--spaces-"],
  ["C/C++ & 100%?", "c/c++-&-100%?"],
  ["ÄRGER <b>", "ärger-<b>"],
  ["tab\tstays", "tab\tstays"],
  ["already-there", "already-there"],
  ["", ""],
];

for (const [title, slug] of SLUGS) {
  Deno.test(`\`create()\` makes the slug ${JSON.stringify(slug)} of the title ${JSON.stringify(title)}`, async () => {
    await using folder = await folderWith("[]");
    assertEquals((await folder.posts.create(title, "text")).slug, slug);
  });
}

Deno.test("`all()` reads the posts in the order of the file", async () => {
  const held = [
    { slug: "b", title: "B", content: "2\n3" },
    { slug: "a", title: "A", content: "" },
  ];
  await using folder = await folderWith(JSON.stringify(held));
  assertEquals(await folder.posts.all(), held);
});

Deno.test("`all()` reads the file on each load", async () => {
  await using folder = await folderWith("[]");
  assertEquals(await folder.posts.all(), []);
  await new PostFile(folder.file).create("A", "");
  assertEquals(await titlesOf(folder.posts), ["A"]);
});

Deno.test("`all()` reads the seed while there is no file, and `create()` saves its posts with the first new one", async () => {
  const seed = { slug: "seed", title: "Seed", content: "" };
  await using folder = await folderWith();
  await Deno.writeTextFile(`${folder.path}/seed.json`, JSON.stringify([seed]));
  const posts = new PostFile(folder.file, `${folder.path}/seed.json`);
  assertEquals(await posts.all(), [seed]);
  await posts.create("A", "");
  assertEquals(await titlesOf(folder.posts), ["Seed", "A"]);
});

Deno.test("`find()` returns the first post with exactly that slug", async () => {
  const [first, second] = ["first", "second"].map((content) => ({
    slug: "a",
    title: "A",
    content,
  }));
  await using folder = await folderWith(JSON.stringify([first, second]));
  assertEquals(await folder.posts.find("a"), first);
  for (const slug of ["A", "", "a ", "constructor"]) {
    assertEquals(await folder.posts.find(slug), undefined, slug);
  }
});

Deno.test("`create()` appends the post and writes the file pretty-printed", async () => {
  const old = { slug: "a", title: "A", content: "1" };
  await using folder = await folderWith(JSON.stringify([old]));
  const post = await folder.posts.create("My Post", "Line 1\r\nLine 2");
  assertEquals(post, {
    slug: "my-post",
    title: "My Post",
    content: "Line 1\r\nLine 2",
  });
  const text = await Deno.readTextFile(folder.file);
  assertEquals(text.trimEnd(), JSON.stringify([old, post], null, 2));
});

Deno.test("`create()` does not check that a slug is unique", async () => {
  await using folder = await folderWith("[]");
  await folder.posts.create("Same", "1");
  await folder.posts.create("Same", "2");
  const slugs = (await folder.posts.all()).map(({ slug }) => slug);
  assertEquals(slugs, ["same", "same"]);
});

Deno.test("`create()` keeps the fields of a post that the blog does not know", async () => {
  const old = { slug: "a", title: "A", content: "", tags: ["x", { y: null }] };
  await using folder = await folderWith(JSON.stringify([old]));
  await folder.posts.create("B", "");
  assertEquals((await folder.posts.all())[0], old);
});

Deno.test("`create()` of three stores on one file loses none of 100 posts", async () => {
  await using folder = await folderWith();
  const stores = [1, 2, 3].map(() => new PostFile(folder.file));
  const titles = Array.from({ length: 100 }, (_, index) => `Post ${index}`);
  await Promise.all(
    titles.map((title, index) => stores[index % 3]!.create(title, "")),
  );
  assertEquals((await titlesOf(folder.posts)).sort(), titles.sort());
});

Deno.test("`create()` never shows readers half a list, nor one that has become shorter", async () => {
  await using folder = await folderWith("[]");
  let isWriting = true;
  const read = async (): Promise<void> => {
    let least = 0;
    while (isWriting) {
      const { length } = JSON.parse(await Deno.readTextFile(folder.file));
      assertEquals(length >= least, true, `${length} posts after ${least}`);
      least = length;
    }
  };
  const reader = read();
  for (let index = 0; index < 30; index++) {
    await folder.posts.create(`${index}`, "x".repeat(20_000));
  }
  isWriting = false;
  await reader;
});

const REFUSED: Readonly<Record<string, string | Uint8Array>> = {
  "no JSON": `[{"slug": "a"`,
  "nothing": "",
  "an object": `{"posts": []}`,
  "null among the posts": "[null]",
  "a post without content": `[{"slug":"b","title":"B"}]`,
  "a title that is no text": `[{"slug":"a","title":7,"content":""}]`,
  "bytes that are not UTF-8": Uint8Array.of(0x5b, 0x22, 0xff, 0x22, 0x5d),
};

for (const [what, content] of Object.entries(REFUSED)) {
  Deno.test(`\`create()\` refuses a file that holds ${what}, names it and leaves it as it is`, async () => {
    await using folder = await folderWith(content);
    const before = await Deno.readFile(folder.file);
    const { posts, file } = folder;
    await assertRejects(() => posts.all(), Error, file);
    await assertRejects(() => posts.create("A", ""), Error, file);
    assertEquals(await Deno.readFile(file), before);
  });
}
