/** Owns the check that a file lies in a folder, for all code that reads files by names from elsewhere. */

/** A file in a folder, or the folder itself. */
export interface Inside {
  /** The real path: without links and `..`. */
  readonly path: string;
  /** The part of the real path below the folder; "" for the folder itself. */
  readonly below: string;
}

const SEPARATOR = Deno.build.os === "windows" ? "\\" : "/";

/**
 * Finds a file or folder in a folder; returns undefined when a link or `..` leads out of it. Deno's permissions
 * do not check where a link points. Rejects as `Deno.realPath()` does when one of them is missing.
 */
export async function inside(
  folder: string | URL,
  path: string,
): Promise<Inside | undefined> {
  const calls = [Deno.realPath(folder), Deno.realPath(path)] as const;
  await Promise.allSettled(calls); // neither goes on when the other fails
  return insideOf(await calls[0], await calls[1]);
}

/** The synchronous `inside()`. */
export function insideSync(
  folder: string | URL,
  path: string,
): Inside | undefined {
  return insideOf(Deno.realPathSync(folder), Deno.realPathSync(path));
}

/** Compares two real paths. Only the root of a file system ends with a separator. */
function insideOf(folder: string, path: string): Inside | undefined {
  if (path === folder) return { path, below: "" };
  const prefix = folder.endsWith(SEPARATOR) ? folder : folder + SEPARATOR;
  if (!path.startsWith(prefix)) return undefined;
  return { path, below: path.slice(prefix.length) };
}
