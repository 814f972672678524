/** Owns the stand-ins as packages: what `@std` consists of on a registry that has not the real one. */

import type { Release } from "./registry.ts";

interface Imports {
  readonly imports: Readonly<Record<string, string>>;
}

/** A release of each package of `@std` that the project names, in its lowest version, made of the stand-ins. */
export async function standins(folder: URL): Promise<Release[]> {
  const { imports }: Imports = await json(new URL("deno.json", folder));
  const map: Imports = await json(new URL("compat/import_map.json", folder));
  const files = await read(new URL("compat/", folder));
  return Object.entries(imports).flatMap(([name, specifier]) => {
    const [, version] = /^jsr:@std\/.*\^(.+)$/.exec(specifier) ?? [];
    if (version === undefined) return [];
    const exports = Object.entries(map.imports)
      .filter(([key]) => key === name || key.startsWith(`${name}/`))
      .map(([key, file]) => [`.${key.slice(name.length)}`, file]);
    return [{ name, version, exports: Object.fromEntries(exports), files }];
  });
}

async function json(file: URL): Promise<Imports> {
  return JSON.parse(await Deno.readTextFile(file));
}

async function read(folder: URL): Promise<Release["files"]> {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  for await (const { name } of Deno.readDir(folder)) {
    files.set(`/${name}`, await Deno.readFile(new URL(name, folder)));
  }
  return files;
}
