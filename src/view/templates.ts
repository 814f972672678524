/**
 * Owns the templates of one folder: finding their files, compiling and running them with Vento, and
 * saying where one of them went wrong. What a template gets to see is `view.ts`'s.
 *
 * Vento is imported with the first render, so that an application without views does not pay for it.
 * Templates are code of the application: they are confined to their folder, not to a sandbox.
 */

import { HttpError } from "../errors.ts";
import { escape, Markup } from "../html.ts";
import { outside } from "../state/scope.ts";

/** Vento's own extension, tried after the configured one. */
const EXTENSION = ".vto";

/** How deeply templates may include each other before it counts as a loop. */
const DEEPEST = 100;

/** Carries the depth of inclusion inside the data that Vento hands down from template to template. */
const DEPTH = Symbol("depth");

/** An identifier that is no property, with the name in it. */
const IDENTIFIER =
  /(?<!(?<!\.\.)\.)(?<![$\w])[$_\p{ID_Start}][$\p{ID_Continue}]*/gu;

/** Global names that are left alone; `name` is a plain name to Vento. */
const EXEMPT: ReadonlySet<string> = new Set(["globalThis", "name"]);

/** A tag that declares names of its own. */
const DECLARATION =
  /^(?:import|export|function|async function)\b|^>[^]*\b(?:let|const|class|function)\b/;

type MakeVento = typeof import("ventojs/web.js").default;
type Vento = ReturnType<MakeVento>;
type Token = ReturnType<Vento["tokenize"]>[number];

/** What Vento's errors offer beside a message. */
interface VentoError {
  getContext(): Promise<
    { file?: string; source?: string; position?: number; code?: string }
  >;
}

/** The templates of one folder, compiled when they are first used. */
export class Templates {
  readonly #folder: string;
  readonly #extension: string;
  #vento: Vento | undefined;

  /** Names are looked up as they are, with the extension, and with `.vto`. */
  constructor(folder: string, extension: string) {
    this.#folder = folder;
    this.#extension = extension;
  }

  /** Runs a template over the data, which it may change, and answers its text. */
  async render(name: string, data: Record<string, unknown>): Promise<string> {
    if (this.#vento === undefined) {
      const { default: make } = await outside(() => import("ventojs/web.js"));
      this.#vento ??= prepare(make, (key) => this.#read(key));
    }
    try {
      return (await this.#vento.run(name, data)).content;
    } catch (error) {
      throw await this.#locate(error);
    }
  }

  /** Whether there is a file for a template of that name. */
  async has(name: string): Promise<boolean> {
    return typeof await this.#find(confine(name)) === "string";
  }

  /** Drops what is compiled, so that every file is read again. */
  forget(): void {
    this.#vento?.cache.clear();
  }

  async #read(name: string): Promise<string> {
    const file = await this.#find(name);
    if (typeof file === "string") return await Deno.readTextFile(file);
    const tried = file.map((each) => `"${each}"`).join(", ");
    throw new Error(
      `Cannot find the template "${name.slice(1)}": tried ${tried}`,
    );
  }

  /** The file of a template, or every path where there is none. */
  async #find(name: string): Promise<string | string[]> {
    const names = new Set([name, name + this.#extension, name + EXTENSION]);
    const paths = [...names].map((each) =>
      this.#folder.replace(/[/\\]+$/, "") + each
    );
    for (const path of paths) {
      if (await isFileIn(this.#folder, path)) return path;
    }
    return paths;
  }

  /**
   * Makes an error say where in which template it happened. What a template throws on purpose, an
   * `HttpError` or the end of the request, comes out as it is.
   */
  async #locate(error: unknown): Promise<unknown> {
    if (!(error instanceof Error) || !("getContext" in error)) return error;
    const cause = error.cause ?? error;
    if (cause instanceof HttpError || !(cause instanceof Error)) return cause;
    const { file: name = "", source, position, code } =
      await (error as VentoError).getContext();
    const path = await this.#find(name);
    const at = position ?? await syntaxErrorPosition(code);
    const place = `"${typeof path === "string" ? path : name}"`;
    if (source === undefined || at === undefined) {
      return new Error(`Cannot render ${place}: ${error.message}`, { cause });
    }
    const number = source.slice(0, at).split("\n").length;
    const line = source.split("\n")[number - 1]?.trimEnd();
    return new Error(
      `Cannot render ${place} at line ${number}: ${error.message}\n  ${number} | ${line}`,
      { cause },
    );
  }
}

/** Makes a Vento that reads through the given function, and free of some surprises. */
function prepare(
  make: MakeVento,
  read: (name: string) => Promise<string>,
): Vento {
  const vento = make({ autoescape: true, includes: loader(read) });
  vento.filters.escape = makeEscape(vento);
  vento.tokenPreprocessors.push(declareLocals);
  forgetFailures(vento);
  limitDepth(vento);
  return vento;
}

/** Vento knows a template by a key: here its name as a path below the folder. */
function loader(
  read: (name: string) => Promise<string>,
): Vento["options"]["loader"] {
  return {
    resolve(from, file) {
      const folder = file.startsWith(".") ? from.replace(/[^/]*$/, "") : "";
      return confine(folder + file);
    },
    async load(key) {
      return { source: await read(key) };
    },
  };
}

/** A template's name as a path below the views folder, where `..` leads no higher. */
function confine(name: string): string {
  const parts: string[] = [];
  for (const part of name.split(/[/\\]/)) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** Whether there is such a file; one that a link leads to must be in the folder, too. */
async function isFileIn(folder: string, file: string): Promise<boolean> {
  try {
    if (!(await Deno.stat(file)).isFile) return false;
    const root = (await Deno.realPath(folder)).replace(/[/\\]$/, "");
    const target = await Deno.realPath(file);
    return target.startsWith(root) && /^[/\\]/.test(target.slice(root.length));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    if (error instanceof Deno.errors.NotADirectory) return false;
    throw error;
  }
}

/** Escaping that leaves markup alone, ours and Vento's, and prints every value but null and undefined. */
function makeEscape(vento: Vento): (value: unknown) => string {
  const safeString = vento.utils.safeString as (text: string) => object;
  const Safe = safeString("").constructor as typeof Markup;
  return (value) => {
    if (value === null || value === undefined) return "";
    if (value instanceof Markup || value instanceof Safe) {
      return value.toString();
    }
    return escape(String(value));
  };
}

/**
 * Vento makes every plain name in a template a local variable, save those that are global ones
 * (`location`, `process`) or not ASCII. These are declared here, so that each key of the data is one.
 */
function declareLocals(_vento: Vento, tokens: Token[]): Token[] {
  const code = tokens.filter(([type]) => type === "tag" || type === "filter")
    .map(([, code]) => code);
  const declared = new Set(
    code.filter((tag) => DECLARATION.test(tag)).flatMap(identifiers),
  );
  const locals = new Set<string>();
  for (const name of code.flatMap(identifiers)) {
    if (declared.has(name) || EXEMPT.has(name)) continue;
    if (Object.hasOwn(globalThis, name)) {
      locals.add(`${name} = "${name}" in it ? it.${name} : globalThis.${name}`);
    } else if (/[^\w]/.test(name)) locals.add(`${name} = it.${name}`);
  }
  if (locals.size === 0) return tokens;
  return [["tag", `> var ${[...locals].join(", ")};`, 0], ...tokens];
}

function identifiers(code: string): string[] {
  return code.match(IDENTIFIER) ?? [];
}

/** A template that could not be loaded is looked for again the next time. */
function forgetFailures(vento: Vento): void {
  const load = vento.load.bind(vento);
  vento.load = async (file, from, position) => {
    try {
      return await load(file, from, position);
    } catch (error) {
      vento.cache.delete(
        vento.options.loader.resolve(from ?? "", String(file)),
      );
      throw error;
    }
  };
}

/** A template that includes itself would never end, and take all memory. */
function limitDepth(vento: Vento): void {
  const run = vento.run.bind(vento);
  vento.run = (file, data: { [DEPTH]?: number } = {}, ...from) => {
    const depth = (data[DEPTH] ?? 0) + 1;
    if (depth <= DEEPEST) {
      return run(file, { ...data, [DEPTH]: depth }, ...from);
    }
    throw new RangeError(
      `The template "${file}" is nested deeper than ${DEEPEST}: it may include itself`,
    );
  };
}

/**
 * Where in the source the JavaScript of a template is wrong. The engine tells only about modules, so
 * the compiled code is read as one, inside a function that nobody calls.
 */
async function syntaxErrorPosition(code = ""): Promise<number | undefined> {
  const module = `async function template() {${code}}`;
  const url = `data:text/javascript,${encodeURIComponent(module)}`;
  const fault: { stack?: string } = await outside(() => import(url))
    .catch((error: Error) => error);
  const line = /:(\d+):\d+\)?$/m.exec(fault.stack ?? "")?.[1];
  const before = module.split("\n").slice(0, Number(line ?? 0)).join("\n");
  const position = before.match(/__pos=\d+/g)?.at(-1)?.slice("__pos=".length);
  return position === undefined ? undefined : Number(position);
}
