/** Owns the import map of processes that tests start: the names lead where they lead in this process. */

interface Names {
  readonly imports: Record<string, string>;
}

/** The imports for a process with neither the project's configuration nor its folder. */
export async function absoluteImports(): Promise<Record<string, string>> {
  const imports = await read("../../compat/import_map.json");
  if (import.meta.resolve("@std/assert").startsWith("file:")) return imports;
  const configured = await read("../../deno.json");
  for (const name of Object.keys(imports)) {
    const [, library, subpath] = /^(@std\/[^/]+)(\/.+)/.exec(name) ?? [];
    if (library !== undefined) imports[name] = configured[library]! + subpath;
  }
  return { ...imports, ...configured };
}

/** The imports of a file, its own paths as addresses. */
async function read(file: string): Promise<Record<string, string>> {
  const base = new URL(file, import.meta.url);
  const { imports }: Names = JSON.parse(await Deno.readTextFile(base));
  for (const [name, target] of Object.entries(imports)) {
    if (target.startsWith(".")) imports[name] = new URL(target, base).href;
  }
  return imports;
}
