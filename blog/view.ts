/**
 * Owns the blog's template engine: Vento over one folder of templates, and the cache folder that lets
 * the next start load them compiled. Which page is shown is `routes.ts`'s.
 */

import { join } from "@std/path/join";
import { toFileUrl } from "@std/path/to-file-url";
import vento from "ventojs/web.js";

/** Where a template engine finds its files. */
export interface TemplateFolders {
  /** The folder of the templates. */
  readonly views: string;
  /** The folder for compiled templates; it is made when it is missing. */
  readonly cache: string;
}

type Vento = ReturnType<typeof vento>;
type Template = ReturnType<Vento["compile"]>;

/** What a file in the cache folder exports. */
interface CachedTemplate {
  /** The Vento that compiled it, and what it was compiled from: both must be the present ones. */
  readonly compiler: string;
  readonly source: string;
  readonly template: (vento: Vento) => Template;
}

/** Names the installed Vento: its version is part of its address. */
const COMPILER = import.meta.resolve("ventojs/web.js");

/** The templates of one folder. One instance serves every request: it keeps no data of any. */
export class TemplateEngine {
  readonly #folders: TemplateFolders;
  readonly #vento: Vento;

  /** Makes an engine over the given folders; nothing is read yet. */
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

  /** Answers a template from the cache folder when it is there and current, compiled anew otherwise. */
  async #load(file: string): Promise<(vento: Vento) => Template> {
    const source = await Deno.readTextFile(join(this.#folders.views, file));
    const cached = await this.#cached(file);
    if (cached?.source === source && cached.compiler === COMPILER) {
      return cached.template;
    }
    const template = this.#vento.compile(source, file);
    await this.#save(file, template);
    return () => template;
  }

  /** What the cache folder has for a template; a file that is missing or broken counts as nothing. */
  async #cached(file: string): Promise<CachedTemplate | undefined> {
    try {
      return await import(toFileUrl(this.#cacheFile(file)).href);
    } catch {
      return undefined;
    }
  }

  /**
   * Writes a compiled template for the next start. The file appears all at once, so that another
   * process never reads half of it; where it cannot be written, the next start compiles again.
   */
  async #save(file: string, template: Template): Promise<void> {
    const { cache } = this.#folders;
    const beside = `${this.#cacheFile(file)}.${crypto.randomUUID()}`;
    try {
      await Deno.mkdir(cache, { recursive: true });
      await Deno.writeTextFile(beside, moduleOf(template));
      await Deno.rename(beside, this.#cacheFile(file));
    } catch (error) {
      console.warn(
        `The template cache "${cache}" is not written: ${
          (error as Error).message
        }`,
      );
    }
  }

  #cacheFile(file: string): string {
    return join(this.#folders.cache, `${file}.js`);
  }
}

/** A page about to be shown. */
export class Page {
  readonly #vento: Vento;
  readonly #data: Readonly<Record<string, unknown>>;

  /** Made by {@linkcode TemplateEngine.assign}. */
  constructor(vento: Vento, data: Readonly<Record<string, unknown>>) {
    this.#vento = vento;
    this.#data = data;
  }

  /** Renders the template of that name, its `.vto` left out, and answers the page. */
  async display(template: string): Promise<string> {
    try {
      return (await this.#vento.run(`${template}.vto`, { ...this.#data }))
        .content;
    } catch (error) {
      // Vento would keep a template that failed to load, and fail for ever.
      this.#vento.cache.clear();
      throw error;
    }
  }
}

/** A compiled template as a module that makes it again for a given Vento. */
function moduleOf(template: Template): string {
  const { path, source } = template;
  return `export const compiler = ${JSON.stringify(COMPILER)};
export const source = ${JSON.stringify(source)};
export const template = (__env) =>
  Object.assign(${template}, { path: ${
    JSON.stringify(path)
  }, source, defaults: {}, code: "" });
`;
}
