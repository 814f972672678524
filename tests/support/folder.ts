/** Owns a temporary folder, for as long as a test needs it. */

/** A folder with files, each of which may be in a folder of its own. */
export class Folder implements AsyncDisposable {
  readonly path: string = Deno.realPathSync(Deno.makeTempDirSync());

  constructor(files: Readonly<Record<string, string>> = {}) {
    for (const [name, text] of Object.entries(files)) {
      const file = `${this.path}/${name}`;
      Deno.mkdirSync(file.replace(/[^/]*$/, ""), { recursive: true });
      Deno.writeTextFileSync(file, text);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}
