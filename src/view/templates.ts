/**
 * Owns the templates of one folder: finding and reading their files, and the place of an error in them.
 * Templates are code of the application: they are confined to their folder, not to a sandbox.
 *
 * The view imports this with the first render: an application without views does not pay for Vento.
 */

import { HttpError, TemplateError } from "../errors.ts";
import { withoutRequest } from "../state/outside.ts";
import { reportUndefined } from "./undefined_names.ts";
import { confine, type Locals, makeVento, type Vento } from "./vento.ts";

/** Vento's own extension, tried after the configured one. */
const EXTENSION = ".vto";

/** The error codes of a missing file, and of a name that no file can have. */
const NO_FILE: ReadonlySet<string | undefined> = new Set([
  "ENOENT",
  "ENOTDIR",
  "ENAMETOOLONG",
  "EINVAL",
]);

/** An error of Vento, which knows its place. */
interface VentoError extends Error {
  getContext(): Promise<
    { file?: string; source?: string; position?: number; code?: string }
  >;
}

/** The templates of one folder, compiled when they are first used. */
export class Templates {
  readonly folder: string;
  readonly extension: string;
  readonly #vento: Vento;
  #isDebugging = false;

  /** Names are looked up as they are, with the extension, and with `.vto`. */
  constructor(folder: string, extension: string) {
    this.folder = folder;
    this.extension = extension;
    const reported = new Set<string>();
    this.#vento = makeVento({
      read: (path) => this.#read(path),
      starts: (template, locals) => {
        if (this.#isDebugging) reportUndefined(template, locals, reported);
      },
    });
  }

  /**
   * Runs a template with the variables and returns its text. Under debug every file is read again, and
   * undefined names are reported.
   */
  async render(name: string, locals: Locals, debug: boolean): Promise<string> {
    this.#isDebugging = debug;
    if (debug) this.#vento.cache.clear();
    try {
      return (await this.#vento.run(name, locals)).content;
    } catch (error) {
      throw await this.#locate(error);
    }
  }

  /** Whether there is a file for a template of that name. */
  async has(name: string): Promise<boolean> {
    return typeof await this.#find(confine(name)) === "string";
  }

  async #read(path: string): Promise<string> {
    const file = await this.#find(path);
    if (typeof file === "string") return await Deno.readTextFile(file);
    const tried = await withoutRequest(() => absolute(file));
    throw new Error(
      `Cannot find the template "${path.slice(1)}": tried ${tried.join(", ")}`,
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

  /**
   * Adds the template and the line to an error. An `HttpError` or the end of the request, which a template
   * throws on purpose, is returned unchanged.
   */
  async #locate(error: unknown): Promise<unknown> {
    if (!isVentoError(error)) return error;
    const cause = error.cause ?? error;
    if (cause instanceof HttpError || !(cause instanceof Error)) return cause;
    const { file: path = "", source, position, code } = await error
      .getContext();
    const found = await this.#find(path);
    const file = typeof found === "string" ? found : path;
    const at = position ?? await syntaxErrorPosition(code);
    const { message } = error;
    if (source === undefined || at === undefined) {
      return new Error(`Cannot render "${file}": ${message}`, { cause });
    }
    const line = source.slice(0, at).split("\n").length;
    return new TemplateError(message, { file, line, source }, { cause });
  }
}

/** Paths as absolute ones, quoted. */
async function absolute(paths: readonly string[]): Promise<string[]> {
  const { resolve } = await import("@std/path/resolve");
  return paths.map((path) => `"${resolve(path)}"`);
}

/** Whether there is such a file; one that a link leads to must be in the folder, too. */
async function isFileIn(folder: string, file: string): Promise<boolean> {
  try {
    if (!(await Deno.stat(file)).isFile) return false;
    const root = (await Deno.realPath(folder)).replace(/[/\\]$/, "");
    const target = await Deno.realPath(file);
    return target.startsWith(root) && /^[/\\]/.test(target.slice(root.length));
  } catch (error) {
    if (NO_FILE.has((error as { code?: string }).code)) return false;
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
    throw new Deno.errors.NotCapable(
      `Cannot read the template "${file}": the permission is missing, run with --allow-read=${folder}`,
      { cause: error },
    );
  }
}

function isVentoError(error: unknown): error is VentoError {
  return error instanceof Error && "getContext" in error;
}

/**
 * The position in the source where the JavaScript of a template is wrong. The runtime gives it for modules
 * only, so the compiled code is imported as one, inside a function that nobody calls.
 */
async function syntaxErrorPosition(code = ""): Promise<number | undefined> {
  const module = `async function template() {${code}}`;
  const url = `data:text/javascript,${encodeURIComponent(module)}`;
  const fault: { stack?: string } = await withoutRequest(() => import(url))
    .catch((error: Error) => error);
  const line = /:(\d+):\d+\)?$/m.exec(fault.stack ?? "")?.[1];
  const before = module.split("\n").slice(0, Number(line ?? 0)).join("\n");
  const position = before.match(/__pos=\d+/g)?.at(-1)?.slice("__pos=".length);
  return position === undefined ? undefined : Number(position);
}
