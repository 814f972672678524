// deno-lint-ignore-file no-console -- this is the log
/**
 * Owns writing lines to the standard output. With `console.log()`, a stalled reader stalls the whole server; here
 * lines wait in a queue, and lines beyond its limit are dropped and counted.
 */

import { counted, reportError } from "../report.ts";
import { flushAtEnd } from "../waiting.ts";

/** How many characters may wait for the reader: several thousand lines. */
const MAX_LENGTH = 2 ** 20;

/** Where OpenTelemetry keeps its API: while it is there, Deno exports what `console.log()` prints. */
const TELEMETRY = Symbol.for("opentelemetry.js.api.1");

const consoleLog = console.log;
const encoder = new TextEncoder();

/** The queue of lines. */
class Lines {
  #waiting = "";
  #dropped = 0;
  /** Resolves when no line waits; undefined while none does. */
  #writing: Promise<void> | undefined;

  constructor() {
    flushAtEnd(() => this.flush());
  }

  /** Appends a line to the queue. A program that has replaced `console.log` gets it at once. */
  print(line: string): void {
    if (console.log !== consoleLog || TELEMETRY in globalThis) {
      return console.log(line);
    }
    if (this.#waiting.length + line.length > MAX_LENGTH) {
      this.#dropped++;
      return;
    }
    this.#waiting += `${line}\n`;
    this.#writing ??= this.#write();
  }

  /** Resolves when no line waits. */
  flush(): Promise<void> {
    return this.#writing ?? Promise.resolve();
  }

  async #write(): Promise<void> {
    try {
      while (this.#waiting !== "") {
        let bytes = encoder.encode(this.#waiting);
        this.#waiting = "";
        while (bytes.length > 0) {
          bytes = bytes.subarray(await Deno.stdout.write(bytes));
        }
        this.#reportDropped();
      }
    } catch (error) {
      reportError(error, "while writing the log");
    } finally {
      this.#writing = undefined;
    }
  }

  /** Reports in the log itself how many lines are missing. */
  #reportDropped(): void {
    if (this.#dropped === 0) return;
    const time = new Date().toISOString();
    const lines = counted(this.#dropped, "log line");
    this.#waiting +=
      `${time} Dropped ${lines}: the reader of the log is too slow\n`;
    this.#dropped = 0;
  }
}

/** The lines of this process. */
export const lines: Lines = new Lines();
