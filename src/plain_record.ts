/** Owns telling plain records from lists and from instances of classes. */

/** Whether an object is a record as literals, JSON and fields make it. */
export function isPlainRecord(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
