/** Owns stacks as a developer reads them: the frames of the application, and how many others there are. */

import { errorText } from "../errors.ts";
import { framesOf, isForeignFrame } from "../stack.ts";
import { counted } from "../state/unfinished.ts";

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

/** The frames of the application in a stack; all of them when there are none. */
export function applicationFrames(error: Error): string[] {
  const frames = framesOf(error);
  const own = frames.filter((frame) => !isForeignFrame(frame));
  return (own.length > 0 ? own : frames).map((frame) => frame.trim());
}
