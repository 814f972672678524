// deno-lint-ignore-file no-console -- this is the log
/**
 * Owns the way of lines to the standard output. `console.log()` waits for a reader that stalls, and the whole
 * server with it; here lines wait in a queue, and those for which it has no room are dropped and counted.
 */

import { reportError } from "../errors.ts";
import { flushAtEnd, type Writer } from "../flush.ts";

/** How many characters may wait for the reader: several thousand lines. */
const MAX_LENGTH = 2 ** 20;

/** How long one write takes at most with a reader that reads. Waiting for any other would keep the process. */
const STALLED_MS = 1_000;

/** Under this name OpenTelemetry keeps its API. Deno sends what `console.log()` gets to the collector then. */
const TELEMETRY = Symbol.for("opentelemetry.js.api.1");

const consoleLog = console.log;
const encoder = new TextEncoder();

/** Lines on their way to the standard output, of which a process has one. */
class Lines implements Writer {
  #waiting: string[] = [];
  #length = 0;
  #dropped = 0;
  /** When the write under way began. */
  #began = 0;
  /** Resolves when no line waits; undefined while none does. */
  #writing: Promise<void> | undefined;

  constructor() {
    flushAtEnd(this);
    addEventListener("unload", () => this.#finish());
  }

  /** Prints a line behind those that wait; returns a promise of the end of the writing that it begins. */
  print(line: string): Promise<void> | undefined {
    // A program that has put a function of its own in this place gets the lines.
    if (console.log !== consoleLog || TELEMETRY in globalThis) {
      return void console.log(line);
    }
    if (this.#length + line.length > MAX_LENGTH) return void this.#dropped++;
    this.#add(line);
    return this.#writing === undefined ? this.flush() : undefined;
  }

  /** Writes until no line waits. */
  flush(): Promise<void> {
    if (this.#length === 0) return this.#writing ?? Promise.resolve();
    return this.#writing ??= this.#write();
  }

  /** Drops the lines that wait, and waits for no write under way when the process ends. */
  abandon(): void {
    this.#take();
    this.#writing = undefined;
  }

  #add(line: string): void {
    this.#waiting.push(line);
    this.#length += line.length;
  }

  /** The bytes of the waiting lines, which wait no longer. */
  #take(): Uint8Array {
    const text = this.#waiting.map((line) => `${line}\n`).join("");
    this.#waiting = [];
    this.#length = 0;
    return encoder.encode(text);
  }

  async #write(): Promise<void> {
    try {
      while (this.#length > 0) {
        for (let bytes = this.#take(); bytes.length > 0;) {
          this.#began = performance.now();
          bytes = bytes.subarray(await Deno.stdout.write(bytes));
        }
        this.#reportDropped();
      }
    } catch (error) {
      reportError(error, "in the log");
    } finally {
      this.#writing = undefined;
    }
  }

  /** Writes what waits when the process ends by itself; waits for the write under way, unless its reader stalls. */
  #finish(): void {
    if (this.#writing === undefined) return;
    if (performance.now() - this.#began > STALLED_MS) return;
    try {
      let bytes = this.#take();
      do { // also without lines: it waits for the write under way
        bytes = bytes.subarray(Deno.stdout.writeSync(bytes));
      } while (bytes.length > 0);
    } catch (error) {
      reportError(error, "in the log");
    }
  }

  /** Tells in the log itself how many lines are missing. */
  #reportDropped(): void {
    if (this.#dropped === 0) return;
    const time = new Date().toISOString();
    const line =
      `${time} ${this.#dropped} lines of the log were dropped: its reader is too slow`;
    this.#dropped = 0;
    this.#add(line);
  }
}

/** The lines of this process. */
export const lines: Lines = new Lines();
