/**
 * Owns the way of lines to the standard output. `console.log()` waits for a reader that stalls, and the whole
 * server with it; here lines wait in a queue, and those for which it has no room are dropped and counted.
 */

import { reportError } from "../errors.ts";

/** How many characters may wait for the reader: several thousand lines. */
const MAX_LENGTH = 2 ** 20;

/** Under this name OpenTelemetry keeps its API. Deno sends what `console.log()` gets to the collector then. */
const TELEMETRY = Symbol.for("opentelemetry.js.api.1");

const consoleLog = console.log;
const encoder = new TextEncoder();

/** Lines on their way to the standard output, of which a process has one. */
class Lines {
  #waiting: string[] = [];
  #length = 0;
  #dropped = 0;
  #isWriting = false;

  /** Prints a line; returns a promise of the end of the writing when the line has begun it. */
  print(line: string): Promise<void> | undefined {
    // A program that has put a function of its own in this place gets the lines.
    if (console.log !== consoleLog || TELEMETRY in globalThis) {
      return void console.log(line);
    }
    if (this.#length + line.length > MAX_LENGTH) {
      this.#dropped++;
      return undefined;
    }
    this.#waiting.push(line);
    this.#length += line.length;
    return this.#isWriting ? undefined : this.#write();
  }

  /** Writes until no line waits. */
  async #write(): Promise<void> {
    this.#isWriting = true;
    try {
      while (this.#length > 0) {
        const text = this.#waiting.join("\n");
        this.#waiting = [];
        await writeAll(`${text}\n`);
        this.#length = this.#waiting.reduce(
          (sum, line) => sum + line.length,
          0,
        );
        this.#reportDropped();
      }
    } catch (error) {
      this.#waiting = [];
      this.#length = 0;
      reportError(error, "in the log");
    } finally {
      this.#isWriting = false;
    }
  }

  /** Tells in the log itself how many lines are missing. */
  #reportDropped(): void {
    if (this.#dropped === 0) return;
    const time = new Date().toISOString();
    const line =
      `${time} ${this.#dropped} lines of the log were dropped: its reader is too slow`;
    this.#dropped = 0;
    this.#waiting.push(line);
    this.#length += line.length;
  }
}

/** The lines of this process. */
export const lines: Lines = new Lines();

async function writeAll(text: string): Promise<void> {
  let bytes = encoder.encode(text);
  while (bytes.length > 0) {
    bytes = bytes.subarray(await Deno.stdout.write(bytes));
  }
}
