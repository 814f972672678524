/**
 * Owns a map by text for texts that were just cut out of a longer one: `Map` has the runtime hash such a text, which
 * takes longer than the rest of a look-up.
 */

interface Entry<Value> {
  readonly text: string;
  readonly value: Value;
  /** The entry before it whose text has the same hash. */
  readonly alike: Entry<Value> | undefined;
}

/** Values by text. */
export class TextMap<Value> {
  /** By the hash of its text, the last entry that was added. */
  readonly #entries = new Map<number, Entry<Value>>();
  #longest = 0;

  get(text: string): Value | undefined {
    if (text.length > this.#longest) return undefined; // clients choose the length
    let entry = this.#entries.get(hashOf(text));
    while (entry !== undefined && entry.text !== text) entry = entry.alike;
    return entry?.value;
  }

  /** Adds a value for a text that has none. */
  add(text: string, value: Value): void {
    const hash = hashOf(text);
    this.#entries.set(hash, { text, value, alike: this.#entries.get(hash) });
    this.#longest = Math.max(this.#longest, text.length);
  }
}

function hashOf(text: string): number {
  let hash = 0;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash, 31) + text.charCodeAt(at) | 0;
  }
  return hash;
}
