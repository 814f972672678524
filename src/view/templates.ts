/**
 * Owns the templates of one folder: finding, reading, compiling and running them, and telling at which line an
 * error is. Templates are code of the application: they are confined to their folder, not to a sandbox.
 *
 * The view imports this file with the first render: an application without views does not load Vento.
 */

import { resolve } from "@std/path/resolve";
import { SourceError, VentoError } from "ventojs/core/errors.js";
import { join } from "ventojs/loaders/utils.js";
import { HttpError, MissingTemplate, TemplateError } from "../errors.ts";
import { inside } from "../inside.ts";
import { didYouMean } from "../suggestions.ts";
import { noteFile } from "../used_files.ts";
import { withoutRequest } from "../without_request.ts";
import { madeOnce, type MaybePromise } from "../steps.ts";
import { makeVento, type Template } from "./vento.ts";
import type { TemplateTools } from "./view.ts";

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

/** The result of a template: its text is the `content`. */
type Result = Awaited<ReturnType<Template>>;

/** The templates of one folder, compiled when they are first used. */
export class Templates {
  readonly #vento = makeVento(this.#run.bind(this));
  readonly #compiled = new Map<string, MaybePromise<Template>>();
  readonly #reported = new Set<string>();
  #debug: TemplateTools | undefined;

  /** A template's name is looked up as it is, with the extension, and with `.vto`. */
  constructor(readonly folder: string, readonly extension: string) {}

  /**
   * Runs a template with the variables and returns its text. Under debug every file is read again, and
   * undefined names are reported.
   */
  async render(
    name: string,
    locals: Locals,
    debug: TemplateTools | undefined,
  ): Promise<string> {
    if (debug !== this.#debug || debug !== undefined) this.#compiled.clear();
    this.#debug = debug;
    try {
      return (await this.#run(name, locals)).content;
    } catch (error) {
      throw await this.#locate(error);
    }
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
  ): Promise<Result> {
    locals[DEPTH] = (locals[DEPTH] ?? 0) + 1;
    if (locals[DEPTH] > MAX_DEPTH) {
      throw new RangeError(
        `The template "${name}" is nested more than ${MAX_DEPTH} levels deep: does it include itself?`,
      );
    }
    if (typeof name !== "string" || name === "") {
      throw new TypeError(`Invalid template name (${Deno.inspect(name)})`);
    }
    const loaded = this.#load(name, from);
    // Waiting takes a turn, which a page should not pay for a template that is there.
    const template = loaded instanceof Promise
      ? await loaded.catch((error) => {
        throw missingAt(error, from, position);
      })
      : loaded;
    return await template(locals);
  }

  /** A compiled template. Each is compiled once; one that failed is read again at the next call. */
  #load(name: string, from: string): MaybePromise<Template> {
    const known = this.#compiled.get(`/${name}`); // most names need no normalizing
    if (known !== undefined) return known;
    const path = templatePath(name, from);
    return madeOnce(this.#compiled, path, () => this.#compile(path));
  }

  async #compile(path: string): Promise<Template> {
    const found = await this.#find(path);
    if (typeof found !== "string") throw await this.#missing(path, found);
    const template = this.#vento.compile(await Deno.readTextFile(found), path);
    return this.#debug?.reporting(template, this.#reported) ?? template;
  }

  /** The error for a template without a file, with the near names in its folder. */
  async #missing(
    path: string,
    tried: readonly string[],
  ): Promise<MissingTemplate> {
    const files = tried.map((file) => `"${resolve(file)}"`).join(", ");
    const name = path.slice(1);
    const hint = didYouMean(name, await this.#namesBeside(name));
    return new MissingTemplate(
      `Cannot find the template "${name}": tried ${files}${hint}`,
    );
  }

  /** The names of the templates in the folder of one; none where it cannot be read. */
  async #namesBeside(name: string): Promise<string[]> {
    const folder = name.slice(0, name.lastIndexOf("/") + 1);
    const extensions = [this.extension, EXTENSION];
    const nameOf = (file: string): string => {
      const extension = extensions.find((each) => file.endsWith(each)) ?? "";
      return folder + file.slice(0, file.length - extension.length);
    };
    try {
      const files = Deno.readDir(`${this.folder}/${folder}`);
      return await Array.fromAsync(files, ({ name }) => nameOf(name));
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

  /**
   * An error with the template and the line in its message. An `HttpError`, and what is no `Error`, such as the signal
   * that ends a request, was thrown on purpose: it is returned as it is.
   */
  async #locate(error: unknown): Promise<unknown> {
    if (!(error instanceof VentoError)) return error;
    const { cause } = error;
    const isOwn = cause === undefined; // Vento's own error says no more than the message
    if (!isOwn && (cause instanceof HttpError || !(cause instanceof Error))) {
      return cause;
    }
    const options = isOwn ? {} : { cause };
    const { message } = error;
    const context = await error.getContext();
    const { file: path = "", source = "", code } = context;
    const found = await this.#find(path);
    const file = typeof found === "string" ? found : path;
    const position = context.position ?? await syntaxErrorPosition(code);
    if (Number.isNaN(position)) {
      return new Error(`Cannot render "${file}": ${message}`, options);
    }
    const line = source.slice(0, position).split("\n").length;
    return new TemplateError(message, { file, line, source }, options);
  }
}

/** The error of a template that is not there, with the place of the tag that names it. */
function missingAt(error: unknown, from: string, position?: number): unknown {
  const isNamed = error instanceof MissingTemplate && position !== undefined;
  return isNamed ? new SourceError(error.message, position, from) : error;
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
 * The position of a JavaScript error in the source of a template, or NaN. Deno reports the place of a syntax
 * error for modules only, so the compiled code is imported as one, inside a function that is never called.
 */
async function syntaxErrorPosition(code = ""): Promise<number> {
  const module = `async function template() {${code}}`;
  const url = `data:text/javascript,${encodeURIComponent(module)}`;
  const fault: { stack?: string } = await withoutRequest(() => import(url))
    .catch((error: Error) => error);
  const [, line] = /:(\d+):\d+\)?$/m.exec(fault.stack ?? "") ?? [];
  const before = module.split("\n", Number(line ?? 0)).join("\n");
  return Number(before.match(/(?<=__pos=)\d+/g)?.at(-1));
}
