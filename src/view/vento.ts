/**
 * Owns the template engine, Vento, as the framework runs it: escaping, the names that are variables,
 * includes and their depth. Reading files is left to `templates.ts`.
 */

import make from "ventojs/web.js";
import { escape, Markup } from "../html.ts";

/** Vento itself. */
export type Vento = ReturnType<typeof make>;

/** A compiled template. */
export type Template = Exclude<
  Parameters<Vento["cache"]["set"]>[1],
  Promise<unknown>
>;

/** The variables of a template. */
export type Locals = Record<string, unknown>;

/** The folder of the templates, as Vento uses it. */
export interface TemplateSource {
  /** The text of a template, by its path below the folder. */
  read(path: string): Promise<string>;
  /** Called with each template that is about to run, and its variables. */
  starts(template: Template, locals: Locals): void;
}

/** How deeply templates may include each other before it counts as a loop. */
const MAX_DEPTH = 100;

/** Keeps the depth of inclusion in the variables, which Vento copies from template to template. */
const DEPTH = Symbol("depth");

/** An identifier that is not a property; the match is the name. */
const IDENTIFIER =
  /(?<!(?<!\.\.)\.)(?<![$\w])[$_\p{ID_Start}][$\p{ID_Continue}]*/gu;

/** Global names that need no declaration; `name` is a plain name to Vento. */
const EXEMPT: ReadonlySet<string> = new Set(["globalThis", "name"]);

/** A tag that declares names of its own. */
const DECLARATION =
  /^(?:import|export|function|async function)\b|^>[^]*\b(?:let|const|class|function)\b/;

type Token = ReturnType<Vento["tokenize"]>[number];

/** Makes a Vento over the templates of one folder. */
export function makeVento(source: TemplateSource): Vento {
  const vento = make({ autoescape: true, includes: loader(source) });
  vento.filters.escape = makeEscape(vento);
  vento.tokenPreprocessors.push(declareLocals);
  keepCompiled(vento);
  vento.run = (file, locals = {}, from, position) => {
    if (from !== undefined) deepen(file, locals);
    const isName = typeof file === "string" && file[0] !== ".";
    const known = isName ? vento.cache.get(`/${file}`) : undefined;
    const run = (template: Template) => {
      source.starts(template, locals);
      return template(locals);
    };
    return typeof known === "function"
      ? run(known)
      : vento.load(file, from, position).then(run);
  };
  return vento;
}

/** A template's name as a path below its folder, where `..` leads no higher. */
export function confine(name: string): string {
  const parts: string[] = [];
  for (const part of name.split(/[/\\]/)) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** Gives Vento the texts of templates; it knows each by its path below the folder. */
function loader(source: TemplateSource): Vento["options"]["loader"] {
  return {
    resolve(from, file) {
      const folder = file.startsWith(".") ? from.replace(/[^/]*$/, "") : "";
      // Vento cuts a query off when it loads a template, and would keep one for each.
      return confine((folder + file).replace(/[?#][^]*/, ""));
    },
    async load(path) {
      return { source: await source.read(path) };
    },
  };
}

/** Escapes all but markup, ours and Vento's, and prints every value but null and undefined. */
function makeEscape(vento: Vento): (value: unknown) => string {
  const safeString = vento.utils.safeString as (text: string) => object;
  const Safe = safeString("").constructor as typeof Markup;
  return (value) => {
    if (typeof value === "string") return escape(value);
    if (typeof value === "number") return String(value);
    if (value === null || value === undefined) return "";
    if (value instanceof Markup || value instanceof Safe) {
      return value.toString();
    }
    return escape(String(value));
  };
}

/**
 * Vento declares every plain name in a template as a local variable, except for those of globals
 * (`location`, `process`) and those that are not ASCII. This declares them too, so that each key of the
 * data is a variable.
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

/**
 * Keeps a template itself in the cache, where Vento keeps its promise, so that later renders need not wait;
 * one that failed is dropped, so that it is loaded again.
 */
function keepCompiled(vento: Vento): void {
  const load = vento.load.bind(vento);
  vento.load = async (file, from, position) => {
    const path = vento.options.loader.resolve(from ?? "", String(file));
    try {
      const template = await load(file, from, position);
      if (vento.cache.has(path)) vento.cache.set(path, template);
      return template;
    } catch (error) {
      vento.cache.delete(path);
      throw error;
    }
  };
}

/** Counts a level of inclusion; one that includes itself would never end, and take all memory. */
function deepen(file: string, locals: { [DEPTH]?: number }): void {
  const depth = (locals[DEPTH] ?? 0) + 1;
  if (depth >= MAX_DEPTH) {
    throw new RangeError(
      `The template "${file}" is nested deeper than ${MAX_DEPTH}: it may include itself`,
    );
  }
  locals[DEPTH] = depth;
}
