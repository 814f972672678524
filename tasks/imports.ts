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

/** The imports between groups of modules; a module that is in no group stands for itself. */
export function between(
  imports: Imports,
  groupOf: (path: string) => string | undefined,
): Imports {
  const grouped = new Map<string, string[]>();
  for (const [path, targets] of imports) {
    const group = groupOf(path) ?? path;
    const others = targets.map((target) => groupOf(target) ?? target)
      .filter((target) => target !== group);
    const known = grouped.get(group) ?? [];
    grouped.set(group, [...new Set([...known, ...others])]);
  }
  return grouped;
}

/** The longest chain of imports that begins at the path; what closes a circle is left out. */
export function longestChain(imports: Imports, from: string): string[] {
  const known = new Map<string, string[]>();
  const chainOf = (path: string, above: readonly string[]): string[] => {
    const found = known.get(path);
    if (found !== undefined) return found;
    const chains = targetsOf(imports, path)
      .filter((target) => !above.includes(target))
      .map((target) => chainOf(target, [...above, target]));
    const chain = [path, ...longest(chains)];
    known.set(path, chain);
    return chain;
  };
  return chainOf(from, [from]);
}

/** The imports that close a circle of modules, each as `importer > imported`. */
export function circlesIn(imports: Imports): string[] {
  return [...imports].flatMap(([path, targets]) =>
    targets.filter((target) => reaches(imports, target, path))
      .map((target) => `${path} > ${target}`)
  );
}

function reaches(imports: Imports, from: string, to: string): boolean {
  const seen = new Set([from]);
  for (const path of seen) {
    for (const target of targetsOf(imports, path)) seen.add(target);
  }
  return seen.has(to);
}

function targetsOf(imports: Imports, path: string): readonly string[] {
  return imports.get(path) ?? [];
}

function longest(chains: readonly string[][]): string[] {
  return chains.reduce(
    (best, chain) => chain.length > best.length ? chain : best,
    [],
  );
}
