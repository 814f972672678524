/** Owns finding the programs of the system that tests run. */

/** Where programs are; the path of an ordinary user lacks one of these folders. */
const FOLDERS = ["/usr/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin"];

/** The path of the first of these programs that is installed; undefined when there is none. */
export async function findProgram(
  ...names: string[]
): Promise<string | undefined> {
  for (const name of names) {
    for (const folder of FOLDERS) {
      const path = `${folder}/${name}`;
      if (await Deno.stat(path).catch(() => null)) return path;
    }
  }
}
