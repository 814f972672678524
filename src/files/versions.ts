/** Owns the versions of files in URLs: short texts that change with the content. */

import type { FoundFile } from "../http.ts";

/** Larger files are told apart by size and time: reading them synchronously would hold up requests. */
const MAX_BYTES = 8 * 2 ** 20;

/** How far from now the time of a file must be to be trusted: within a tick of the clock it may change twice. */
const TRUSTED_DISTANCE_MS = 2000;

/**
 * The versions of the files of one folder, each read once as long as it stays the same. They are made of the
 * content, so that all machines that serve the same files have the same versions.
 */
export class Versions {
  readonly #known = new Map<string, { stamp: string; version: string }>();

  /** The version of a file. */
  of({ path, info: { size, mtime } }: FoundFile): string {
    const time = Number(mtime);
    const stamp = `${size}-${time}`;
    const known = this.#known.get(path);
    const isTrusted = Math.abs(Date.now() - time) > TRUSTED_DISTANCE_MS;
    if (isTrusted && known?.stamp === stamp) return known.version;
    const version = hashOf(
      size > MAX_BYTES
        ? new TextEncoder().encode(stamp)
        : Deno.readFileSync(path),
    );
    this.#known.set(path, { stamp, version });
    return version;
  }
}

/** The FNV-1a hash: short and fast. Nobody gains from two files with the same hash. */
function hashOf(bytes: Uint8Array): string {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(36);
}
