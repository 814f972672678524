/** Owns stacks as a developer reads them: the frames of the application, and how many others there are. */

import { errorText, MAX_CAUSES } from "../error_text.ts";
import { counted } from "../report.ts";
import { framesOf, framesWithin, isForeignFrame } from "../stack.ts";

/** An error with its causes for the terminal. */
export function foldedErrorText(error: Error): string {
  return errorText(error, (each) => folded(framesOf(each)));
}

/** The lines of a stack without the frames of the framework, of Vento and of the runtime, which are counted. */
export function folded(lines: readonly string[]): string[] {
  const shown = lines.filter((line) => !isForeignFrame(line));
  const hidden = lines.length - shown.length;
  if (hidden > 0) {
    shown.push(`    (${counted(hidden, "frame")} of the framework)`);
  }
  return shown;
}

/** The frames of the application in an error's stack, or else in that of a cause. */
export function applicationFrames(error: Error): string[] {
  const found = chainOf(error).filter((each) => each instanceof Error)
    .map((each) => framesOf(each).filter((frame) => !isForeignFrame(frame)))
    .find((frames) => frames.length > 0);
  return (found ?? []).map((frame) => frame.trim());
}

/** What was thrown and its causes, as many as are shown. */
export function chainOf(thrown: unknown, limit = MAX_CAUSES): unknown[] {
  if (thrown === undefined || limit === 0) return [];
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  return [thrown, ...chainOf(cause, limit - 1)];
}

/** The line of the request's code that called the framework, for messages; "" where the framework has called itself. */
export function callSite(): string {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 50;
  const lines = new Error().stack?.split("\n").slice(1) ?? [];
  Error.stackTraceLimit = limit;
  const found = framesWithin(lines).find((line) =>
    line.includes("://") && !isForeignFrame(line)
  );
  return found ? ` (${found.trim()})` : "";
}
