/** Owns which files of a folder are served: those inside of it that are not hidden. */

import type { FoundFile } from "../http.ts";
import { type Inside, inside, insideSync, noteFile } from "../paths.ts";

/** A part of a name that is empty or begins with a dot. */
export const HIDDEN: RegExp = /(?:^|[/\\])[./\\]/;

/** Finds a file; undefined when it is missing, hidden or no file, or a link leads out of the folder. */
export async function visibleFile(
  folder: string,
  name: string,
): Promise<FoundFile | undefined> {
  if (HIDDEN.test(name)) return undefined;
  try {
    const found = await inside(folder, noted(folder, name));
    return found && visible(found, await Deno.stat(found.path));
  } catch (error) {
    return missing(error);
  }
}

/** The synchronous `visibleFile()`. */
export function visibleFileSync(
  folder: string,
  name: string,
): FoundFile | undefined {
  if (HIDDEN.test(name)) return undefined;
  try {
    const found = insideSync(folder, noted(folder, name));
    return found && visible(found, Deno.statSync(found.path));
  } catch (error) {
    return missing(error);
  }
}

/** The path of a name in a folder, noted as used. */
function noted(folder: string, name: string): string {
  const path = `${folder}/${name}`;
  noteFile(path);
  return path;
}

/** The file by its real path, whose part below the folder must not be hidden, either: a link may name it. */
function visible(
  { path, below }: Inside,
  info: Deno.FileInfo,
): FoundFile | undefined {
  return info.isFile && !HIDDEN.test(below) ? { path, info } : undefined;
}

/** Treats an error, such as that of a name that is too long, as a missing file; rethrows a missing permission. */
function missing(error: unknown): undefined {
  if (error instanceof Deno.errors.NotCapable) throw error;
  return undefined;
}
