/** The stores of posts: what every store does, and what the file in particular reads, writes and refuses. */

import { assertEquals, assertRejects } from "@std/assert";
import { stub } from "@std/testing/mock";
import { type Post, PostFile, type PostStore, slugOf } from "../blog/posts.ts";
import { STORES, type TemporaryStore } from "./stores.ts";

/** Declares a test on every store; `held` are its first posts. */
function onEveryStore(
  name: string,
  held: readonly Post[],
  test: (posts: PostStore, store: TemporaryStore) => Promise<void>,
): void {
  for (const kind of STORES) {
    Deno.test(
      { name: `${name}, on ${kind.name}`, ignore: kind.ignore },
      async () => {
        await using store = await kind.create(held);
        await test(store.posts, store);
      },
    );
  }
}

/** Runs a test on a temporary file; without a text, the file is missing. */
async function withFile(
  text: string | Uint8Array | undefined,
  test: (posts: PostFile, file: string, folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "posts" });
  const file = `${folder}/posts.json`;
  try {
    if (typeof text === "string") await Deno.writeTextFile(file, text);
    else if (text !== undefined) await Deno.writeFile(file, text);
    await test(new PostFile(file), file, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const slugs: [title: string, slug: string][] = [
  ["Hello World", "hello-world"],
  ["two  spaces ", "two--spaces-"],
  ["C/C++ & 100%?", "c/c++-&-100%?"],
  ["ÄRGER <b>", "ärger-<b>"],
  ["tab\tstays", "tab\tstays"],
  ["already-there", "already-there"],
  ["", ""],
];

for (const [title, slug] of slugs) {
  Deno.test(`\`slugOf()\` makes ${JSON.stringify(slug)} of ${JSON.stringify(title)}`, () => {
    assertEquals(slugOf(title), slug);
  });
}

const HELD: Post[] = [
  { slug: "b", title: "B", content: "2\n3", id: 7, tags: ["x", { y: null }] },
  { slug: "a", title: "A", content: "" },
  { slug: "b", title: "Another", content: "4" },
];

onEveryStore(
  "`all()` reads the posts in their order, with every field",
  HELD,
  async (posts) => {
    assertEquals(await posts.all(), HELD);
  },
);

onEveryStore(
  "`all()` reads what another process has written since",
  [],
  async (posts, store) => {
    assertEquals(await posts.all(), []);
    const post = await (await store.open()).create("A", "");
    assertEquals(await posts.all(), [post]);
  },
);

onEveryStore(
  "`list()` has the title and at least the first line of every post",
  HELD,
  async (posts) => {
    const { posts: listed, earlier, later } = await posts.list();
    assertEquals(
      listed.map((
        { slug, title, content },
      ) => [slug, title, content.split("\n")[0]]),
      [["b", "B", "2"], ["a", "A", ""], ["b", "Another", "4"]],
    );
    assertEquals([earlier, later], [undefined, undefined]);
  },
);

onEveryStore(
  "`list()` has at most 200 characters of a title and of a first line",
  [
    { slug: "a", title: "é".repeat(201), content: `${"x".repeat(201)}\ny` },
    { slug: "b", title: "😀".repeat(201), content: ` ${"😀".repeat(201)}` },
    { slug: "c", title: "😀".repeat(200), content: "x".repeat(200) },
  ],
  async (posts) => {
    assertEquals(
      (await posts.list()).posts.map(({ title, content }) => [title, content]),
      [
        ["é".repeat(200), "x".repeat(200)],
        ["😀".repeat(200), "😀".repeat(200)],
        ["😀".repeat(200), "x".repeat(200)],
      ],
    );
  },
);

const longSlugs = ["x".repeat(60_000), "x".repeat(60_001), "日".repeat(7_000)];

onEveryStore(
  "`list()` cuts a slug only when no address can hold it",
  longSlugs.map((slug) => ({ slug, title: "A", content: "" })),
  async (posts) => {
    assertEquals((await posts.list()).posts.map(({ slug }) => slug.length), [
      60_000,
      200,
      200,
    ]);
  },
);

onEveryStore(
  "`find()` returns the first post with the slug, with every field",
  HELD,
  async (posts) => {
    assertEquals(await posts.find("b"), HELD[0]);
  },
);

onEveryStore(
  "`find()` returns undefined for any other slug",
  HELD,
  async (posts) => {
    for (const slug of ["B", "", "b ", "%", "_", "' or '1'='1"]) {
      assertEquals(await posts.find(slug), undefined, slug);
    }
  },
);

const texts = [
  "",
  'It\'s "quoted" \\ and \\\\ twice',
  "'); drop table blog_posts; --",
  "$1 ${2} :three ? {}",
  "ÄRGER Straße ✓ 日本語 👩‍👩‍👧",
  "  spaces  and\ttabs ",
  "line\r\nline\u2028line",
  "x".repeat(10_000),
  "A".repeat(2_700) + " end",
];

onEveryStore(
  "`create()` saves texts exactly and finds them by their slugs",
  [],
  async (posts, store) => {
    for (const text of texts) {
      const post = {
        slug: slugOf(text),
        title: text,
        content: `${text}\n${text}`,
      };
      assertEquals(await posts.create(post.title, post.content), post);
      assertEquals(await (await store.open()).find(post.slug), post);
    }
    assertEquals((await posts.all()).map(({ title }) => title), texts);
  },
);

onEveryStore(
  "`create()` saves each of 100 posts once that come at once to several processes",
  [],
  async (posts, store) => {
    const stores = [posts, await store.open(), await store.open()];
    const titles = Array.from({ length: 100 }, (_, index) => `Post ${index}`);
    await Promise.all(
      titles.map((title, index) => stores[index % 3]!.create(title, "")),
    );
    const saved = (await posts.all()).map(({ title }) => title);
    assertEquals(saved.sort(), titles.sort());
  },
);

Deno.test("`all()` returns no posts when there is no file", async () => {
  await withFile(undefined, async (posts) => {
    assertEquals(await posts.all(), []);
  });
});

Deno.test("`all()` loads the file for 100 readers at once no more than twice", async () => {
  await withFile("[]", async (posts) => {
    const { readFile } = Deno;
    using reads = stub(Deno, "readFile", (path) => readFile(path));
    const first = posts.all();
    await Promise.resolve(); // it has begun
    await Promise.all(Array.from({ length: 99 }, () => posts.all()));
    await first;
    assertEquals(reads.calls.length, 2);
  });
});

Deno.test("`all()` has every post that was saved before, also while another load is under way", async () => {
  await withFile("[]", async (posts) => {
    for (let count = 1; count <= 20; count++) {
      const reading = posts.all();
      await posts.create("A", "");
      const earlier = posts.all();
      assertEquals((await posts.all()).length, count);
      await Promise.all([reading, earlier]);
    }
  });
});

Deno.test("`create()` appends a post to a file it makes, pretty-printed", async () => {
  await withFile(undefined, async (posts, file) => {
    const post = await posts.create("My Post", "Line 1\r\nLine 2");
    assertEquals(post, {
      slug: "my-post",
      title: "My Post",
      content: "Line 1\r\nLine 2",
    });
    assertEquals(
      await Deno.readTextFile(file),
      JSON.stringify([post], null, 2) + "\n",
    );
  });
});

Deno.test("`create()` keeps unknown fields, their order and the spelling of numbers", async () => {
  const old = `[
  {
    "id": 12345678901234567890,
    "slug": "a",
    "rating": 1.0,
    "title": "A",
    "tags": [
      "x",
      {
        "__proto__": 1e400
      }
    ],
    "content": "c"
  }
]
`;
  await withFile(old, async (posts, file) => {
    await posts.create("B", "d");
    const added =
      `,\n  {\n    "slug": "b",\n    "title": "B",\n    "content": "d"\n  }\n]\n`;
    assertEquals(await Deno.readTextFile(file), old.replace(/\n\]\n$/, added));
  });
});

Deno.test("`create()` loses none of 100 posts that come at once, and keeps their order", async () => {
  await withFile(undefined, async (posts) => {
    const titles = Array.from({ length: 100 }, (_, index) => `Post ${index}`);
    await Promise.all(titles.map((title) => posts.create(title, "text")));
    assertEquals((await posts.all()).map(({ title }) => title), titles);
  });
});

Deno.test("`create()` never shows readers a list that has become shorter", async () => {
  await withFile("[]", async (posts) => {
    let writing = true;
    const read = async () => {
      let least = 0;
      while (writing) {
        const { length } = await posts.all();
        assertEquals(length >= least, true, `${length} posts after ${least}`);
        least = length;
      }
    };
    const reader = read();
    for (let index = 0; index < 30; index++) {
      await posts.create(`${index}`, "x".repeat(20_000));
    }
    writing = false;
    await reader;
  });
});

Deno.test("`create()` leaves no file but the posts and the lock", async () => {
  await withFile("[]", async (posts, _file, folder) => {
    await posts.create("A", "");
    const names = (await Array.fromAsync(Deno.readDir(folder))).map((
      { name },
    ) => name);
    assertEquals(names.sort(), ["posts.json", "posts.json.lock"]);
  });
});

Deno.test("`create()` keeps the mode of the file", async () => {
  await withFile("[]", async (posts, file) => {
    for (const mode of [0o600, 0o640, 0o666]) {
      await Deno.chmod(file, mode);
      await posts.create("A", "");
      assertEquals((await Deno.stat(file)).mode! & 0o777, mode);
    }
  });
});

for (const target of ["the file", "the missing file"]) {
  Deno.test(`\`create()\` writes ${target} that symbolic links lead to`, async () => {
    await withFile("[]", async (posts, file, folder) => {
      await Deno.mkdir(`${folder}/disk`);
      await Deno.symlink("disk/second.json", `${folder}/first.json`);
      await Deno.symlink("../posts.json", `${folder}/disk/second.json`);
      if (target === "the missing file") await Deno.remove(file);
      await new PostFile(`${folder}/first.json`).create("A", "");
      assertEquals((await posts.all()).map(({ title }) => title), ["A"]);
      assertEquals((await Deno.lstat(`${folder}/first.json`)).isSymlink, true);
      const names = await Array.fromAsync(Deno.readDir(folder));
      assertEquals(names.map(({ name }) => name).sort(), [
        "disk",
        "first.json",
        "posts.json",
        "posts.json.lock",
      ]);
    });
  });
}

Deno.test("`create()` rejects where symbolic links lead in a circle", async () => {
  await withFile(undefined, async (posts, file, folder) => {
    await Deno.symlink("other.json", file);
    await Deno.symlink("posts.json", `${folder}/other.json`);
    const create = () => posts.create("A", "");
    await assertRejects(create, Deno.errors.FilesystemLoop);
  });
});

Deno.test("`create()` works after a killed writer has left half a list", async () => {
  await withFile("[]", async (posts, file) => {
    await Deno.writeTextFile(`${file}.new`, `[{"slug": "half`);
    await posts.create("A", "");
    assertEquals((await posts.all()).length, 1);
  });
});

const refusals: [what: string, text: string | Uint8Array, message: string][] = [
  ["no JSON", `[{"slug": "a"`, "Expected"],
  ["an empty file", "", "Unexpected end"],
  ["an object", `{"posts": []}`, "it must contain a JSON array"],
  ["null", "null", "it must contain a JSON array"],
  ["a number among the posts", `[1]`, `post 1 must have a text "slug"`],
  ["null among the posts", `[null]`, `post 1 must have a text "slug"`],
  [
    "a post without content",
    `[{"slug":"a","title":"A","content":""},{"slug":"b","title":"B"}]`,
    `post 2 must have a text "content"`,
  ],
  [
    "a title that is no text",
    `[{"slug":"a","title":7,"content":""}]`,
    `post 1 must have a text "title"`,
  ],
  [
    "bytes that are not UTF-8",
    Uint8Array.of(0x5b, 0x22, 0xff, 0x22, 0x5d),
    "not valid",
  ],
];

for (const [what, text, message] of refusals) {
  Deno.test(`\`create()\` refuses a file that holds ${what} and leaves it as it is`, async () => {
    await withFile(text, async (posts, file) => {
      const before = await Deno.readFile(file);
      for (const use of [() => posts.all(), () => posts.create("A", "")]) {
        const error = await assertRejects(
          use,
          Error,
          `Cannot read the posts in "${file}": `,
        );
        assertEquals(error.message.includes(message), true, error.message);
      }
      assertEquals(await Deno.readFile(file), before);
    });
  });
}

Deno.test("`create()` works again once a refused file is repaired", async () => {
  await withFile("{", async (posts, file) => {
    await assertRejects(() => posts.create("A", ""));
    await Deno.writeTextFile(file, "[]");
    await posts.create("B", "");
    assertEquals((await posts.all()).map(({ title }) => title), ["B"]);
  });
});

Deno.test("`create()` rejects for every waiting post when the folder is missing", async () => {
  await withFile(undefined, async (_posts, _file, folder) => {
    const posts = new PostFile(`${folder}/missing/posts.json`);
    const outcomes = await Promise.allSettled(
      ["A", "B", "C"].map((title) => posts.create(title, "")),
    );
    assertEquals(outcomes.map(({ status }) => status), [
      "rejected",
      "rejected",
      "rejected",
    ]);
  });
});

Deno.test("`seed()` copies the first posts where there is no file, and changes none that exists", async () => {
  await withFile(undefined, async (posts, file, folder) => {
    const text = `[{"slug":"a","title":"A","content":"", "rating": 1.0}]`;
    await Deno.writeTextFile(`${folder}/seed.json`, text);
    await Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        const store = new PostFile(file);
        await store.seed(`${folder}/seed.json`);
        await store.create(`${index}`, "");
      }),
    );
    assertEquals((await posts.all()).length, 11);
    await posts.seed(`${folder}/seed.json`);
    assertEquals((await posts.all()).length, 11);
    assertEquals(await Deno.readTextFile(`${folder}/seed.json`), text);
  });
});
