/**
 * Owns the blog's template engine: Vento over one folder of templates, and a cache folder from which the next start
 * loads them compiled. What a page shows is decided in `app.ts`.
 *
 * A compiled template is code with the permissions of the blog, as a template is: let nobody else write to the cache.
 * Empty it after an update of Vento.
 */

import vento from "ventojs/web.js";

type Vento = ReturnType<typeof vento>;
type Template = ReturnType<Vento["compile"]>;
type Cached = Pick<Template, "source" | "code">;

/** The templates of one folder. One instance serves all requests, and keeps no data of any. */
export class Templates {
  readonly #views: string;
  readonly #cache: string;
  readonly #vento: Vento = vento({
    autoescape: true,
    includes: {
      resolve: (_from, file) => file,
      load: (file) => this.#load(file),
    },
  });

  /** Uses the templates of a folder, and another folder as their cache. */
  constructor(views: string, cache: string) {
    this.#views = views;
    this.#cache = cache;
  }

  /** Assigns the data to a template, named without `.vto`, and returns the page. */
  async display(
    name: string,
    data: Readonly<Record<string, unknown>>,
  ): Promise<string> {
    try {
      return (await this.#vento.run(`${name}.vto`, { ...data })).content;
    } catch (error) {
      this.#vento.cache.clear(); // it keeps a template that failed to load
      throw error;
    }
  }

  /** Loads a template from the cache folder, or compiles it when that has another source. */
  async #load(file: string): Promise<() => Template> {
    const source = await Deno.readTextFile(`${this.#views}/${file}`);
    const path = `${this.#cache}/${file}.json`;
    let cached = await readCached(path);
    if (cached?.source !== source) {
      cached = { source, code: this.#vento.compile(source, file).code };
      const text = JSON.stringify(cached);
      await Deno.mkdir(this.#cache, { recursive: true, mode: 0o700 })
        .then(() => Deno.writeTextFile(path, text))
        .catch(() => {}); // where the blog cannot write, each start compiles
    }
    const template = new Function(`return ${cached.code}`)()(this.#vento);
    const context = { ...cached, path: file, defaults: {} };
    return () => Object.assign(template, context);
  }
}

/** Reads a template from the cache; undefined when its file is missing or half written. */
async function readCached(path: string): Promise<Cached | undefined> {
  try {
    return JSON.parse(await Deno.readTextFile(path));
  } catch {
    return undefined;
  }
}
