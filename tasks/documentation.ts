/**
 * Owns the check of the documentation, over every export of `deno.json`: its lint, the pages that are made of
 * it, and warnings for modules, classes and functions without an example.
 */

import { deno, type Outcome } from "./command.ts";

/** Kinds of names that show their use in an example. */
const WITH_EXAMPLE = ["class", "function"];

interface Documentation {
  readonly nodes: Readonly<Record<string, Module>>;
}

interface Module {
  readonly module_doc?: Comment;
  readonly symbols: readonly {
    readonly name: string;
    readonly declarations: readonly Declaration[];
  }[];
}

interface Declaration {
  readonly kind: string;
  readonly jsDoc?: Comment;
}

interface Comment {
  readonly tags?: readonly { readonly kind: string; readonly doc?: string }[];
}

/** Checks the documentation; the flags say where the imports lead. */
export async function checkDocumentation(
  flags: readonly string[],
): Promise<Outcome> {
  const { name, exports } = JSON.parse(await Deno.readTextFile("deno.json"));
  const entries = Object.values<string>(exports);
  const lint = await deno(["doc", "--lint", ...flags, ...entries]);
  if (!lint.success) return lint;
  const folder = await Deno.makeTempDir({ prefix: "framework-pages-" });
  try {
    const target = [`--name=${name}`, `--output=${folder}`];
    const pages = await deno([
      "doc",
      "--html",
      ...target,
      ...flags,
      ...entries,
    ]);
    if (!pages.success) return pages;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  const { success, output, report } = await deno([
    "doc",
    "--json",
    ...flags,
    ...entries,
  ]);
  if (!success) return { success, output, report };
  return { success, output: "", report: withoutExamples(JSON.parse(output)) };
}

/** A warning for each module, class and function without an example. */
function withoutExamples({ nodes }: Documentation): string {
  const warnings: string[] = [];
  for (const [module, { module_doc, symbols }] of Object.entries(nodes)) {
    const path = module.slice(`file://${Deno.cwd()}/`.length);
    if (!hasExample(module_doc)) warnings.push(`no example: ${path}`);
    for (const { name, declarations } of symbols) {
      const shown = declarations.filter(({ kind }) =>
        WITH_EXAMPLE.includes(kind)
      );
      if (shown.length === 0 || hasExample(module_doc, name)) continue;
      if (shown.some(({ jsDoc }) => hasExample(jsDoc))) continue;
      warnings.push(`no example: ${name} of ${path}`);
    }
  }
  return warnings.map((warning) => `warning ${warning}`).join("\n");
}

/** Whether a comment has an example, which uses the name where one is given. */
function hasExample(comment: Comment | undefined, name = ""): boolean {
  const tags = comment?.tags ?? [];
  return tags.some(({ kind, doc }) =>
    kind === "example" && (doc ?? "").includes(name)
  );
}
