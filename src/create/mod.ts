/**
 * Writes a new site: routes and a page with its layout, a test, an icon, the tasks that run them, and notes for a
 * coding assistant.
 *
 *     deno create jsr:@framework/core -- my-site
 *
 * writes it into the folder `my-site`, and without a name into the current one. It asks nothing, and it writes
 * nothing when one of its files already exists. From a clone, the site imports the clone:
 *
 *     deno run --allow-read --allow-write src/create/mod.ts my-site
 *
 * Guide: [docs/reference.md](./docs/reference.md#create)
 *
 * @example
 * ```ts
 * import { create } from "@framework/core/create";
 * import { assertArrayIncludes } from "@std/assert";
 *
 * const folder = await Deno.makeTempDir();
 * assertArrayIncludes(await create(folder), ["main.ts", "app.ts", "deno.json"]);
 * await Deno.remove(folder, { recursive: true });
 * ```
 *
 * @module
 */

import { SITE } from "./site.ts";

/**
 * Writes a new site into a folder, which is made when it is missing, and returns the paths of its files there.
 * Rejects with `Deno.errors.AlreadyExists` when one of them already exists; nothing is written then. It needs
 * permission to read and write the folder.
 *
 * @example
 * ```ts
 * import { create } from "@framework/core/create";
 * import { assertRejects } from "@std/assert";
 *
 * const folder = await Deno.makeTempDir();
 * await create(folder);
 * await assertRejects(() => create(folder), Deno.errors.AlreadyExists);
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export async function create(folder = "."): Promise<string[]> {
  const files = Object.keys(SITE);
  for (const file of files) await refuseExisting(`${folder}/${file}`);
  for (const file of files) {
    const path = `${folder}/${file}`;
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(path, SITE[file]!, { createNew: true });
  }
  return files;
}

/** Throws when something of that name exists, even a broken link. */
async function refuseExisting(path: string): Promise<void> {
  try {
    await Deno.lstat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw error;
  }
  throw new Deno.errors.AlreadyExists(
    `Cannot create the site: "${path.replace(/^\.\//, "")}" already exists`,
  );
}

/** Creates the site that the command line names, and prints what to do next. */
async function main([folder, ...rest]: readonly string[]): Promise<void> {
  if (rest.length > 0 || folder?.startsWith("-")) {
    throw new TypeError("Usage: deno create jsr:@framework/core [-- folder]");
  }
  const files = await create(folder);
  const enter = folder === undefined ? "" : `  cd ${folder}\n`;
  // deno-lint-ignore no-console -- a program for the terminal
  console.log(
    `Created ${files.join(", ")}\n\nNow run\n\n${enter}  deno task dev`,
  );
}

if (import.meta.main) {
  try {
    await main(Deno.args);
  } catch (error) {
    // deno-lint-ignore no-console -- a program for the terminal
    console.error(error instanceof Error ? error.message : error);
    Deno.exit(1);
  }
}
