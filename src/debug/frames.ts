/** Owns stacks as a developer reads them: the frames of the application. */

const FRAMEWORK = import.meta.resolve("../");
const HANDLING = import.meta.resolve("../handling/handle.ts");

/** The frames of packages and of the runtime, whose own functions have no place. */
const FOREIGN =
  /\/node_modules\/|\/ventojs[@/]\d|\b(?:ext|node):|<anonymous>\)?$/;

/** How many causes of an error are shown. */
const MAX_CAUSES = 8;

/** What was thrown, and its causes. */
export function chainOf(thrown: unknown, limit = MAX_CAUSES): unknown[] {
  if (thrown === undefined || limit === 0) return [];
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  return [thrown, ...chainOf(cause, limit - 1)];
}

/** The frames of the application in an error's stack, such as `at show (file:///srv/app.ts:12:9)`. */
export function framesOf({ stack, message }: Error): string[] {
  if (typeof stack !== "string") return [];
  const begin = Math.max(0, stack.indexOf(message));
  return stack.slice(begin + message.length).split("\n")
    .filter((line) => /^\s+at /.test(line) && !isForeign(line))
    .map((line) => line.trim());
}

function isForeign(line: string): boolean {
  return line.includes(FRAMEWORK) || FOREIGN.test(line);
}

/** The line of the request's code that has called the framework, for messages; "" where the framework has called itself. */
export function callSite(): string {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 50;
  const lines = new Error().stack?.split("\n").slice(1) ?? [];
  Error.stackTraceLimit = limit;
  // What stands below has called `fetch`.
  const end = lines.findIndex((line) => line.includes(HANDLING));
  const found = lines.slice(0, end === -1 ? undefined : end)
    .find((line) => !isForeign(line));
  return found === undefined ? "" : ` (${found.trim()})`;
}
