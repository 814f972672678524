/**
 * Owns the template engine, Vento, as the framework runs it: how values print, and which names are
 * variables. `templates.ts` finds the templates.
 */

import { SafeString } from "ventojs/core/environment.js";
import make from "ventojs/web.js";
import { htmlOf } from "../html.ts";
import { isThenable } from "../steps.ts";

/** Vento itself. */
export type Vento = ReturnType<typeof make>;

/** A compiled template. */
export type Template = ReturnType<Vento["compile"]>;

/** How far a loop counts: the number may be a client's, and all that it counts is in memory at once. */
const MAX_COUNT = 10_000;

/** A name that is not a property's. */
const IDENTIFIER =
  /(?<!(?<!\.\.)\.)(?<![$\w])[$_\p{ID_Start}][$\p{ID_Continue}]*/gu;

/** Global names that need no declaration; `name` is a plain name to Vento. */
const EXEMPT = ["globalThis", "name"];

/**
 * The global functions that templates see, besides every class: those of the language, and `console`. Others, such
 * as `close` and `self`, are names that data have, and would print where they are missing.
 */
const VISIBLE: ReadonlySet<string> = new Set([
  "console",
  "decodeURI",
  "decodeURIComponent",
  "encodeURI",
  "encodeURIComponent",
  "eval",
  "isFinite",
  "isNaN",
  "parseFloat",
  "parseInt",
  "undefined",
]);

/** A tag that declares names. */
const DECLARATION =
  /^(?:import|export|function|async function)\b|^>[^]*\b(?:let|const|class|function)\b/;

/** What Vento calls with the value of a loop. */
type ToIterator = (value: unknown, withKeys?: boolean) => unknown;

type Token = ReturnType<Vento["tokenize"]>[number];

/** Makes a Vento whose templates, and those they include, are run by the given function. */
export function makeVento(run: Vento["run"]): Vento {
  const nowhere = new URL("file:///"); // for Vento's own loader, which is not used
  const vento = make({ autoescape: true, includes: nowhere });
  vento.filters.escape = (value) =>
    typeof value === "object" && value instanceof SafeString
      ? value.toString()
      : htmlOf(value);
  vento.tokenPreprocessors.push(declareLocals);
  boundLoops(vento);
  vento.run = run;
  return vento;
}

/**
 * Makes `{{ for … of value }}` throw for a number that is too large, which Vento would count up to, and for a
 * promise, which it would take for an object without members.
 */
function boundLoops({ utils }: Vento): void {
  const toIterator = utils.toIterator as ToIterator;
  const bounded: ToIterator = (value, withKeys) => {
    if (typeof value === "function") return bounded(value(), withKeys);
    if (isThenable(value)) {
      throw new TypeError(
        "a loop cannot iterate over a promise: await it first",
      );
    }
    if (typeof value !== "number" || value <= MAX_COUNT) {
      return toIterator(value, withKeys);
    }
    throw new RangeError(
      `a loop can count to ${MAX_COUNT} at most, got ${value}`,
    );
  };
  utils.toIterator = bounded;
}

/**
 * Vento declares every plain name in a template as a local variable, except for those of globals
 * (`location`, `process`) and those that are not ASCII. This declares them too, so that each key of the
 * data is a variable; where the data have none, those of visible globals, and of filters, are the global.
 */
function declareLocals(_vento: Vento, tokens: Token[]): Token[] {
  const codeOf = (...types: string[]): string[] =>
    tokens.filter(([type]) => types.includes(type)).map(([, code]) => code);
  const code = codeOf("tag", "filter");
  const declared = code.filter((tag) => DECLARATION.test(tag)).flatMap(
    identifiers,
  );
  const filters = new Set(codeOf("filter").flatMap(identifiers));
  const names = [
    ...new Set(code.flatMap(identifiers))
      .difference(new Set([...declared, ...EXEMPT])),
  ].filter((name) => Object.hasOwn(globalThis, name) || /[^\w]/.test(name));
  const isGlobal = (name: string): boolean =>
    Object.hasOwn(globalThis, name) &&
    (/^[A-Z]/.test(name) || VISIBLE.has(name) || filters.has(name));
  const globals = names.filter(isGlobal)
    .map((name) =>
      `${name} = "${name}" in it ? it.${name} : globalThis.${name}`
    );
  const others = names.filter((name) => !isGlobal(name));
  const added: Token[] = [];
  if (globals.length > 0) {
    added.push(["tag", `> var ${globals.join(", ")};`, 0]);
  }
  if (others.length > 0) {
    added.push(["tag", `> var {${others.join(",")}} = it;`, 0]);
  }
  return [...added, ...tokens];
}

function identifiers(code: string): string[] {
  return code.match(IDENTIFIER) ?? [];
}
