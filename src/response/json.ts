/**
 * Owns encoding values as JSON: what cannot be encoded is an error that names its place.
 */

/**
 * Encodes a value; `undefined` is `null`, `indentation` is a number of spaces from 0 to 10. Throws
 * `TypeError` naming the place of a BigInt or of a cycle.
 */
export function encodeJson(value: unknown, indentation = 0): string {
  try {
    // Without an indentation, not even one of 0, the runtime encodes a third faster.
    return JSON.stringify(value, undefined, indentation || undefined) ?? "null";
  } catch (cause) {
    const fault = findFault(value);
    if (fault === undefined) throw cause;
    throw new TypeError(`Cannot encode JSON: ${fault}`, { cause });
  }
}

/** Escapes characters of JSON text; they can only stand inside its strings. */
export function escapeJson(text: string, characters: RegExp): string {
  return text.replace(
    characters,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Encodes once more, keeping note of where: the place it fails at is the last one visited. */
function findFault(value: unknown): string | undefined {
  const path: { value: unknown; place: string }[] = [];
  let fault: string | undefined;
  try {
    JSON.stringify(value, function (this: unknown, key: string, member) {
      while (path.length > 0 && path.at(-1)!.value !== this) path.pop();
      const place = path.length > 0
        ? path.at(-1)!.place + step(this, key)
        : "$";
      const above = path.find((each) => each.value === member);
      fault = above && `${place} is ${above.place} again, which contains it`;
      if (typeof member === "bigint") fault = `${place} is a BigInt`;
      path.push({ value: member, place });
      return member;
    });
  } catch {
    return fault; // why it failed is known already: it is where that is asked for
  }
}

function step(holder: unknown, key: string): string {
  if (Array.isArray(holder)) return `[${key}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key)
    ? `.${key}`
    : `[${JSON.stringify(key)}]`;
}
