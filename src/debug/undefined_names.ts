/**
 * Owns the warning about undefined names in a template, which print nothing and are most often typing
 * errors. The compiled code is searched for them, under debug only.
 */

import { didYouMean } from "../options.ts";
import { report } from "../report.ts";
import type { Template } from "../view/templates.ts";

/** The names that are read from the variables, by Vento itself and by `view/templates.ts`. */
const LOCALS = /\bvar \{([^}]*)\} = it;/g;

/** The end of the function that Vento makes of a template. */
const END = /\}\s*catch \(error\) \{\s*throw __env\.utils\.createError\([^]*$/;

const TAG = /\{\{[^]*?\}\}/g;

/** A text in a tag: its words are no names. */
const STRING = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g;

/** Code that declares names, or tests whether they are defined. */
const EXEMPTIONS = [
  /\b(?:let|const|var|function|class)\s+(?:[$\w]+|\{[^}]*\}|\[[^\]]*\])/g, // declarations
  /[$\w]+\s*=>|\([^()]*\)\s*=>/g, // the parameters of arrow functions
  /\b(?:function\b[^()]*|catch\s*)\([^)]*\)/g, // other parameters
  /[$\w]+\s*:/g, // the keys of objects
  /(?:\bif \(|\btypeof |!|&&|\|\|)\s*(?:typeof )?[$\w]+/g, // tests before a name
  /(?<![$\w.])[$\w]+\s*(?:\?|&&|\|\||[!=]==?)/g, // tests after a name
];

/** A template that reports its undefined names before it runs, each once: `reported` has those that were. */
export function reporting(
  template: Template,
  reported: Set<string>,
): Template {
  const run = (locals: Record<string, unknown> = {}) => {
    reportUndefined(template, locals, reported);
    return template(locals);
  };
  return Object.assign(run, template);
}

/** Reports each undefined name of a template to the error log. */
function reportUndefined(
  { path = "", code, source }: Template,
  locals: Readonly<Record<string, unknown>>,
  reported: Set<string>,
): void {
  const names = [...code.matchAll(LOCALS)].flatMap(([, list]) =>
    list!.split(/,\s*/)
  );
  const body = code.replaceAll(LOCALS, "").replace(END, "");
  const exempt = EXEMPTIONS.flatMap((each) => body.match(each) ?? [])
    .flatMap(wordsOf);
  const tags = source.match(TAG) ?? [];
  const used = wordsOf(tags.join(" ").replace(STRING, ""));
  for (const name of names) {
    if (!used.includes(name)) continue;
    const key = `${path}\0${name}`;
    if (name in locals || exempt.includes(name) || reported.has(key)) continue;
    reported.add(key);
    const hint = didYouMean(name, Object.keys(locals));
    const line = lineOf(name, source);
    const fault = `uses the undefined name "${name}" at line ${line}`;
    report(`The template "${path.slice(1)}" ${fault}${hint}`);
  }
}

function wordsOf(code: string): string[] {
  return code.split(/[^$\p{ID_Continue}]+/u);
}

/** The first line of a source with the name in a tag. */
function lineOf(name: string, source: string): number {
  const at = [...source.matchAll(TAG)]
    .find(([tag]) => wordsOf(tag).includes(name))?.index ?? 0;
  return source.slice(0, at).split("\n").length;
}
