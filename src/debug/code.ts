/** Owns places in the code: the lines around one, and the link that opens it in an editor. */

import { TemplateError } from "../errors.ts";
import { escape } from "../html.ts";
import { decodeEscapes } from "../paths.ts";
import { masked } from "../report.ts";
import { framesOf } from "./frames.ts";
import { reading } from "./reading.ts";

const LINES_AROUND = 4;

/** A line of a file, counted from 1, and the text of the file where it can be read. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly source: string | undefined;
}

/** The file and the line in a frame. */
const FILE = /file:\/\/([^\s()]+?):(\d+):\d+/;

/** The place of the application where an error was made; undefined when its stack has none. */
export function placeOf(error: Error): Place | undefined {
  if (error instanceof TemplateError) {
    const { place } = error;
    // It may be named by a relative path.
    const file = reading(place.file, Deno.realPathSync) ?? place.file;
    const source = reading(file, Deno.readTextFileSync);
    return { ...place, file, source };
  }
  const [, path = "", line] = FILE.exec(framesOf(error).join("\n")) ?? [];
  if (line === undefined) return undefined;
  // On Windows, a drive stands behind the first slash.
  const plain = path.replace(/^\/(?=[a-z]:\/)/i, "");
  const file = decodeEscapes(plain) ?? plain;
  const source = reading(file, Deno.readTextFileSync);
  return { file, line: Number(line), source };
}

/** A place as HTML: a link into the editor, whose address is a pattern with `{file}` and `{line}`, and the code. */
export function placeHtml(place: Place, editor: string): string {
  const { file, line } = place;
  const path = encodeURI(file).replace(/[?#&+]/g, encodeURIComponent);
  const address = editor.replaceAll("{file}", () => path)
    .replaceAll("{line}", String(line));
  const name = escape(`${file}:${line}`);
  const link = `<p><a href="${escape(address)}">${name}</a></p>\n`;
  return link + codeHtml(place);
}

/** The lines around a place; "" when they are not known. */
function codeHtml({ line, source }: Place): string {
  const first = Math.max(1, line - LINES_AROUND);
  const shown = source?.split("\n").slice(first - 1, line + LINES_AROUND) ?? [];
  const width = String(line + LINES_AROUND).length;
  const lines = shown.map((text, index) => {
    const number = String(first + index).padStart(width);
    const code = `${number}  ${escape(masked(text))}`;
    return first + index === line ? `<mark>${code}</mark>` : code;
  });
  return lines.length === 0 ? "" : preformatted(lines.join("\n"));
}

/** HTML whose lines stay as they are; the Tab key reaches it, so that it can be scrolled. */
export function preformatted(html: string): string {
  return `<pre tabindex="0">${html}</pre>\n`;
}
