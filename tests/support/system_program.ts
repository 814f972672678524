/** Owns the programs of the system that tests run: finding them, and running them without the rights of root. */

/** Where programs are; the path of an ordinary user lacks one of these folders. */
const FOLDERS = ["/usr/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin"];

/** The path of a program; undefined when it is not installed. */
export async function findProgram(name: string): Promise<string | undefined> {
  for (const folder of FOLDERS) {
    try {
      await Deno.stat(`${folder}/${name}`);
      return `${folder}/${name}`;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
}

/** The command that runs another as nobody, where the tests run as root. */
export async function asNobody(): Promise<string[]> {
  const { stdout } = await new Deno.Command("id", { args: ["-u"] }).output();
  if (new TextDecoder().decode(stdout).trim() !== "0") return [];
  return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"];
}

/** Makes a temporary folder with files; the user nobody may read them, and add others. */
export async function folderForNobody(
  prefix: string,
  files: Readonly<Record<string, string>>,
): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix });
  await Deno.chmod(folder, 0o777);
  for (const [name, content] of Object.entries(files)) {
    await Deno.writeTextFile(`${folder}/${name}`, content);
  }
  return folder;
}
