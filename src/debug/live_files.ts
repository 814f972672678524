/** Owns noticing that used files have changed. They are polled: that works in any folder, and for missing files. */

import { reading } from "./reading.ts";

const POLL_MS = 200;

/** How many files are watched, and how many names are looked at to find the templates of a folder. */
const MAX_FILES = 1_000;

/** Watches files, from `watch()` to `stop()`. What changes in between is noticed by the next `watch()`. */
export class LiveFiles {
  /** How often files have changed. */
  changes = 0;
  /** What tells the state of each file from an earlier one. */
  readonly #stamps = new Map<string, string>();
  readonly #onChange: () => void;
  #polling: ReturnType<typeof setInterval> | undefined;

  /** `onChange` is called after one or several files have changed. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Adds a file, which may be missing. */
  add(file: string): void {
    if (this.#stamps.has(file) || this.#stamps.size >= MAX_FILES) return;
    this.#stamps.set(file, stampOf(file));
  }

  /** Adds the files in a folder and below it, but for those whose names begin with a dot. */
  addFolder(folder: string): void {
    const folders = [folder];
    let count = 0;
    for (const each of folders) {
      for (const { name, isDirectory, isFile } of entriesOf(each)) {
        if (++count > MAX_FILES) return;
        if (isDirectory && name[0] !== ".") folders.push(`${each}/${name}`);
        if (isFile) this.add(`${each}/${name}`);
      }
    }
  }

  /** Looks for changes now, and from now on. */
  watch(): void {
    this.#polling ??= setInterval(() => this.#compare(), POLL_MS);
    this.#compare();
  }

  stop(): void {
    clearInterval(this.#polling);
    this.#polling = undefined;
  }

  #compare(): void {
    let hasChanged = false;
    for (const [file, stamp] of this.#stamps) {
      const current = stampOf(file);
      if (current === stamp) continue;
      this.#stamps.set(file, current);
      hasChanged = true;
    }
    if (!hasChanged) return;
    this.changes += 1;
    this.#onChange();
  }
}

function entriesOf(folder: string): Deno.DirEntry[] {
  return reading(folder, () => [...Deno.readDirSync(folder)]) ?? [];
}

/** What changes with a file. One that cannot be read counts as missing. */
function stampOf(file: string): string {
  const info = reading(file, Deno.statSync);
  return info ? `${info.mtime?.getTime()} ${info.size} ${info.ino}` : "missing";
}
