/** Stands in for the functions of `@std/path` that are used, over `node:path` and `node:url`. */

export { dirname, resolve } from "node:path";
export {
  fileURLToPath as fromFileUrl,
  pathToFileURL as toFileUrl,
} from "node:url";
