/** Owns the rehearsal of publishing: without sending anything, and without JSR, whose `@std` are the stand-ins. */

import { deno, type Outcome } from "./command.ts";
import { ProjectCopy } from "./project_copy.ts";

interface Configuration {
  readonly imports: Readonly<Record<string, string>>;
}

const CONFIGURATION = "deno.json";

/** Publishes a copy of the project, as far as that goes without sending it. */
export async function rehearsePublishing(): Promise<Outcome> {
  await using copy = await ProjectCopy.make();
  const std = await Deno.makeTempDir({ prefix: "std-" });
  try {
    const configuration = await read(CONFIGURATION);
    const links = await writeStandins(configuration, std);
    const text = JSON.stringify({ ...configuration, links });
    await Deno.writeTextFile(`${copy.folder}/${CONFIGURATION}`, text);
    return await deno(["publish", "--dry-run", "--allow-dirty"], copy.folder);
  } finally {
    await Deno.remove(std, { recursive: true });
  }
}

/** Writes a package for each one of JSR, made of the stand-ins; returns their folders. */
async function writeStandins(
  { imports }: Configuration,
  folder: string,
): Promise<string[]> {
  const standins = Object.entries(
    (await read("compat/import_map.json")).imports,
  );
  const links: string[] = [];
  for (const [name, specifier] of Object.entries(imports)) {
    const [, version] = /^jsr:.*\^(.+)$/.exec(specifier) ?? [];
    if (version === undefined) continue;
    const link = `${folder}/${name.split("/")[1]}`;
    await Deno.mkdir(link);
    for await (const file of Deno.readDir("compat")) {
      await Deno.copyFile(`compat/${file.name}`, `${link}/${file.name}`);
    }
    const modules = standins.filter(([module]) =>
      module === name || module.startsWith(`${name}/`)
    ).map(([module, file]) => [`.${module.slice(name.length)}`, file]);
    const exports = Object.fromEntries(modules);
    const text = JSON.stringify({ name, version, exports });
    await Deno.writeTextFile(`${link}/${CONFIGURATION}`, text);
    links.push(link);
  }
  return links;
}

async function read(file: string): Promise<Configuration> {
  return JSON.parse(await Deno.readTextFile(file));
}
