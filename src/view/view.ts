/**
 * Owns the default view: the variables of every template, and rendering with them. Finding templates is
 * left to `templates.ts`, running them to `vento.ts`, and sending the page to the mapped method `render`.
 * A class registered under the name `view` replaces all of this.
 */

import type { Store } from "../state/layers.ts";
import { withoutRequest } from "../state/outside.ts";
import type { Templates } from "./templates.ts";

/** What a view reads from its application; each function is about the current request. */
export interface ViewContext {
  /** The variables every template sees. */
  readonly variables: Store<unknown>;
  /** The folder of the templates. */
  path(): string;
  /** The extension that a template's name may leave out. */
  extension(): string;
  /** Whether templates are read again for each render, and undefined names reported. */
  debug(): boolean;
}

/**
 * Renders the templates of one folder.
 *
 * A template named `home` is the first file that exists of `home`, `home` with the setting
 * `framework.views.extension`, and `home.vto`, always inside `framework.views.path`. Its language is
 * Vento with automatic escaping; `0` and `false` print, `null` and `undefined` do not.
 *
 * @example
 * ```ts
 * import { Engine } from "@framework/core";
 * import { assertEquals } from "@std/assert";
 *
 * const folder = await Deno.makeTempDir();
 * await Deno.writeTextFile(`${folder}/hello.vto`, "<p>Hello, {{ name }}</p>");
 *
 * const engine = new Engine();
 * engine.set("framework.views.path", folder);
 * engine.route("/hello/@name", (name) => engine.render("hello", { name }));
 * const request = new Request("http://localhost/hello/Tom%20%26%20Ann");
 * const response = await engine.fetch(request);
 * assertEquals(await response.text(), "<p>Hello, Tom &amp; Ann</p>");
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export class View {
  readonly #context: ViewContext;
  readonly #templates: Templates[] = [];

  /**
   * Makes a view over the given variables and settings.
   *
   * @ignore
   */
  constructor(context: ViewContext) {
    this.#context = context;
  }

  /** Sets one variable, or each of a record. */
  set(name: string | Readonly<Record<string, unknown>>, value?: unknown): void {
    const variables = typeof name === "string" ? { [name]: value } : name;
    for (const [key, each] of Object.entries(variables)) {
      this.#context.variables.set(key, each);
    }
  }

  /** The value of a variable, or undefined. */
  get(name: string): unknown {
    return this.#context.variables.get(name);
  }

  /** Whether a variable is set to anything but null and undefined. */
  has(name: string): boolean {
    return this.#context.variables.has(name);
  }

  /** Clears one variable; all of them without a name. */
  clear(name?: string): void {
    if (name === undefined) this.#context.variables.clear();
    else this.#context.variables.delete(name);
  }

  /**
   * Renders a template and returns its text. The data are the template's local variables; where a name
   * is both, the data win over the view's variables.
   *
   * Rejects with an `Error` that names the tried files when there is no such template, and with one
   * that shows the template's file and line when rendering fails.
   */
  async fetch(
    file: string,
    data: Readonly<Record<string, unknown>> = {},
  ): Promise<string> {
    const variables = Object.fromEntries(this.#context.variables.all());
    const locals = { ...variables, ...data };
    const debug = this.#context.debug();
    const templates = this.#current() ?? await this.#load();
    return await templates.render(file, locals, debug);
  }

  /** Whether there is a file for a template of that name. */
  async exists(file: string): Promise<boolean> {
    const templates = this.#current() ?? await this.#load();
    return await templates.has(file);
  }

  /** The templates for the current settings, once loaded: a request may have views of its own. */
  #current(): Templates | undefined {
    const path = this.#context.path();
    const extension = this.#context.extension();
    return this.#templates.find((templates) =>
      templates.folder === path && templates.extension === extension
    );
  }

  /** Makes the templates for the current settings, and loads the template engine with the first of them. */
  async #load(): Promise<Templates> {
    const path = this.#context.path();
    const extension = this.#context.extension();
    const { Templates } = await withoutRequest(() => import("./templates.ts"));
    const current = this.#current();
    if (current !== undefined) return current;
    const templates = new Templates(path, extension);
    this.#templates.push(templates);
    return templates;
  }
}
