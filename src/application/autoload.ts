/**
 * Owns finding a class by its name: the class `UserStore` is the export `UserStore`, or the default
 * export, of `UserStore.ts` or `user_store.ts` in one of the added folders, tried in the order in
 * which they were added. It also makes the instances of classes whose methods are callbacks.
 */

import type { Class, Classes } from "../callback.ts";
import { inside } from "../inside.ts";
import { Layered, type LayerSource } from "../state/layer.ts";
import { withoutRequest } from "../without_request.ts";

const NAME = /^[A-Za-z_$][\w$]*$/;

/** A URL with another scheme than `file:`; a single letter is a drive of Windows. */
const FOREIGN = /^(?!file:)[a-z][a-z0-9+.-]+:/i;

/** The boundaries between the words of a name: `User|Store`, `HTTP|Client`. */
const WORD = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g;

export class Autoload implements Classes {
  readonly #source: LayerSource;
  readonly #folders: Layered<string[]>;
  /** The classes in the application's folders; a request that has added folders searches each time. */
  readonly #found = new Map<string, Promise<Class>>();

  constructor(source: LayerSource) {
    this.#source = source;
    this.#folders = new Layered<string[]>(() => [], source);
  }

  /** Adds a folder. A relative one is resolved against the working directory at each search. */
  add(folder: string | URL): void {
    const path = folder instanceof URL ? folder.href : folder;
    if (typeof path !== "string" || path === "" || FOREIGN.test(path)) {
      throw new TypeError(
        `Cannot add the path "${path}": it must be a folder on this machine`,
      );
    }
    const { writable } = this.#folders;
    if (!writable.includes(path)) writable.push(path);
  }

  /** Finds a class and remembers it; when there is none, the message names the files that were tried and why. */
  find(name: string): Promise<Class> {
    const added = this.#folders.ofRequest();
    const found = added ? new Map<string, Promise<Class>>() : this.#found;
    const known = found.get(name);
    if (known !== undefined) return known;
    const folders = [...this.#folders.shared, ...added ?? []];
    // What a module does while it loads must not belong to the request that happens to need it first.
    const finding = withoutRequest(() => search(name, folders));
    found.set(name, finding);
    finding.catch(() => found.delete(name)); // the next call tries again
    return finding;
  }

  /** The current request's instance of a class whose methods are callbacks, made on first use. */
  make(type: Class): object {
    const layer = this.#source.requestLayer();
    const known = layer?.get(type) as object | undefined;
    if (known !== undefined) return known;
    const made = new type();
    layer?.set(type, made);
    return made;
  }
}

async function search(name: string, folders: Iterable<string>): Promise<Class> {
  if (!NAME.test(name)) {
    const state = "it is not the name of a class";
    throw new TypeError(`Cannot load the class "${name}": ${state}`);
  }
  const tried: string[] = [];
  const snakeCase = name.replace(WORD, "_").toLowerCase();
  for (const folder of folders) {
    for (const file of new Set([`${name}.ts`, `${snakeCase}.ts`])) {
      const found = await locate(folder, file);
      if (found instanceof URL) return await load(found.href, name);
      tried.push(found);
    }
  }
  const where = tried.join(", ") ||
    "no folder was added with path(); pass an imported class without quotes";
  throw new ReferenceError(`Cannot load the class "${name}": ${where}`);
}

/** The URL of a file in a folder, or why there is none; a link must not lead out of the folder. */
async function locate(folder: string, file: string): Promise<URL | string> {
  // Only an application that autoloads needs these modules.
  const { fromFileUrl } = await import("@std/path/from-file-url");
  const { resolve } = await import("@std/path/resolve");
  const { toFileUrl } = await import("@std/path/to-file-url");
  const isUrl = folder.startsWith("file:");
  const root = isUrl ? fromFileUrl(folder) : resolve(folder);
  const path = resolve(root, file);
  try {
    const found = await inside(root, path);
    if (found !== undefined) return toFileUrl(found.path);
    return `"${path}" leads outside its folder`;
  } catch (error) {
    const { NotFound, NotCapable } = Deno.errors;
    if (error instanceof NotFound) return `"${path}" does not exist`;
    if (!(error instanceof NotCapable)) throw error;
    return `"${path}" needs the permission --allow-read=${root}`;
  }
}

async function load(url: string, name: string): Promise<Class> {
  const module = await import(url);
  const found = module[name] ?? module.default;
  if (typeof found === "function") return found as Class;
  const state = `"${url}" exports no class of that name`;
  throw new TypeError(`Cannot load the class "${name}": ${state}`);
}
