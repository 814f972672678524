/** Owns places in the code: the lines around one, and the link that opens it in an editor. */

import { type SourcePlace, TemplateError } from "../errors.ts";
import { decodeEscapes } from "../path_text.ts";
import { escape } from "../html.ts";
import { masked } from "../secrets.ts";
import { framesOf, isForeignFrame } from "../stack.ts";
import { mayRead } from "./permission.ts";

const LINES_AROUND = 4;

/** A line of a file, counted from 1, and the text of the file where it can be read. */
export interface Place {
  readonly path: string;
  readonly line: number;
  readonly source: string | undefined;
}

/** A file and a line in a frame, or in the message of an error that names one. */
const FILE = /(file:[^\s()]+?):(\d+):\d+/;

/** The place of the application where an error was made; undefined when its stack has none. */
export function placeInCode(error: Error): Place | undefined {
  if (error instanceof TemplateError) return placeOfTemplate(error.place);
  const texts = [error.message, ...framesOf(error)]
    .filter((line) => !isForeignFrame(line));
  const found = texts.map((text) => FILE.exec(String(text)))
    .find((each) => each !== null);
  const url = URL.parse(found?.[1] ?? "");
  if (url === null) return undefined;
  const path = decoded(url.pathname);
  return { path, line: Number(found![2]), source: readFile(path) };
}

/** The file of a template may be named by a relative path. */
function placeOfTemplate({ file, line, source }: SourcePlace): Place {
  try {
    const path = mayRead(file) ? Deno.realPathSync(file) : file;
    return { path, line, source };
  } catch {
    return { path: file, line, source };
  }
}

/** The text of a file; undefined when it cannot be read without a prompt. */
function readFile(path: string): string | undefined {
  try {
    return mayRead(path) ? Deno.readTextFileSync(path) : undefined;
  } catch {
    return undefined; // the file has gone
  }
}

function decoded(path: string): string {
  // On Windows, a drive stands behind the first slash.
  const plain = path.replace(/^\/(?=[a-z]:\/)/i, "");
  return decodeEscapes(plain) ?? plain;
}

/** The place as HTML: a link into the editor, whose address is a pattern with `{file}` and `{line}`. */
export function placeHtml(place: Place, editor: string): string {
  const { path, line } = place;
  const name = escape(`${path}:${line}`);
  if (editor === "") return `<p class="place">${name}</p>\n`;
  const file = encodeURI(path).replace(/[?#&+]/g, encodeURIComponent);
  const address = editor.replaceAll("{file}", () => file)
    .replaceAll("{line}", String(line));
  return `<p class="place"><a href="${escape(address)}">${name}</a></p>\n`;
}

/** The lines around a place as HTML; "" when they are not known. */
export function codeHtml({ line, source }: Place): string {
  if (source === undefined) return "";
  const first = Math.max(1, line - LINES_AROUND);
  const shown = source.split("\n").slice(first - 1, line + LINES_AROUND);
  const width = String(first + shown.length - 1).length;
  const lines = shown.map((text, index) => {
    const number = String(first + index).padStart(width);
    return `${number}  ${escape(masked(text))}`;
  });
  const index = line - first;
  if (lines[index] === undefined) return ""; // the file has changed
  lines[index] = `<mark>${lines[index]}</mark>`;
  return preformatted(lines.join("\n"));
}

/** HTML whose lines stay as they are; the Tab key reaches it, so that it can be scrolled. */
export function preformatted(html: string): string {
  return `<pre tabindex="0">${html}</pre>\n`;
}
