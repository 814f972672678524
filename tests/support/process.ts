/** Owns the name under which tests have the processes of `tasks/`. */

export { Process } from "../../tasks/process.ts";
