/** The blog's template engine: its pages, and the cache folder of compiled templates. */

import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { stub } from "@std/testing/mock";
import { TemplateEngine } from "../blog/view.ts";

/** A folder with templates, and an engine over it for each start of the blog. */
class Folder {
  constructor(readonly path: string) {}

  get cache(): string {
    return `${this.path}/cache`;
  }

  start(cache: string = this.cache): TemplateEngine {
    return new TemplateEngine({ views: `${this.path}/views`, cache });
  }

  async write(template: string): Promise<void> {
    await Deno.mkdir(`${this.path}/views`, { recursive: true });
    await Deno.writeTextFile(`${this.path}/views/page.vto`, template);
  }

  /** Changes the compiled template in the cache, so that its page differs from its source. */
  async forge(changes: Record<string, string> = {}): Promise<void> {
    const file = `${this.cache}/page.vto.json`;
    const cached = JSON.parse(await Deno.readTextFile(file));
    const code = cached.code.replaceAll("compiled", "cached");
    await Deno.writeTextFile(
      file,
      JSON.stringify({ ...cached, code, ...changes }),
    );
  }
}

async function withFolder(
  test: (folder: Folder) => Promise<void>,
): Promise<void> {
  const folder = new Folder(await Deno.makeTempDir({ prefix: "templates" }));
  try {
    await folder.write("compiled {{ name }}");
    await test(folder);
  } finally {
    await Deno.remove(folder.path, { recursive: true });
  }
}

/** Runs a test and returns the warnings that it prints. */
async function warningsOf(test: () => Promise<void>): Promise<string[]> {
  using warn = stub(console, "warn");
  await test();
  return warn.calls.map(({ args }) => args.join(" "));
}

Deno.test("`display()` shows the assigned data, escaped", async () => {
  await withFolder(async (folder) => {
    assertEquals(
      await folder.start().assign({ name: "<Ann>" }).display("page"),
      "compiled &lt;Ann&gt;",
    );
  });
});

Deno.test("`assign()` keeps the data of one page out of every other", async () => {
  await withFolder(async (folder) => {
    const engine = folder.start();
    const ann = engine.assign({ name: "Ann" });
    const nobody = engine.assign({});
    assertEquals(
      await Promise.all([ann.display("page"), nobody.display("page")]),
      ["compiled Ann", "compiled "],
    );
  });
});

Deno.test("`display()` compiles once and writes the result to the cache folder", async () => {
  await withFolder(async (folder) => {
    const engine = folder.start();
    await Promise.all(
      [1, 2, 3].map((name) => engine.assign({ name }).display("page")),
    );
    const names = (await Array.fromAsync(Deno.readDir(folder.cache))).map((
      { name },
    ) => name);
    assertEquals(names, ["page.vto.json"]);
  });
});

Deno.test("`display()` makes the cache folder for its owner alone, since compiled templates are code", async () => {
  await withFolder(async (folder) => {
    await folder.start().assign({}).display("page");
    assertEquals((await Deno.stat(folder.cache)).mode! & 0o777, 0o700);
  });
});

Deno.test("`display()` loads a template that an earlier start has compiled", async () => {
  await withFolder(async (folder) => {
    await folder.start().assign({}).display("page");
    await folder.forge();
    assertEquals(
      await folder.start().assign({ name: 1 }).display("page"),
      "cached 1",
    );
  });
});

Deno.test("`display()` ignores a compiled template of another source", async () => {
  await withFolder(async (folder) => {
    await folder.start().assign({}).display("page");
    await folder.forge();
    await folder.write("compiled anew {{ name }}");
    assertEquals(
      await folder.start().assign({ name: 1 }).display("page"),
      "compiled anew 1",
    );
    assertStringIncludes(
      await Deno.readTextFile(`${folder.cache}/page.vto.json`),
      "compiled anew",
    );
  });
});

Deno.test("`display()` ignores a compiled template of another version of Vento", async () => {
  await withFolder(async (folder) => {
    await folder.start().assign({}).display("page");
    await folder.forge({ compiler: "ventojs@0" });
    assertEquals(
      await folder.start().assign({ name: 1 }).display("page"),
      "compiled 1",
    );
  });
});

const broken = ["", "export const", "throw new Error();", "1", "null", "{}"];

for (const text of broken) {
  Deno.test(`\`display()\` ignores a file in the cache that holds ${JSON.stringify(text)}`, async () => {
    await withFolder(async (folder) => {
      await Deno.mkdir(folder.cache);
      await Deno.writeTextFile(`${folder.cache}/page.vto.json`, text);
      assertEquals(
        await folder.start().assign({ name: 1 }).display("page"),
        "compiled 1",
      );
    });
  });
}

Deno.test("`display()` ignores a compiled template that is no code", async () => {
  await withFolder(async (folder) => {
    await folder.start().assign({}).display("page");
    for (const code of ["", "{", "null"]) {
      await folder.forge({ code });
      assertEquals(
        await folder.start().assign({ name: 1 }).display("page"),
        "compiled 1",
        code,
      );
    }
  });
});

Deno.test("`display()` works when the cache folder is deleted while running", async () => {
  await withFolder(async (folder) => {
    const engine = folder.start();
    await engine.assign({}).display("page");
    await Deno.remove(folder.cache, { recursive: true });
    assertEquals(
      await engine.assign({ name: 1 }).display("page"),
      "compiled 1",
    );
    assertEquals(
      await folder.start().assign({ name: 2 }).display("page"),
      "compiled 2",
    );
  });
});

Deno.test("`display()` works where the cache cannot be written, and warns", async () => {
  await withFolder(async (folder) => {
    const impossible = `${folder.path}/views/page.vto/cache`;
    const warnings = await warningsOf(async () => {
      assertEquals(
        await folder.start(impossible).assign({ name: 1 }).display("page"),
        "compiled 1",
      );
    });
    assertEquals(warnings.length, 1);
    assertStringIncludes(
      warnings[0]!,
      `Cannot write the template cache "${impossible}": `,
    );
  });
});

Deno.test("`display()` finds a template that was missing the first time", async () => {
  await withFolder(async (folder) => {
    const engine = folder.start();
    await assertRejects(
      () => engine.assign({}).display("other"),
      Deno.errors.NotFound,
    );
    await Deno.writeTextFile(`${folder.path}/views/other.vto`, "there");
    assertEquals(await engine.assign({}).display("other"), "there");
  });
});

Deno.test("the five templates of the blog load from the cache as they were compiled", async () => {
  await withFolder(async (folder) => {
    const views = decodeURIComponent(
      new URL("../blog/views", import.meta.url).pathname,
    );
    const post = { slug: "a/b", title: "A < B", content: "One\nTwo" };
    const pages = {
      home: { title: "t", posts: [post] },
      post: { title: "t", post },
      create: { title: "t" },
      "404": { title: "t" },
    };
    for (const [template, data] of Object.entries(pages)) {
      const first = await new TemplateEngine({ views, cache: folder.cache })
        .assign(data).display(template);
      const second = await new TemplateEngine({ views, cache: folder.cache })
        .assign(data).display(template);
      assert(first.startsWith("<!doctype html>"));
      assertEquals(second, first);
    }
  });
});
