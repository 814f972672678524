/** Owns watching the used files for changes, by file system events and by polling. */

import { dirname } from "@std/path/dirname";
import { join } from "@std/path/join";
import { mayRead } from "./permission.ts";

/** How many files are watched: those that were used last. */
const MAX_FILES = 1_000;

/** How many files and folders are looked at to find the templates of a folder. */
const MAX_ENTRIES = 2_000;

/** Folders that hold no templates, and many files. */
const SKIPPED = /^(?:\..*|node_modules)$/;

/** Milliseconds from an event until the files are compared: editors write in several steps. */
const DEBOUNCE_MS = 20;

/**
 * Milliseconds between polls, for changes without events: in a network folder, behind a link or in a folder that
 * was missing.
 */
const POLL_MS = 1_000;

/** Watches files, from `start()` to `stop()`. What changes in between is noticed by the next `start()`. */
export class LiveFiles {
  /** What tells the state of each file from an earlier one, the least recently used first. */
  readonly #stamps = new Map<string, string>();
  readonly #onChange: () => void;
  #folders = new Set<string>();
  #watcher: Deno.FsWatcher | undefined;
  #debounce: ReturnType<typeof setTimeout> | undefined;
  #polling: ReturnType<typeof setInterval> | undefined;

  /** `onChange` is called after one or several files have changed. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Adds a file, which may be missing. */
  add(file: string): void {
    const stamp = this.#stamps.get(file) ?? stampOf(file);
    this.#stamps.delete(file);
    this.#stamps.set(file, stamp);
    if (this.#stamps.size > MAX_FILES) {
      const [oldest] = this.#stamps.keys();
      this.#stamps.delete(oldest!);
    }
    const isNew = !this.#folders.has(dirname(file));
    if (isNew && this.#polling !== undefined) this.#watch();
  }

  /** Adds the files with that extension in a folder and below it. */
  addFolder(folder: string, extension: string): void {
    const folders = [folder];
    let count = 0;
    for (const each of folders) {
      for (const { name, isDirectory, isFile } of entriesOf(each)) {
        if (++count > MAX_ENTRIES) return;
        const path = join(each, name);
        if (isDirectory && !SKIPPED.test(name)) folders.push(path);
        if (isFile && name.endsWith(extension)) this.add(path);
      }
    }
  }

  /** Looks for changes, and watches from now on, including files that are added later. */
  start(): void {
    if (this.#polling === undefined) {
      this.#polling = setInterval(() => this.#compare(), POLL_MS);
      this.#watch();
    }
    this.#compare();
  }

  stop(): void {
    clearInterval(this.#polling);
    clearTimeout(this.#debounce);
    this.#polling = this.#debounce = undefined;
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  /** Watches the folders of all files. One watcher has them all: systems allow few of them. */
  #watch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#folders = new Set([...this.#stamps.keys()].map(dirname));
    const folders = [...this.#folders]
      .filter((folder) => stampOf(folder) !== MISSING);
    if (folders.length === 0) return;
    try {
      this.#watcher = Deno.watchFs(folders, { recursive: false });
    } catch {
      return; // the system has no more watchers: polling is left
    }
    this.#follow(this.#watcher).catch(() => {}); // the same
  }

  async #follow(watcher: Deno.FsWatcher): Promise<void> {
    for await (const { kind } of watcher) {
      if (watcher !== this.#watcher) return; // these events came before it was closed
      if (kind === "access") continue;
      this.#debounce ??= setTimeout(() => {
        this.#debounce = undefined;
        this.#compare();
      }, DEBOUNCE_MS);
    }
  }

  #compare(): void {
    let hasChanged = false;
    for (const [file, stamp] of this.#stamps) {
      const current = stampOf(file);
      if (current === stamp) continue;
      this.#stamps.set(file, current);
      hasChanged = true;
    }
    if (hasChanged) this.#onChange();
  }
}

const MISSING = "missing";

/** What is in a folder; nothing when it cannot be read without a prompt. */
function entriesOf(folder: string): Iterable<Deno.DirEntry> {
  if (stampOf(folder) === MISSING) return [];
  try {
    return [...Deno.readDirSync(folder)];
  } catch {
    return []; // it is a file
  }
}

/** What changes with a file. One that cannot be read without a prompt counts as missing. */
function stampOf(path: string): string {
  try {
    if (!mayRead(path)) return MISSING;
    const { mtime, size, ino } = Deno.statSync(path);
    return `${mtime?.getTime()} ${size} ${ino}`;
  } catch {
    return MISSING;
  }
}
