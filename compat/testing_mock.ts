/** Stands in for `stub` of `@std/testing/mock`. That of `node:test` cannot be disposed of. */

// deno-lint-ignore no-explicit-any -- only `any` lets every method match
type Method = (...args: any[]) => any;

interface Stub<M extends Method> extends Disposable {
  readonly calls: { readonly args: Parameters<M> }[];
}

/** Puts a function that records its calls in place of a method, until it is disposed of. */
export function stub<
  Name extends PropertyKey,
  Owner extends Record<Name, Method>,
>(
  owner: Owner,
  name: Name,
  work?: (...args: Parameters<Owner[Name]>) => ReturnType<Owner[Name]>,
): Stub<Owner[Name]> {
  const calls: { args: Parameters<Owner[Name]> }[] = [];
  const { [name]: original } = owner;
  const replacement = (...args: Parameters<Owner[Name]>) => {
    calls.push({ args });
    return work?.(...args);
  };
  Object.assign(owner, { [name]: replacement });
  return {
    calls,
    [Symbol.dispose]: () => void Object.assign(owner, { [name]: original }),
  };
}
