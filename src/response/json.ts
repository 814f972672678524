/**
 * Owns encoding values as JSON: the error for one that cannot be encoded names the place in it.
 */

/**
 * Encodes a value; `undefined` is `null`, `indentation` is a number of spaces from 0 to 10. Throws
 * `TypeError` naming the place of a BigInt or of a cycle.
 */
export function encodeJson(value: unknown, indentation = 0): string {
  try {
    // With an indentation, even one of 0, the runtime encodes a third slower.
    return JSON.stringify(value, undefined, indentation || undefined) ?? "null";
  } catch (cause) {
    const fault = findFault(value);
    if (fault === undefined) throw cause;
    throw new TypeError(`Cannot encode JSON: ${fault}`, { cause });
  }
}

/** Escapes characters of JSON text that can only be inside its strings. */
export function escapeJson(text: string, characters: RegExp): string {
  return text.replace(
    characters,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Encodes once more and notes each place: the last one noted is the one that fails. */
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
    return fault;
  }
}

function step(holder: unknown, key: string): string {
  if (Array.isArray(holder)) return `[${key}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key)
    ? `.${key}`
    : `[${JSON.stringify(key)}]`;
}
