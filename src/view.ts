/**
 * Owns the default view: finding a template in the views folder, rendering it with Vento, and saying
 * where a template went wrong. When a page is sent is the mapped method `render`'s to decide; a class
 * registered under the name `view` replaces all of this.
 *
 * Vento is imported with the first render, so that an application without views does not pay for it.
 * Templates are code of the application: they are confined to their folder, not to a sandbox.
 */

import { HttpError } from "./errors.ts";

/** Vento's own extension, tried after the configured one. */
const EXTENSION = ".vto";

/** How deeply templates may include each other before it counts as a loop. */
const DEEPEST = 100;

/** Carries the depth of inclusion inside the data that Vento hands down. */
const DEPTH = Symbol("depth");

/** Characters that mean something in HTML, with what prints in their place. */
const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** An identifier that is no property, with the name in it. */
const IDENTIFIER =
  /(?<!(?<!\.\.)\.)(?<![$\w])[$_\p{ID_Start}][$\p{ID_Continue}]*/gu;

/** Global names that stay what they are, whatever the data hold. */
const CONSTANTS: ReadonlySet<string> = new Set(["globalThis", "undefined"]);

/** A tag that declares names of its own. */
const DECLARATION =
  /^(?:import|export|function|async function)\b|^>[^]*\b(?:let|const|class|function)\b/;

/** What a view reads from its application; each function answers for the current request. */
export interface ViewContext {
  /** The variables every template sees. */
  readonly variables: ViewVariables;
  /** The folder of the templates. */
  path(): string;
  /** The extension a name gets when no file has the bare name. */
  extension(): string;
  /** Whether templates are read anew for each render. */
  debug(): boolean;
}

/** Where a view keeps its variables: the part of a `Map` it uses. */
export interface ViewVariables {
  get(name: string): unknown;
  set(name: string, value: unknown): unknown;
  delete(name: string): unknown;
  clear(): void;
  keys(): Iterable<string>;
}

/** Text that is HTML already: it prints unescaped, and is a string in every other respect. */
export class Markup extends String {}

/** Marks text as HTML, so that templates print it unescaped. Only for text that is safe to send. */
export function markup(html: string): Markup {
  return new Markup(html);
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
 * const response = await engine.fetch(new Request("http://localhost/hello/Tom%20%26%20Ann"));
 * assertEquals(await response.text(), "<p>Hello, Tom &amp; Ann</p>");
 * ```
 */
export class View {
  readonly #context: ViewContext;
  readonly #engines = new Map<string, Vento>();

  /** Makes a view over the given variables and settings. */
  constructor(context: ViewContext) {
    this.#context = context;
  }

  /** Sets one variable, or each of a record. */
  set(name: string | Readonly<Record<string, unknown>>, value?: unknown): void {
    const entries = typeof name === "string"
      ? [[name, value] as const]
      : Object.entries(name);
    for (const [key, each] of entries) this.#context.variables.set(key, each);
  }

  /** The value of a variable, or undefined. */
  get(name: string): unknown {
    return this.#context.variables.get(name);
  }

  /** Whether a variable is set to anything but null and undefined. */
  has(name: string): boolean {
    return (this.get(name) ?? null) !== null;
  }

  /** Clears one variable; all of them without a name. */
  clear(name?: string): void {
    if (name === undefined) this.#context.variables.clear();
    else this.#context.variables.delete(name);
  }

  /**
   * Renders a template and answers its text. The data are the template's local variables; where a
   * name is both, the data win over the view's variables.
   *
   * Rejects with an `Error` that names the tried files when there is no such template, and with one
   * that shows the template's file and line when rendering fails.
   */
  async fetch(
    file: string,
    data: Readonly<Record<string, unknown>> = {},
  ): Promise<string> {
    const { variables } = this.#context;
    const path = this.#context.path();
    const extension = this.#context.extension();
    const locals: Record<string, unknown> = {};
    for (const name of variables.keys()) locals[name] = variables.get(name);
    Object.assign(locals, data);
    const vento = await this.#vento(path, extension);
    if (this.#context.debug()) vento.cache.clear();
    try {
      return (await vento.run(file, locals)).content;
    } catch (error) {
      throw await locate(error, path, extension);
    }
  }

  /** Whether there is a file for a template of that name. */
  async exists(file: string): Promise<boolean> {
    const { found } = await find(
      this.#context.path(),
      confine(file),
      this.#context.extension(),
    );
    return found !== undefined;
  }

  /** The Vento of a folder and an extension, with its compiled templates. */
  async #vento(path: string, extension: string): Promise<Vento> {
    const key = JSON.stringify([path, extension]);
    const known = this.#engines.get(key);
    if (known !== undefined) return known;
    const { default: make } = await import("npm:ventojs@^2.4.0/web.js");
    const vento = this.#engines.get(key) ?? prepare(make, path, extension);
    this.#engines.set(key, vento);
    return vento;
  }
}

type MakeVento = typeof import("npm:ventojs@^2.4.0/web.js").default;
type Vento = ReturnType<MakeVento>;
type Token = ReturnType<Vento["tokenize"]>[number];
type Locals = Record<string, unknown> & { [DEPTH]?: number };

/** What Vento's errors offer beside a message. */
interface VentoError {
  getContext(): Promise<
    { file?: string; source?: string; position?: number; code?: string }
  >;
}

/** Makes a Vento that is confined to a folder and free of some of its surprises. */
function prepare(make: MakeVento, path: string, extension: string): Vento {
  const vento = make({
    autoescape: true,
    includes: makeLoader(path, extension),
  });
  vento.filters.escape = makeEscape(vento);
  vento.tokenPreprocessors.push(declareLocals);
  forgetFailures(vento);
  limitDepth(vento);
  return vento;
}

/**
 * A template's key is its path below the views folder, without what the search may add. Vento cuts
 * keys at `?` and `#`, which may stand in a file's name, so these are encoded in between.
 */
function makeLoader(
  path: string,
  extension: string,
): Vento["options"]["loader"] {
  return {
    resolve(from: string, file: string): string {
      const folder = file.startsWith(".")
        ? decodeURIComponent(from).replace(/[^/]*$/, "")
        : "";
      return confine(folder + file).replace(/[%?#]/g, encodeURIComponent);
    },
    async load(key: string): Promise<{ source: string }> {
      const name = decodeURIComponent(key);
      const { found, tried } = await find(path, name, extension);
      if (found !== undefined) {
        return { source: await Deno.readTextFile(found) };
      }
      throw new Error(
        `Cannot find the template "${name.slice(1)}": tried ${
          tried.join(", ")
        }`,
      );
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

/** Finds the file of a template; `tried` lists, quoted, where there was none. */
async function find(
  folder: string,
  name: string,
  extension: string,
): Promise<{ found?: string; tried: string[] }> {
  const tried: string[] = [];
  for (const each of new Set([name, name + extension, name + EXTENSION])) {
    const file = folder.replace(/[/\\]+$/, "") + each;
    if (await isFileIn(folder, file)) return { found: file, tried };
    tried.push(`"${file}"`);
  }
  return { tried };
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
    return String(value).replace(
      /[&<>"']/g,
      (character) => ESCAPES[character] ?? character,
    );
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
    if (declared.has(name) || CONSTANTS.has(name)) continue;
    if (name in globalThis) {
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

/** A template that includes itself would never end. */
function limitDepth(vento: Vento): void {
  vento.run = async (file, data: Locals = {}, from, position) => {
    const template = await vento.load(file, from, position);
    data[DEPTH] = (data[DEPTH] ?? 0) + 1;
    if (data[DEPTH] > DEEPEST) {
      throw new RangeError(
        `The template "${file}" is nested deeper than ${DEEPEST}: it may include itself`,
      );
    }
    return await template(data);
  };
}

/**
 * Makes an error say where in which template it happened. What a template throws on purpose, an
 * `HttpError` or the end of the request, comes out as it is.
 */
async function locate(
  error: unknown,
  folder: string,
  extension: string,
): Promise<unknown> {
  if (!(error instanceof Error) || !("getContext" in error)) return error;
  const { cause } = error;
  if (
    cause instanceof HttpError ||
    (cause !== undefined && !(cause instanceof Error))
  ) return cause;
  const context = await (error as VentoError).getContext();
  const name = decodeURIComponent(context.file ?? "");
  const file = (await find(folder, name, extension)).found ?? name;
  const position = context.position ?? await syntaxErrorPosition(context.code);
  const place = context.source === undefined || position === undefined
    ? { line: "", text: "" }
    : lineAt(context.source, position);
  return new Error(
    `Cannot render "${file}"${place.line}: ${error.message}${place.text}`,
    { cause: cause ?? error },
  );
}

/** A position in a text as words for a message: ` at line 3`, and the line itself below it. */
function lineAt(
  source: string,
  position: number,
): { line: string; text: string } {
  const number = source.slice(0, position).split("\n").length;
  const text = source.split("\n")[number - 1] ?? "";
  return {
    line: ` at line ${number}`,
    text: `\n  ${number} | ${text.trimEnd()}`,
  };
}

/**
 * Where in the source the JavaScript of a template is wrong. The engine tells only about modules, so
 * the compiled code is read as one, inside a function that nobody calls.
 */
async function syntaxErrorPosition(
  code: string | undefined,
): Promise<number | undefined> {
  if (code === undefined) return undefined;
  const module = `async function template() {${code}}`;
  try {
    await import(`data:text/javascript,${encodeURIComponent(module)}`);
  } catch (error) {
    const line = /:(\d+):\d+\)?$/m.exec((error as Error).stack ?? "")?.[1];
    const before = module.split("\n").slice(0, Number(line)).join("\n");
    const position = before.match(/__pos=(\d+);/g)?.at(-1)?.slice(6, -1);
    if (line !== undefined && position !== undefined) return Number(position);
  }
  return undefined;
}
