// deno-lint-ignore-file no-console -- this is the log
/**
 * Owns writing lines to the standard output. With `console.log()`, a stalled reader stalls the whole server; here
 * lines wait in a queue, and lines beyond its limit are dropped and counted.
 */

import { reportError } from "../errors.ts";
import { flushAtEnd, type Writer } from "../flush.ts";

/** How many characters may wait for the reader: several thousand lines. */
const MAX_LENGTH = 2 ** 20;

/** A write that takes longer has a stalled reader: waiting for it would keep the process alive. */
const STALLED_MS = 1_000;

/** Where OpenTelemetry keeps its API: while it is there, Deno exports what `console.log()` prints. */
const TELEMETRY = Symbol.for("opentelemetry.js.api.1");

const consoleLog = console.log;
const encoder = new TextEncoder();

/** The queue of lines. */
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

  /** Appends a line to the queue; when that starts the writing, returns a promise of its end. */
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

  /** Drops the lines that wait; the end of the process does not wait for the write under way. */
  abandon(): void {
    this.#take();
    this.#writing = undefined;
  }

  #add(line: string): void {
    this.#waiting.push(line);
    this.#length += line.length;
  }

  /** Takes the waiting lines off the queue, as bytes. */
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

  /**
   * Writes what waits when the program calls `Deno.exit()`, which may cut off the write under way: the runtime tells
   * nobody how far that came. Waits for no reader that stalls.
   */
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

  /** Reports in the log itself how many lines are missing. */
  #reportDropped(): void {
    if (this.#dropped === 0) return;
    const time = new Date().toISOString();
    const line =
      `${time} ${this.#dropped} log lines were dropped: the reader of the log is too slow`;
    this.#dropped = 0;
    this.#add(line);
  }
}

/** The lines of this process. */
export const lines: Lines = new Lines();
