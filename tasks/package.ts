/**
 * Owns the rehearsal of publishing. Without JSR it takes place in a temporary folder, where links to
 * the stand-ins take the place of the packages; the package's files and its types are checked the same.
 */

import { deno, type Outcome } from "./command.ts";

interface Configuration {
  imports: Record<string, string>;
  publish: { include: string[] };
}

const REHEARSAL = ["publish", "--dry-run", "--allow-dirty"];

/** Rehearses publishing the package of this folder, on stand-ins when JSR is out of reach. */
export async function rehearse(standins: boolean): Promise<Outcome> {
  if (!standins) return await deno(REHEARSAL);
  const folder = await Deno.makeTempDir({ prefix: "framework-package-" });
  try {
    const configuration: Configuration = JSON.parse(
      await Deno.readTextFile("deno.json"),
    );
    await copyPackage(configuration, folder);
    const links = await copyStandins(configuration, folder);
    await Deno.writeTextFile(
      `${folder}/package/deno.json`,
      JSON.stringify({ ...configuration, links }),
    );
    return await deno(REHEARSAL, `${folder}/package`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function copyPackage(
  { publish }: Configuration,
  folder: string,
): Promise<void> {
  for (const path of publish.include) {
    await copy(path, `${folder}/package/${path}`);
  }
}

/** Makes a package of every stand-in that the import map names; answers the links to them. */
async function copyStandins(
  { imports }: Configuration,
  folder: string,
): Promise<string[]> {
  const map: Configuration = JSON.parse(
    await Deno.readTextFile("compat/import_map.json"),
  );
  const links: string[] = [];
  for (const [name, specifier] of Object.entries(imports)) {
    if (!specifier.startsWith("jsr:")) continue;
    const exports: Record<string, string> = {};
    for (const [key, target] of Object.entries(map.imports)) {
      if (key === name || key.startsWith(`${name}/`)) {
        exports[`.${key.slice(name.length)}`] = target;
      }
    }
    const version = specifier.split("^")[1];
    await copy("compat", `${folder}/${name}`);
    await Deno.writeTextFile(
      `${folder}/${name}/deno.json`,
      JSON.stringify({ name, version, exports }),
    );
    links.push(`../${name}`);
  }
  return links;
}

async function copy(from: string, to: string): Promise<void> {
  if ((await Deno.stat(from)).isFile) {
    await Deno.mkdir(to.slice(0, to.lastIndexOf("/")), { recursive: true });
    await Deno.copyFile(from, to);
    return;
  }
  for await (const { name } of Deno.readDir(from)) {
    await copy(`${from}/${name}`, `${to}/${name}`);
  }
}
