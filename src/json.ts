/**
 * Owns encoding values as JSON: what cannot be encoded is an error that names its place.
 */

/**
 * Encodes a value; `undefined` is `null`, `indentation` is a number of spaces from 0 to 10. Throws
 * `TypeError` naming the place of a BigInt or of a cycle.
 */
export function encodeJson(value: unknown, indentation = 0): string {
  try {
    return JSON.stringify(value, undefined, indentation) ?? "null";
  } catch (cause) {
    const place = findFault(value, "$", []);
    if (place === undefined) throw cause;
    throw new TypeError(`Cannot encode JSON: ${place}`, { cause });
  }
}

function findFault(
  value: unknown,
  path: string,
  ancestors: readonly object[],
): string | undefined {
  if (typeof value === "bigint") return `${path} is a BigInt`;
  if (typeof value !== "object" || value === null) return undefined;
  if (ancestors.includes(value)) return `${path} contains itself`;
  for (const [key, member] of Object.entries(value)) {
    const step = Array.isArray(value)
      ? `[${key}]`
      : /^[A-Za-z_$][\w$]*$/.test(key)
      ? `.${key}`
      : `[${JSON.stringify(key)}]`;
    const fault = findFault(member, path + step, [...ancestors, value]);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
