/**
 * Owns finding a class by its name: the class `UserStore` is the export `UserStore`, or the default export, of
 * `UserStore.ts` or `user_store.ts` in one of the added folders.
 */

import type { Class, Classes } from "../routing/callback.ts";
import { wrongKind } from "../errors.ts";
import { inside } from "../paths.ts";
import { Layered, type LayerOwner } from "../state/layer.ts";
import { withoutRequest } from "../waiting.ts";

const NAME = /^[A-Za-z_$][\w$]*$/;

/** A URL with another scheme than `file:`; a single letter is a drive of Windows. */
const FOREIGN = /^(?!file:)[a-z][a-z0-9+.-]+:/i;

/** The boundaries between the words of a name: `User|Store`, `HTTP|Client`. */
const WORD = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g;

export class Autoload implements Classes {
  readonly #owner: LayerOwner;
  readonly #folders: Layered<string[]>;
  /** The classes in the application's folders. */
  readonly #found = new Map<string, Promise<Class>>();

  constructor(owner: LayerOwner) {
    this.#owner = owner;
    this.#folders = new Layered<string[]>(owner, [], (folders) => [...folders]);
  }

  /** Adds a folder. A relative one is resolved against the working directory at each search. */
  add(folder: string | URL): void {
    const path = folder instanceof URL ? folder.href : folder;
    if (typeof path !== "string" || path === "" || FOREIGN.test(path)) {
      throw wrongKind(
        "add the path",
        "it must be a folder on this machine",
        path,
      );
    }
    this.#folders.writable().push(path);
  }

  /** Finds a class and remembers it; when there is none, the message names the files that were tried. */
  find(name: string): Promise<Class> {
    const folders = this.#folders.now;
    const isShared = folders === this.#folders.shared;
    const known = isShared ? this.#found.get(name) : undefined;
    if (known !== undefined) return known;
    // What a module does while it loads must not belong to the request that happens to need it first.
    const finding = withoutRequest(() => search(name, folders));
    if (isShared) this.#found.set(name, finding);
    finding.catch(() => this.#found.delete(name)); // the next call tries again
    return finding;
  }

  /** The current request's instance of a class whose methods are callbacks, made on first use. */
  make(type: Class): object {
    const known = this.#owner.layer?.get(type) as object | undefined;
    if (known !== undefined) return known;
    const made = new type();
    this.#owner.ownLayer?.set(type, made);
    return made;
  }
}

async function search(
  name: string,
  folders: readonly string[],
): Promise<Class> {
  if (!NAME.test(name)) {
    throw new TypeError(
      `Cannot load the class "${name}": it is not the name of a class`,
    );
  }
  // Only an application that autoloads needs these modules.
  const { fromFileUrl } = await import("@std/path/from-file-url");
  const { resolve } = await import("@std/path/resolve");
  const { toFileUrl } = await import("@std/path/to-file-url");
  const tried: string[] = [];
  const snakeCase = name.replace(WORD, "_").toLowerCase();
  for (const folder of folders) {
    const isUrl = folder.startsWith("file:");
    const root = isUrl ? fromFileUrl(folder) : resolve(folder);
    for (const file of new Set([`${name}.ts`, `${snakeCase}.ts`])) {
      const path = resolve(root, file);
      const found = await inside(root, path).catch((error) => error);
      if (found?.path) return await load(toFileUrl(found.path).href, name);
      tried.push(`"${path}" ${whyNot(found, root)}`);
    }
  }
  const where = tried.join(", ") ||
    "no folder was added with path(); pass an imported class without quotes";
  throw new ReferenceError(`Cannot load the class "${name}": ${where}`);
}

function whyNot(error: unknown, root: string): string {
  const { NotFound, NotCapable } = Deno.errors;
  if (error === undefined) return "leads outside its folder";
  if (error instanceof NotFound) return "does not exist";
  if (error instanceof NotCapable) return `needs --allow-read=${root}`;
  throw error;
}

async function load(url: string, name: string): Promise<Class> {
  const module = await import(url);
  const found = module[name] ?? module.default;
  if (typeof found === "function") return found as Class;
  const state = `"${url}" exports no class of that name`;
  throw new TypeError(`Cannot load the class "${name}": ${state}`);
}
