/**
 * Owns reading the server's error log in a test.
 */

/** Runs work and answers the lines that it wrote to the error log, which keeps them out of the output. */
export async function logOf(work: () => unknown): Promise<string[]> {
  const lines: string[] = [];
  const { error } = console;
  console.error = (...parts: unknown[]) => void lines.push(parts.join(" "));
  try {
    await work();
  } finally {
    console.error = error;
  }
  return lines;
}
