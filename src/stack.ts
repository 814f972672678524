/** Owns whose code each frame of a stack is: the application's, the framework's, or another's. */

import { decodeEscapes } from "./path_text.ts";

/** A place in code. */
interface Place {
  readonly url: string;
  readonly line: string;
}

const FRAMEWORK = import.meta.resolve("./");

/** The module that begins to handle a request, and the one that continues it once it has waited. */
const BEGINS = import.meta.resolve("./handling/handle.ts");
const CONTINUES = import.meta.resolve("./steps.ts");

/** The frames of packages and of the runtime, whose own functions have no place. */
const FOREIGN =
  /\/node_modules\/|\/ventojs[@/]\d|\b(?:ext|node):|<anonymous>\)?$/;

/** The line and the column at the end of a frame. */
const POSITION = /:(\d+):\d+\)?$/;

/** The start of a URL; the lookbehind lets a long word be read only once. */
const SCHEME = /(?<![a-z])[a-z]+:\/\//;

/** Whether a line of a stack is a frame of the framework, of a package or of the runtime. */
export function isForeignFrame(line: string): boolean {
  return /^\s+at /.test(line) &&
    (line.includes(FRAMEWORK) || FOREIGN.test(line));
}

/**
 * The first place of the application in an error's stack, as `/srv/app.ts:12`; undefined when there is none.
 * Code that was loaded over the network counts only when there is no other.
 */
export function placeOf(error: Error): string | undefined {
  const places = framesWithin(framesOf(error))
    .filter((frame) => !isForeignFrame(frame))
    .map((frame) => placeIn(frame)).filter((place) => place !== undefined);
  const isFile = ({ url }: Place): boolean => url.startsWith("file:");
  const place = places.find(isFile) ?? places[0];
  return place && `${filePath(place.url)}:${place.line}`;
}

/** The frames of a request, without those of the code that has called `fetch`. */
export function framesWithin(frames: readonly string[]): readonly string[] {
  const begin = frames.findIndex((frame) => frame.includes(BEGINS));
  const end = begin === -1
    ? frames.findLastIndex((frame) => frame.includes(CONTINUES))
    : begin;
  return frames.slice(0, end === -1 ? undefined : end);
}

/** The place at the end of a frame, which may quote a client in a stack that an application has made. */
function placeIn(frame: string): Place | undefined {
  const position = POSITION.exec(frame);
  const start = frame.search(SCHEME);
  if (position === null || start < 0 || start > position.index) return;
  return { url: frame.slice(start, position.index), line: position[1]! };
}

/** The lines of a stack after the message, which may itself look like one of them. */
export function framesOf({ stack, message }: Error): string[] {
  if (typeof stack !== "string") return [];
  const begin = stack.includes(message)
    ? stack.indexOf(message) + message.length
    : 0;
  return stack.slice(begin).split("\n").filter((line) => /^\s+at /.test(line));
}

/** The path of a file; any other URL as it is. */
function filePath(url: string): string {
  const parsed = URL.parse(url);
  if (parsed?.protocol !== "file:") return url;
  return decodeEscapes(parsed.pathname) ?? parsed.pathname;
}
