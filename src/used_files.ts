/**
 * Owns reporting which files pages are made of: templates and static files. Under debug, pages reload when one
 * changes; otherwise nothing listens.
 */

let listener: ((file: string) => void) | undefined;

/** Reports that a file was used, or looked for and not found. */
export function noteFile(file: string): void {
  listener?.(file);
}

/** Calls back with each used file from now on. */
export function onUsedFile(callback: (file: string) => void): void {
  listener = callback;
}
