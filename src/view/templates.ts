/**
 * Owns the templates of one folder: finding, compiling and running them, and telling at which line an error is; and
 * Vento, their engine, as the framework runs it.
 * Templates are code of the application: they are confined to their folder, not to a sandbox.
 *
 * The view imports this file with the first render: an application without views does not load Vento.
 */

import { resolve } from "@std/path/resolve";
import { VentoError } from "ventojs/core/errors.js";
import { SafeString } from "ventojs/core/environment.js";
import { join } from "ventojs/loaders/utils.js";
import make from "ventojs/web.js";
import { HttpError, TemplateError } from "../errors.ts";
import { htmlOf } from "../html.ts";
import { inside, noteFile } from "../paths.ts";
import { isThenable, withoutRequest } from "../waiting.ts";

/** Vento itself. */
type Vento = ReturnType<typeof make>;

/** A compiled template. */
export type Template = ReturnType<Vento["compile"]>;

/** How far a loop counts: the number may be a client's, and all that it counts is in memory at once. */
const MAX_COUNT = 10_000;

/** A name that is not a property's. */
const IDENTIFIER =
  /(?<!(?<!\.\.)\.)(?<![$\w])[$_\p{ID_Start}][$\p{ID_Continue}]*/gu;

/** Global names that keep their meaning, but `name`, which Vento declares itself. */
const EXEMPT: ReadonlySet<string> = new Set(
  ["eval", "globalThis", "name", "undefined"],
);

/** What Vento calls with the value of a loop. */
type ToIterator = (value: unknown, withKeys?: boolean) => unknown;

type Token = ReturnType<Vento["tokenize"]>[number];

/** Vento's own extension, tried after the configured one. */
const EXTENSION = ".vto";

/** The error codes of a missing file, and of a name that no file can have. */
const NO_FILE = /^(?:ENOENT|ENOTDIR|ENAMETOOLONG|EINVAL)$/;

/** The variables of a template. */
type Locals = Record<string, unknown>;

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

  /** Runs a template; `from` is the path of the one that includes it. */
  async #run(
    name: string,
    locals: Locals = {},
    from = "",
  ): Promise<Awaited<ReturnType<Template>>> {
    const loaded = this.#load(templatePath(name, from));
    // Waiting takes a turn, which a page should not pay for a template that is there.
    const template = loaded instanceof Promise ? await loaded : loaded;
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
    throw new Error(
      `Cannot find the template "${path.slice(1)}": tried ${files}`,
    );
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
    const text = source.split("\n")[line - 1]!.trimEnd();
    return new TemplateError(
      `Cannot render "${file}" at line ${line}: ${message}\n  ${line} | ${text}`,
      { file, line },
      { cause },
    );
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
    throw error;
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

// The template engine: how values print, and which names are variables

/** Makes a Vento whose templates, and those they include, are run by the given function. */
function makeVento(run: Vento["run"]): Vento {
  const nowhere = new URL("file:///"); // for Vento's own loader, which is not used
  const vento = make({ autoescape: true, includes: nowhere });
  vento.filters.escape = (value) =>
    value instanceof SafeString ? value.toString() : htmlOf(value);
  vento.tokenPreprocessors.push(declareLocals);
  boundLoops(vento);
  vento.run = run;
  return vento;
}

/**
 * Makes `{{ for ... of value }}` throw for a number that is too large, which Vento would count up to, and for a
 * promise, which it would take for an object without members.
 */
function boundLoops({ utils }: Vento): void {
  const toIterator = utils.toIterator as ToIterator;
  const bounded: ToIterator = (value, withKeys) => {
    if (typeof value === "function") return bounded(value(), withKeys);
    if (isThenable(value)) {
      throw new TypeError("a loop cannot iterate over a promise");
    }
    if (typeof value === "number" && value > MAX_COUNT) {
      throw new RangeError(`a loop can count to ${MAX_COUNT}, got ${value}`);
    }
    return toIterator(value, withKeys);
  };
  utils.toIterator = bounded;
}

/**
 * Vento declares every plain name in a template as a local variable, except for those of globals (`location`, `URL`) and
 * those that are not ASCII. This declares them too, so that each key of the data is a variable; where the data have
 * none, the global is.
 */
function declareLocals(_vento: Vento, tokens: Token[]): Token[] {
  const code = tokens.filter(([type]) => type === "tag" || type === "filter")
    .map(([, code]) => code).join("\n");
  const names = new Set(code.match(IDENTIFIER)).difference(EXEMPT);
  const variables = [...names].flatMap((name) => {
    if (Object.hasOwn(globalThis, name)) return `${name} = globalThis.${name}`;
    return /[^\w$]/.test(name) ? name : [];
  });
  if (variables.length === 0) return tokens;
  return [["tag", `> var {${variables.join(", ")}} = it;`, 0], ...tokens];
}
