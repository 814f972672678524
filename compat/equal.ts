/**
 * Owns deep equality for the assertions of this folder. Records without a prototype equal plain
 * ones, as in `@std/assert`; otherwise two values of different classes never are equal.
 */

type Keyed = Record<PropertyKey, unknown>;

/** Values that are equal when their texts are. */
const TEXTUAL: readonly unknown[] = [
  RegExp.prototype,
  URL.prototype,
  URLSearchParams.prototype,
];

/** Whether both values are deeply equal; cycles are followed once. */
export function equal(
  a: unknown,
  b: unknown,
  seen: Map<unknown, unknown> = new Map(),
): boolean {
  if (a === b || Object.is(a, b)) return true;
  if (
    typeof a !== "object" || typeof b !== "object" || a === null || b === null
  ) return false;
  const prototype = classOf(a);
  if (prototype !== classOf(b)) return false;
  if (a instanceof Date) return Object.is(a.getTime(), (b as Date).getTime());
  if (TEXTUAL.includes(prototype)) return String(a) === String(b);
  if (ArrayBuffer.isView(a) || a instanceof ArrayBuffer) {
    return sameBytes(bytes(a), bytes(b as ArrayBuffer | ArrayBufferView));
  }
  if (seen.get(a) === b) return true;
  seen.set(a, b);
  if (a instanceof Map) {
    return sameEntries([...a], [...(b as Map<unknown, unknown>)], seen);
  }
  if (a instanceof Set) {
    return sameEntries([...a], [...(b as Set<unknown>)], seen);
  }
  return sameProperties(a as Keyed, b as Keyed, seen);
}

function classOf(value: object): unknown {
  return Object.getPrototypeOf(value) ?? Object.prototype;
}

function bytes(value: ArrayBuffer | ArrayBufferView): Uint8Array {
  return ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array(value);
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

/** Order does not count: each entry of one side needs a partner of its own on the other. */
function sameEntries(
  a: unknown[],
  b: unknown[],
  seen: Map<unknown, unknown>,
): boolean {
  const rest = [...b];
  for (const entry of a) {
    const partner = rest.findIndex((other) =>
      equal(entry, other, new Map(seen))
    );
    if (partner < 0) return false;
    rest.splice(partner, 1);
  }
  return rest.length === 0;
}

function sameProperties(
  a: Keyed,
  b: Keyed,
  seen: Map<unknown, unknown>,
): boolean {
  const keys = new Set([...keysOf(a), ...keysOf(b)]);
  for (const key of keys) {
    if (!(key in a) || !(key in b) || !equal(a[key], b[key], seen)) {
      return false;
    }
  }
  return !Array.isArray(a) || a.length === b.length;
}

/** Own enumerable keys; of an instance also hidden ones and those of its classes, getters included. */
function keysOf(value: object): PropertyKey[] {
  const plain = [Object.prototype, Array.prototype].includes(
    classOf(value) as never,
  );
  if (plain) return Reflect.ownKeys({ ...value });
  const keys: PropertyKey[] = [];
  let at: object | null = value;
  while (at !== null && at !== Object.prototype) {
    keys.push(...Reflect.ownKeys(at));
    at = Object.getPrototypeOf(at);
  }
  return keys;
}
