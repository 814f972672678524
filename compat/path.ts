/** Stands in for `@std/path`, by the runtime's own `node:path`: the functions that are used. */

import { fileURLToPath, pathToFileURL } from "node:url";

export { dirname, join, resolve } from "node:path";

/** The path of a `file:` URL. */
export function fromFileUrl(url: string | URL): string {
  return fileURLToPath(url);
}

/** The `file:` URL of an absolute path. */
export function toFileUrl(path: string): URL {
  return pathToFileURL(path);
}
