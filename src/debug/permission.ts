/** Owns asking whether a file can be read without a prompt. */

export function mayRead(path: string): boolean {
  return Deno.permissions.querySync({ name: "read", path }).state === "granted";
}
