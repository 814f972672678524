/**
 * Owns the rehearsal of publishing, on a registry of this machine whose `@std` are the stand-ins: first
 * without sending anything, then in earnest, so that the registry serves the package as JSR would.
 */

import { deno, type Outcome } from "./command.ts";
import type { Registry } from "./registry.ts";

interface Configuration {
  readonly publish: { readonly include: readonly string[] };
}

const PUBLISH = ["publish", "--allow-dirty"];
const IN_EARNEST = ["--no-provenance", "--token=rehearsal"];

/** Publishes the package of this folder to the registry, after a dry run. */
export async function publish(registry: Registry): Promise<Outcome> {
  const folder = await Deno.makeTempDir({ prefix: "framework-package-" });
  const surroundings = { cwd: folder, env: { JSR_URL: registry.url } };
  try {
    await copyPackage(folder);
    const rehearsal = await deno([...PUBLISH, "--dry-run"], surroundings);
    if (!rehearsal.success) return rehearsal;
    return await deno([...PUBLISH, ...IN_EARNEST], surroundings);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function copyPackage(folder: string): Promise<void> {
  const { publish }: Configuration = JSON.parse(
    await Deno.readTextFile("deno.json"),
  );
  for (const path of publish.include) await copy(path, `${folder}/${path}`);
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
