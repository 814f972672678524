/**
 * Owns telling which files pages are made of: templates and static files. Debug listens, so that pages reload
 * when one changes; without it, nobody does.
 */

let listener: ((file: string) => void) | undefined;

/** Tells that a file was used, or looked for where it is missing. */
export function noteFile(file: string): void {
  listener?.(file);
}

/** Calls back with each used file from now on. */
export function onUsedFile(callback: (file: string) => void): void {
  listener = callback;
}
