/** Owns which module of the package imports which, also for types alone and on demand. */

import ts from "npm:typescript@5.9.3";

/** The paths that each module imports, by its own path; paths begin at the root of the project. */
export type Imports = ReadonlyMap<string, readonly string[]>;

/** Reads the imports of the entries and of all that they import. */
export async function importsOf(
  entries: readonly string[],
  names: Readonly<Record<string, string>>,
): Promise<Imports> {
  const imports = new Map<string, string[]>();
  const waiting = [...entries];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (imports.has(path)) continue;
    const { importedFiles } = ts.preProcessFile(await Deno.readTextFile(path));
    const targets = importedFiles.flatMap(({ fileName }) =>
      pathOf(fileName, path!, names) ?? []
    );
    imports.set(path, [...new Set(targets)]);
    waiting.push(...targets);
  }
  return imports;
}

/** The path of what is imported; nothing for what is no module of the package. */
function pathOf(
  specifier: string,
  importer: string,
  names: Readonly<Record<string, string>>,
): string | undefined {
  const target = names[specifier];
  if (target?.startsWith("./")) return target.slice(2);
  if (!specifier.startsWith(".")) return undefined;
  return new URL(specifier, `file:///${importer}`).pathname.slice(1);
}

/** The longest chain of imports that begins at the path. A circle is an error that names its modules. */
export function longestChain(imports: Imports, from: string): string[] {
  const known = new Map<string, string[]>();
  const chainOf = (path: string, above: readonly string[]): string[] => {
    if (above.includes(path)) {
      const circle = [...above.slice(above.indexOf(path)), path];
      throw new Error(`Modules import each other: ${circle.join(" > ")}`);
    }
    const found = known.get(path);
    if (found !== undefined) return found;
    const chains = (imports.get(path) ?? []).map((target) =>
      chainOf(target, [...above, path])
    );
    const chain = [path, ...longest(chains)];
    known.set(path, chain);
    return chain;
  };
  return chainOf(from, []);
}

function longest(chains: readonly string[][]): string[] {
  return chains.reduce(
    (best, chain) => chain.length > best.length ? chain : best,
    [],
  );
}
