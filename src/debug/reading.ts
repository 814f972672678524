/** Owns reading files at the desk: what is missing, or would need a prompt, is not read. */

/** What `read` returns for a path; undefined where it throws, or may not be called. */
export function reading<Result>(
  path: string,
  read: (path: string) => Result,
): Result | undefined {
  try {
    const { state } = Deno.permissions.querySync({ name: "read", path });
    return state === "granted" ? read(path) : undefined;
  } catch {
    return undefined;
  }
}
