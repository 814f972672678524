/**
 * Owns finding a class by its name: the class `UserStore` is the export `UserStore`, or the default export, of
 * `UserStore.ts` in one of the added folders.
 */

import type { Class, Classes } from "../routing/callback.ts";
import { Layered, type LayerOwner } from "../state/layer.ts";
import { withoutRequest } from "../waiting.ts";

const NAME = /^[A-Za-z_$][\w$]*$/;

export class Autoload implements Classes {
  readonly #folders: Layered<string[]>;
  /** The classes in the application's folders. */
  readonly #found = new Map<string, Promise<Class>>();

  constructor(owner: LayerOwner) {
    this.#folders = new Layered<string[]>(owner, [], (folders) => [...folders]);
  }

  /** Adds a folder: a `file:` URL or a path, which is relative to the working directory at each search. */
  add(folder: string | URL): void {
    this.#folders.writable().push(`${folder}`);
  }

  /** Finds a class and remembers it; when there is none, the message names the folders. */
  find(name: string): Promise<Class> {
    const folders = this.#folders.now;
    // What a module does while it loads must not belong to the request that happens to need it first.
    const load = () => withoutRequest(() => search(name, folders));
    if (folders !== this.#folders.shared) return load();
    const known = this.#found.get(name);
    if (known !== undefined) return known;
    const loading = load();
    this.#found.set(name, loading);
    loading.catch(() => this.#found.delete(name)); // the next call tries again
    return loading;
  }
}

async function search(
  name: string,
  folders: readonly string[],
): Promise<Class> {
  const action = `load the class "${name}"`;
  if (!NAME.test(name)) {
    throw new TypeError(`Cannot ${action}: it is not the name of a class`);
  }
  // Only an application that autoloads needs these modules.
  const { fromFileUrl } = await import("@std/path/from-file-url");
  const { resolve } = await import("@std/path/resolve");
  const { toFileUrl } = await import("@std/path/to-file-url");
  const roots = folders.map((folder) =>
    folder.startsWith("file:") ? fromFileUrl(folder) : resolve(folder)
  );
  for (const root of roots) {
    const path = resolve(root, `${name}.ts`);
    if (!await exists(path)) continue;
    const module = await import(toFileUrl(path).href);
    const found = module[name] ?? module.default;
    if (typeof found === "function") return found as Class;
    throw new TypeError(`Cannot ${action}: "${path}" does not export it`);
  }
  const where = roots.length > 0
    ? `there is no ${name}.ts in ${roots.join(", ")}`
    : "no folder was added with path()";
  throw new ReferenceError(`Cannot ${action}: ${where}`);
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
