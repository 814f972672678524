/**
 * Owns the blog's template engine: Vento over one folder of templates, and the cache folder that lets
 * the next start load them compiled. Which page is shown is decided in `app.ts`.
 *
 * A compiled template is code and runs with the permissions of the blog, as the template itself does. The cache
 * is safe because only the blog writes there, and only what it has compiled from its own templates: no request
 * names a file of it or adds to one, and it is not served. The folder is made for its owner alone. Without
 * permission to write there, each start compiles the templates again.
 */

import { join } from "@std/path/join";
import vento from "ventojs/web.js";

/** Where a template engine finds its files. */
export interface TemplateFolders {
  /** The folder of the templates. */
  readonly views: string;
  /** The folder for compiled templates; created when missing. */
  readonly cache: string;
}

type Vento = ReturnType<typeof vento>;
type Template = ReturnType<Vento["compile"]>;

/** What a file in the cache folder holds, as JSON. */
interface CachedTemplate {
  /** The Vento that compiled the template, and its source: a change of either makes the file stale. */
  readonly compiler: string;
  readonly source: string;
  /** The compiled function. */
  readonly code: string;
}

/** The address of the installed Vento, which has its version in it. */
const COMPILER = import.meta.resolve("ventojs/web.js");

/** The templates of one folder. One instance serves all requests and keeps no data of any. */
export class TemplateEngine {
  readonly #folders: TemplateFolders;
  readonly #vento: Vento;

  /** Creates an engine over the given folders; nothing is read yet. */
  constructor(folders: TemplateFolders) {
    this.#folders = folders;
    this.#vento = vento({
      autoescape: true,
      includes: {
        resolve: (_from, file) => join("/", file),
        load: (file) => this.#load(file),
      },
    });
  }

  /** Assigns data for one page. */
  assign(data: Readonly<Record<string, unknown>>): Page {
    return new Page(this.#vento, data);
  }

  /** Loads a template from the cache folder when that holds a current one, and compiles it otherwise. */
  async #load(file: string): Promise<() => Template> {
    const source = await Deno.readTextFile(join(this.#folders.views, file));
    const cached = await this.#cached(file, source);
    if (cached !== undefined) return () => cached;
    const template = this.#vento.compile(source, file);
    await this.#save(file, { compiler: COMPILER, source, code: `${template}` });
    return () => template;
  }

  /** Reads a template from the cache folder; undefined when its file is missing, stale or broken. */
  async #cached(file: string, source: string): Promise<Template | undefined> {
    try {
      const text = await Deno.readTextFile(this.#cacheFile(file));
      const cached: CachedTemplate = JSON.parse(text);
      if (cached.compiler !== COMPILER || cached.source !== source) return;
      const restore = new Function("__env", `return ${cached.code}`);
      const fields = { path: file, source, defaults: {}, code: "" };
      return Object.assign(restore(this.#vento), fields);
    } catch {
      return undefined;
    }
  }

  /**
   * Writes a compiled template for the next start. The file is renamed into place, so that another
   * process never reads half of it; where it cannot be written, the next start compiles again.
   */
  async #save(file: string, cached: CachedTemplate): Promise<void> {
    const { cache } = this.#folders;
    const fresh = `${this.#cacheFile(file)}.${crypto.randomUUID()}`;
    try {
      await Deno.mkdir(cache, { recursive: true, mode: 0o700 });
      await Deno.writeTextFile(fresh, JSON.stringify(cached));
      await Deno.rename(fresh, this.#cacheFile(file));
    } catch (error) {
      const { message } = error as Error;
      console.warn(`Cannot write the template cache "${cache}": ${message}`);
    }
  }

  #cacheFile(file: string): string {
    return join(this.#folders.cache, `${file}.json`);
  }
}

/** The data of a page whose template is still to be named. */
export class Page {
  readonly #vento: Vento;
  readonly #data: Readonly<Record<string, unknown>>;

  /** Created by {@linkcode TemplateEngine.assign}. */
  constructor(vento: Vento, data: Readonly<Record<string, unknown>>) {
    this.#vento = vento;
    this.#data = data;
  }

  /** Renders a template, named without its `.vto`, and returns the page. */
  async display(template: string): Promise<string> {
    try {
      return (await this.#vento.run(`${template}.vto`, { ...this.#data }))
        .content;
    } catch (error) {
      // Vento caches a template that failed to load, and would fail on every later request.
      this.#vento.cache.clear();
      throw error;
    }
  }
}
