/** Owns a copy of the project in a temporary folder, for commands that write into it. */

/** What is no part of the project. */
const LEFTOVERS =
  /^(\.git|\.cache|cache|coverage|node_modules|posts\.json)$|\.(lock|new)$/;

/** A copy of the project. */
export class ProjectCopy implements AsyncDisposable {
  private constructor(readonly folder: string) {}

  /** Copies the project. */
  static async make(): Promise<ProjectCopy> {
    const folder = await Deno.makeTempDir({ prefix: "project-" });
    await copy(new URL("../", import.meta.url), folder);
    return new ProjectCopy(folder);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true });
  }
}

async function copy(from: URL, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (LEFTOVERS.test(name) && name !== "deno.lock") continue;
    if (isDirectory) await copy(new URL(`${name}/`, from), `${to}/${name}`);
    else await Deno.copyFile(new URL(name, from), `${to}/${name}`);
  }
}
