/**
 * Owns a map by text for texts that were just cut out of a longer one: `Map` has the runtime hash such a text, which
 * takes longer than the rest of a look-up.
 */

/** Values by text. */
export class TextMap<Value> {
  /** The entries whose texts have the same hash. */
  readonly #alike = new Map<number, [text: string, value: Value][]>();
  #longest = 0;

  get(text: string): Value | undefined {
    if (text.length > this.#longest) return undefined; // clients choose the length
    const alike = this.#alike.get(hashOf(text));
    if (alike === undefined) return undefined;
    for (const [known, value] of alike) if (known === text) return value;
    return undefined;
  }

  /** Adds a value for a text that has none. */
  add(text: string, value: Value): void {
    const hash = hashOf(text);
    this.#alike.set(hash, [...this.#alike.get(hash) ?? [], [text, value]]);
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
