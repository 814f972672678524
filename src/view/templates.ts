/**
 * Owns the templates of one folder: finding, compiling and running them, and telling at which line an error is.
 * Templates are code of the application: they are confined to their folder, not to a sandbox.
 *
 * The view imports this file with the first render: an application without views does not load Vento.
 */

import { resolve } from "@std/path/resolve";
import { SourceError, VentoError } from "ventojs/core/errors.js";
import { join } from "ventojs/loaders/utils.js";
import { HttpError, TemplateError } from "../errors.ts";
import { inside } from "../paths.ts";
import { didYouMean } from "../options.ts";
import { noteFile } from "../paths.ts";
import { withoutRequest } from "../waiting.ts";
import { makeVento, type Template } from "./vento.ts";

/** Vento's own extension, tried after the configured one. */
const EXTENSION = ".vto";

/** The error codes of a missing file, and of a name that no file can have. */
const NO_FILE = /^(?:ENOENT|ENOTDIR|ENAMETOOLONG|EINVAL)$/;

/** How deeply templates may include each other: deeper counts as a loop. */
const MAX_DEPTH = 100;

/** Keeps the depth of inclusion in the variables, which Vento copies from template to template. */
const DEPTH = Symbol("depth");

/** The variables of a template. */
type Locals = Record<string, unknown> & { [DEPTH]?: number };

/** The error for a template without a file. */
class MissingTemplate extends Error {}

/** The templates of one folder, compiled when they are first used. */
export class Templates {
  readonly #vento = makeVento(this.#run.bind(this));
  readonly #compiled = new Map<string, Template | Promise<Template>>();

  /** A template's name is looked up as it is, with the extension, and with `.vto`. */
  constructor(readonly folder: string, readonly extension: string) {}

  /** Runs a template with the variables and returns its text. */
  async render(name: string, locals: Locals): Promise<string> {
    try {
      return (await this.#run(name, locals)).content;
    } catch (error) {
      throw await this.#locate(error);
    }
  }

  /** Has every template read anew. */
  protected forget(): void {
    this.#compiled.clear();
  }

  /** Makes a template of its source. */
  protected compile(source: string, path: string): Template {
    return this.#vento.compile(source, path);
  }

  /** Whether there is a file for a template of that name. */
  async has(name: string): Promise<boolean> {
    return typeof await this.#find(templatePath(name)) === "string";
  }

  /** Runs a template; `from` is the path of the one that includes it, at the position. */
  async #run(
    name: string,
    locals: Locals = {},
    from = "",
    position?: number,
  ): Promise<Awaited<ReturnType<Template>>> {
    locals[DEPTH] = (locals[DEPTH] ?? 0) + 1;
    if (locals[DEPTH] > MAX_DEPTH) {
      throw new RangeError(
        `The template "${name}" is nested more than ${MAX_DEPTH} levels deep: does it include itself?`,
      );
    }
    if (typeof name !== "string" || name === "") {
      throw new TypeError(`Invalid template name (${Deno.inspect(name)})`);
    }
    const loaded = this.#load(templatePath(name, from));
    // Waiting takes a turn, which a page should not pay for a template that is there.
    const template = loaded instanceof Promise
      ? await loaded.catch((error) => {
        const isNamed = error instanceof MissingTemplate &&
          position !== undefined;
        throw isNamed ? new SourceError(error.message, position, from) : error;
      })
      : loaded;
    return await template(locals);
  }

  /** A compiled template. Each is compiled once; one that failed is read again at the next call. */
  #load(path: string): Template | Promise<Template> {
    const known = this.#compiled.get(path);
    if (known !== undefined) return known;
    const compiling = this.#read(path);
    this.#compiled.set(path, compiling);
    compiling.then(
      (template) => this.#compiled.set(path, template),
      () => this.#compiled.delete(path),
    );
    return compiling;
  }

  async #read(path: string): Promise<Template> {
    const found = await this.#find(path);
    if (typeof found === "string") {
      return this.compile(await Deno.readTextFile(found), path);
    }
    const files = found.map((file) => `"${resolve(file)}"`).join(", ");
    const name = path.slice(1);
    const hint = didYouMean(name, await this.#namesBeside(name));
    throw new MissingTemplate(
      `Cannot find the template "${name}": tried ${files}${hint}`,
    );
  }

  /** The names of the templates in the folder of one; none where it cannot be read. */
  async #namesBeside(name: string): Promise<string[]> {
    const folder = name.slice(0, name.lastIndexOf("/") + 1);
    try {
      const files = Deno.readDir(`${this.folder}/${folder}`);
      return await Array.fromAsync(
        files,
        ({ name }) =>
          folder + name.replace(this.extension, "").replace(/\.vto$/, ""),
      );
    } catch {
      return [];
    }
  }

  /** The file of a template, or every path that was tried. */
  async #find(path: string): Promise<string | string[]> {
    const folder = this.folder.replace(/[/\\]+$/, "");
    const names = new Set([path, path + this.extension, path + EXTENSION]);
    const files = [...names].map((name) => folder + name);
    for (const file of files) {
      if (await isFileIn(this.folder, file)) return file;
    }
    return files;
  }

  /** An error with the template and the line in its message. What was thrown on purpose is returned as it is. */
  async #locate(error: unknown): Promise<unknown> {
    if (!(error instanceof VentoError)) return error;
    const { cause, message } = error;
    const isThrown = cause !== undefined &&
      (cause instanceof HttpError || !(cause instanceof Error));
    if (isThrown) return cause;
    const { file: path = "", source = "", code, position } = await error
      .getContext();
    const found = await this.#find(path);
    const file = typeof found === "string" ? found : path;
    const at = position ?? await syntaxErrorPosition(code);
    const line = source.slice(0, at).split("\n").length;
    return new TemplateError(message, { file, line, source }, { cause });
  }
}

/** The normalized path of a template below its folder; `..` cannot lead out of that. */
function templatePath(name: string, from = ""): string {
  const below = name.startsWith(".") ? `${from}/../${name}` : name;
  return join(below.replaceAll("\\", "/"));
}

/** Whether there is such a file, and in the folder: a link must not lead out of it. */
async function isFileIn(folder: string, file: string): Promise<boolean> {
  noteFile(file);
  try {
    if (!(await Deno.stat(file)).isFile) return false;
    return await inside(folder, file) !== undefined;
  } catch (error) {
    if (NO_FILE.test(String((error as { code?: string }).code))) return false;
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
    throw new Deno.errors.NotCapable(
      `Cannot read the template "${file}": the permission is missing; run with --allow-read=${folder}`,
      { cause: error },
    );
  }
}

/**
 * The position of a JavaScript error in the source of a template. Deno reports the place of a syntax error for modules
 * only, so the compiled code is imported as one, inside a function that is never called.
 */
async function syntaxErrorPosition(code = ""): Promise<number> {
  const module = `async function template() {${code}}`;
  const url = `data:text/javascript,${encodeURIComponent(module)}`;
  const fault: { stack?: string } = await withoutRequest(() => import(url))
    .catch((error: Error) => error);
  const [, line] = /:(\d+):\d+\)?$/m.exec(fault.stack ?? "") ?? [];
  const before = module.split("\n", Number(line ?? 0)).join("\n");
  return Number(before.match(/(?<=__pos=)\d+/g)?.at(-1) ?? 0);
}
