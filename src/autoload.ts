/**
 * Owns finding a class by its name: the class `UserStore` is the export `UserStore`, or the default
 * export, of `UserStore.ts` or `user_store.ts` in one of the added folders, tried in the order in
 * which they were added.
 */

import type { Class } from "./loader.ts";

const NAME = /^[A-Za-z_$][\w$]*$/;

/** The folders of autoloaded classes, and the classes found so far. */
export class Autoload {
  readonly #folders: string[] = [];
  readonly #found = new Map<string, Promise<Class>>();

  /** Adds a folder; a relative one is resolved against the working directory when it is searched. */
  add(folder: string | URL): void {
    if (
      typeof folder !== "string" && !(folder instanceof URL) ||
      String(folder) === ""
    ) {
      throw new TypeError(
        `Cannot add a path: it must be the name of a folder, got "${folder}"`,
      );
    }
    this.#folders.push(String(folder));
  }

  /** Finds a class and remembers it; rejects with where it looked, and why that failed. */
  find(name: string): Promise<Class> {
    const known = this.#found.get(name);
    if (known !== undefined) return known;
    const finding = this.#search(name);
    this.#found.set(name, finding);
    finding.catch(() => this.#found.delete(name));
    return finding;
  }

  async #search(name: string): Promise<Class> {
    if (!NAME.test(name)) {
      throw new TypeError(
        `Cannot load the class "${name}": it is not the name of a class`,
      );
    }
    const tried: string[] = [];
    for (const folder of this.#folders) {
      const root = await toPath(folder);
      for (const file of [`${name}.ts`, `${toSnakeCase(name)}.ts`]) {
        const outcome = await locate(root, file);
        if (outcome.path !== undefined) {
          return pick(await import(outcome.path), name, outcome.path);
        }
        if (!tried.includes(outcome.why)) tried.push(outcome.why);
      }
    }
    const where = tried.length > 0
      ? tried.join(", ")
      : "no folder was added with path()";
    throw new ReferenceError(`Cannot load the class "${name}": ${where}`);
  }
}

/** The URL of a file inside a folder, or why there is none; a link may not lead out of the folder. */
async function locate(
  root: string,
  file: string,
): Promise<{ path: string } | { path?: never; why: string }> {
  const { join } = await import("@std/path/join");
  const { toFileUrl } = await import("@std/path/to-file-url");
  const path = join(root, file);
  try {
    const real = await Deno.realPath(path);
    if (!real.startsWith(join(await Deno.realPath(root), "/"))) {
      return { why: `"${path}" leads out of its folder` };
    }
    return { path: toFileUrl(real).href };
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) {
      return { why: `"${path}" needs the permission --allow-read=${root}` };
    }
    if (error instanceof Deno.errors.NotFound) {
      return { why: `"${path}" does not exist` };
    }
    throw error;
  }
}

async function toPath(folder: string): Promise<string> {
  const { resolve } = await import("@std/path/resolve");
  const { fromFileUrl } = await import("@std/path/from-file-url");
  return folder.startsWith("file:") ? fromFileUrl(folder) : resolve(folder);
}

function pick(
  module: Record<string, unknown>,
  name: string,
  path: string,
): Class {
  const found = module[name] ?? module.default;
  if (typeof found === "function") return found as Class;
  throw new TypeError(
    `Cannot load the class "${name}": "${path}" exports no class of that name`,
  );
}

function toSnakeCase(name: string): string {
  return name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toLowerCase();
}
