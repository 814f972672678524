/**
 * Owns the warning about undefined names in a template: they print nothing, and are most often typing
 * errors. They are found in the compiled code, under debug only.
 */

import { report } from "../errors.ts";
import { didYouMean } from "../suggestions.ts";
import type { Locals, Template } from "./vento.ts";

/** The names that Vento reads from the variables: each name in a template. */
const LOCALS = /\bvar \{([^}]*)\} = it;/;

/** The places of code that give names a meaning of its own: declarations, parameters and keys. */
const DEFINITIONS = [
  /\b(?:let|const|var|function|class)\s+([$\w]+|\{[^}]*\}|\[[^\]]*\])/g,
  /([$\w]+)\s*=>|\(([^()]*)\)\s*=>/g,
  /\bfunction\b[^()]*\(([^)]*)\)|\bcatch\s*\(([^)]*)\)/g,
  /([$\w]+)\s*:/g,
];

/** Reports each undefined name of a template to the error log, unless it is `reported` already. */
export function reportUndefined(
  template: Template,
  locals: Locals,
  reported: Set<string>,
): void {
  const { path, source } = template;
  for (const name of usedNames(template)) {
    const key = `${path}\0${name}`;
    if (name in locals || name in globalThis || reported.has(key)) continue;
    reported.add(key);
    const line = lineOf(name, source);
    const hint = didYouMean(name, Object.keys(locals));
    report(
      `The template "${
        path?.slice(1)
      }" uses the undefined name "${name}" at line ${line}${hint}`,
    );
  }
}

/** The names that a template uses without defining them or testing for them. */
function usedNames({ code }: Template): string[] {
  const names = LOCALS.exec(code)?.[1]?.split(",") ?? [];
  const rest = code.replace(LOCALS, "");
  const defined = DEFINITIONS
    .flatMap((place) => [...rest.matchAll(place)])
    .flatMap((match) => match.slice(1).join(" ").match(/[$\w]+/g) ?? []);
  return names.filter((name) => !defined.includes(name) && !tests(rest, name));
}

/** Whether code tests for a name, as `if (name)`, `!name`, `name ?? ""` and `name?.length` do. */
function tests(code: string, name: string): boolean {
  const word = `(?<![$\\w.])${name.replaceAll("$", "\\$")}(?![$\\w])`;
  return new RegExp(
    `(?:\\bif \\(|\\btypeof |!|&&|\\|\\|)\\s*${word}|${word}\\s*(?:\\?|&&|\\|\\||[!=]==?)`,
  ).test(code);
}

/** The first line of a source with the name in a tag. */
function lineOf(name: string, source: string): number {
  const at = [...source.matchAll(/\{\{[^]*?\}\}/g)]
    .find(([tag]) => tag.split(/[^$\w]/).includes(name))?.index ?? 0;
  return source.slice(0, at).split("\n").length;
}
