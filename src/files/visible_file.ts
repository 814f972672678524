/** Owns which files of a folder are served: those inside of it that are not hidden. */

import { type Inside, inside, insideSync } from "../inside.ts";

/** A file or folder that may be served. */
export interface VisibleFile {
  /** The real path. */
  readonly path: string;
  /** The part of the real path below the folder. */
  readonly name: string;
  readonly fileInfo: Deno.FileInfo;
}

/** A name that begins with a dot, or an empty one in front of another. */
export const HIDDEN: RegExp = /(?:^|[/\\])[./\\]/;

/** Finds a file or folder; undefined when it is missing or hidden, or a link leads out of the folder. */
export async function visibleFile(
  folder: string,
  name: string,
): Promise<VisibleFile | undefined> {
  try {
    const found = await inside(folder, `${folder}/${name}`);
    if (found === undefined || isHidden(name, found)) return undefined;
    const { path, below } = found;
    return { path, name: below, fileInfo: await Deno.stat(path) };
  } catch (error) {
    return missing(error);
  }
}

/** The synchronous `visibleFile()`. */
export function visibleFileSync(
  folder: string,
  name: string,
): VisibleFile | undefined {
  try {
    const found = insideSync(folder, `${folder}/${name}`);
    if (found === undefined || isHidden(name, found)) return undefined;
    const { path, below } = found;
    return { path, name: below, fileInfo: Deno.statSync(path) };
  } catch (error) {
    return missing(error);
  }
}

/** Whether a name, or the path that it leads to, has a part that begins with a dot. */
function isHidden(name: string, { below }: Inside): boolean {
  return HIDDEN.test(name) || HIDDEN.test(below);
}

/** Treats an error, such as that of a name that is too long, as a missing file; rethrows a missing permission. */
function missing(error: unknown): undefined {
  if (error instanceof Deno.errors.NotCapable) throw error;
  return undefined;
}
