/** Owns counting code: lines that are neither blank nor comment. */

/** The lines of code of each module in a folder, by its path. */
export async function linesIn(folder: string): Promise<Map<string, number>> {
  const lines = new Map<string, number>();
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) {
      for (const [file, count] of await linesIn(path)) lines.set(file, count);
    } else if (name.endsWith(".ts")) {
      lines.set(path, codeLines(await Deno.readTextFile(path)));
    }
  }
  return lines;
}

function codeLines(source: string): number {
  let isComment = false;
  let count = 0;
  for (const line of source.split("\n").map((text) => text.trim())) {
    isComment ||= line.startsWith("/*");
    if (!isComment && line !== "" && !line.startsWith("//")) count++;
    if (line.endsWith("*/")) isComment = false;
  }
  return count;
}
