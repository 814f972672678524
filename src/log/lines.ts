// deno-lint-ignore-file no-console -- this is the log
/**
 * Owns writing lines to the standard output. With `console.log()`, a stalled reader stalls the whole server; here
 * lines wait in a queue, and lines beyond its limit are dropped and counted.
 */

import { counted, reportError } from "../report.ts";
import { type BufferedWriter, flushAtEnd } from "../flush.ts";

/** How many characters may wait for the reader: several thousand lines. */
const MAX_LENGTH = 2 ** 20;

/** How many characters are written at a time, unless a line is longer: what `Deno.exit()` may lose. */
const WRITE_LENGTH = 4_096;

/** A write that takes longer has a stalled reader: waiting for it would keep the process alive. */
const STALLED_MS = 1_000;

/** How long the runtime gets to begin a write: it takes far less on a machine that is not overloaded. */
const BEGIN_MS = 50;

/** Where OpenTelemetry keeps its API: while it is there, Deno exports what `console.log()` prints. */
const TELEMETRY = Symbol.for("opentelemetry.js.api.1");

const consoleLog = console.log;
const encoder = new TextEncoder();

/** The queue of lines. */
class Lines implements BufferedWriter {
  #waiting: string[] = [];
  #length = 0;
  #dropped = 0;
  /** When the write under way began. */
  #began = 0;
  /** Whether the event loop has seen the write under way take too long: a busy one sees no write end. */
  #isStalled = false;
  /** Resolves when no line waits; undefined while none does. */
  #writing: Promise<void> | undefined;

  constructor() {
    flushAtEnd(this);
    addEventListener("unload", () => this.#finish());
  }

  /** Appends a line to the queue; when that starts the writing, returns a promise of its end. */
  print(line: string): Promise<void> | undefined {
    // A program that has replaced the function gets the lines.
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
    this.#take(Infinity);
    this.#writing = undefined;
  }

  #add(line: string): void {
    const text = `${line}\n`;
    this.#waiting.push(text);
    this.#length += text.length;
  }

  /** Takes lines off the queue, one at least and then as many as the length has room for, as bytes. */
  #take(length: number): Uint8Array {
    let [count, taken] = [0, 0];
    for (const { length: more } of this.#waiting) {
      if (count > 0 && taken + more > length) break;
      count++;
      taken += more;
    }
    this.#length -= taken;
    return encoder.encode(this.#waiting.splice(0, count).join(""));
  }

  async #write(): Promise<void> {
    try {
      while (this.#length > 0) {
        for (let bytes = this.#take(WRITE_LENGTH); bytes.length > 0;) {
          bytes = bytes.subarray(await this.#writeSome(bytes));
        }
        this.#reportDropped();
      }
    } catch (error) {
      reportError(error, "while writing the log");
    } finally {
      this.#writing = undefined;
    }
  }

  /** Writes in a thread of the runtime, which waits for the reader. */
  async #writeSome(bytes: Uint8Array): Promise<number> {
    this.#began = performance.now();
    const timer = setTimeout(() => this.#isStalled = true, STALLED_MS);
    Deno.unrefTimer(timer);
    try {
      return await Deno.stdout.write(bytes);
    } finally {
      clearTimeout(timer);
      this.#isStalled = false;
    }
  }

  /**
   * Writes what waits when the program calls `Deno.exit()`, except for a reader that stalls. The write under way is
   * up to its thread: nobody is told whether that has begun, and if it has not, these lines are lost or cut off.
   */
  #finish(): void {
    if (this.#writing === undefined || this.#isStalled) return;
    pause(this.#began + BEGIN_MS - performance.now());
    try {
      let bytes = this.#take(Infinity);
      do { // also without lines: it waits for the write under way
        bytes = bytes.subarray(Deno.stdout.writeSync(bytes));
      } while (bytes.length > 0);
    } catch (error) {
      reportError(error, "while writing the log");
    }
  }

  /** Reports in the log itself how many lines are missing. */
  #reportDropped(): void {
    if (this.#dropped === 0) return;
    const time = new Date().toISOString();
    const lines = counted(this.#dropped, "log line");
    const line = `${time} Dropped ${lines}: the reader of the log is too slow`;
    this.#dropped = 0;
    this.#add(line);
  }
}

/** Stops this thread for some milliseconds: those of the runtime go on. */
function pause(milliseconds: number): void {
  const nobody = new Int32Array(new SharedArrayBuffer(4));
  Atomics.wait(nobody, 0, 0, Math.max(0, milliseconds));
}

/** The lines of this process. */
export const lines: Lines = new Lines();
