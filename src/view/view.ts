/**
 * Owns the default view: the variables of all templates, and rendering with them. `templates.ts` finds and runs
 * the templates, the method `render` sends the result. A class registered under the name `view` replaces all of
 * this.
 */

import { FRAMEWORK_OBJECT } from "../extension_keys.ts";
import { track } from "../state/current.ts";
import type { Store } from "../state/layer.ts";
import { type MaybePromise, withoutRequest } from "../waiting.ts";
import type { Templates } from "./templates.ts";

/** Tells the settings of the current request; an `Application` does. */
interface ViewSettings {
  readonly settings: {
    readonly "framework.views.path": string;
    readonly "framework.views.extension": string;
    readonly "framework.debug": boolean;
  };
}

/**
 * Renders the templates of one folder.
 *
 * A template named `home` is the first file that exists of `home`, `home` with the setting
 * `framework.views.extension`, and `home.vto`, always inside `framework.views.path`. Its language is
 * Vento with automatic escaping; values print as in `html`: `0` and `false` do, `null` and `undefined` do
 * not.
 *
 * Guide: [docs/views.md](./docs/views.md)
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
 * const response = await engine.fetch("/hello/Tom%20%26%20Ann");
 * assertEquals(await response.text(), "<p>Hello, Tom &amp; Ann</p>");
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export class View {
  readonly #variables: Store<unknown>;
  readonly #of: ViewSettings;
  /** The templates by folder and extension: a request may have its own settings. */
  readonly #templates = new Map<string, MaybePromise<Templates>>();

  /**
   * `variables` are those of all templates.
   *
   * @ignore
   */
  constructor(variables: Store<unknown>, of: ViewSettings) {
    this.#variables = variables;
    this.#of = of;
  }

  /** @ignore */
  readonly [FRAMEWORK_OBJECT] = true;

  /** Sets one variable, or each of a record. */
  set(name: string | Readonly<Record<string, unknown>>, value?: unknown): void {
    const variables = typeof name === "string" ? { [name]: value } : name;
    for (const each of Object.entries(variables)) this.#variables.set(...each);
  }

  /** The value of a variable, or undefined. */
  get(name: string): unknown {
    return this.#variables.now[name];
  }

  /** Whether a variable has a value other than null and undefined. */
  has(name: string): boolean {
    return this.#variables.has(name);
  }

  /** Clears one variable; all of them without a name. */
  clear(name?: string): void {
    this.#variables.clear(name === undefined ? undefined : [name]);
  }

  /**
   * Renders a template and returns its text. Its variables are those of the view and the data; the data win
   * where both have a name.
   *
   * Rejects with an `Error` that names the tried files when there is no such template, and with one
   * that shows the template's file and line when rendering fails.
   */
  fetch(
    file: string,
    data: Readonly<Record<string, unknown>> = {},
  ): Promise<string> {
    return track("view.fetch", this.#render(file, data));
  }

  /** Whether there is a file for a template of that name. */
  exists(file: string): Promise<boolean> {
    const find = async () => await (await this.#current()).has(file);
    return track("view.exists", find());
  }

  async #render(
    file: string,
    data: Readonly<Record<string, unknown>>,
  ): Promise<string> {
    // Before anything is waited for: a render has the variables of the time of its call.
    const locals = { ...this.#variables.all(), ...data };
    const current = this.#current();
    const templates = current instanceof Promise ? await current : current;
    return await templates.render(file, locals);
  }

  /** The templates for the current settings. */
  #current(): MaybePromise<Templates> {
    const {
      "framework.views.path": folder,
      "framework.views.extension": extension,
      "framework.debug": isDebugging,
    } = this.#of.settings;
    const key = `${folder}\0${extension}\0${isDebugging}`;
    const known = this.#templates.get(key);
    if (known !== undefined) return known;
    // The template engine is loaded with the first templates.
    const load = isDebugging
      ? () => import("../debug/templates.ts")
      : () => import("./templates.ts");
    const loading = withoutRequest<{ Templates: typeof Templates }>(load)
      .then(({ Templates }) => new Templates(folder, extension));
    this.#templates.set(key, loading);
    loading.then((made) => this.#templates.set(key, made));
    return loading;
  }
}
