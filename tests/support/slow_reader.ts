/** Owns a process whose standard output is read only when a test asks for it. */

import { absoluteImports } from "./import_map.ts";

/** A server whose reader is slow: the pipe between them has room for 64 KiB. */
export class SlowlyRead implements AsyncDisposable {
  readonly #file: string;
  readonly #child: Deno.ChildProcess;
  readonly #reader: ReadableStreamDefaultReader<string>;

  private constructor(file: string, child: Deno.ChildProcess) {
    this.#file = file;
    this.#child = child;
    const text = child.stdout.pipeThrough(new TextDecoderStream());
    this.#reader = text.getReader();
  }

  /** Starts the source of a module, which imports `@framework/core`. */
  static async start(
    source: string,
    permissions: readonly string[] = ["--allow-net=127.0.0.1"],
  ): Promise<SlowlyRead> {
    const file = await Deno.makeTempFile({ suffix: ".ts" });
    await Deno.writeTextFile(file, source);
    const map = JSON.stringify({ imports: await absoluteImports() });
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--no-prompt",
        "--no-config",
        "--no-lock",
        `--import-map=data:application/json,${encodeURIComponent(map)}`,
        ...permissions,
        file,
      ],
      env: { NO_COLOR: "1" },
      stdin: "null",
      stdout: "piped",
    }).spawn();
    return new SlowlyRead(file, child);
  }

  /** Reads until the text has what the expression finds, or to the end. */
  async read(expression: RegExp): Promise<string> {
    let text = "";
    while (!expression.test(text)) {
      const { value, done } = await this.#reader.read();
      if (done) break;
      text += value;
    }
    return text;
  }

  /** Sends a signal and returns the status with which the process ends. */
  async end(signal: Deno.Signal): Promise<number> {
    this.#child.kill(signal);
    return (await this.#child.status).code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended.
    }
    await this.#child.status;
    await this.#reader.cancel();
    await Deno.remove(this.#file);
  }
}
