/**
 * Owns which tests an older Deno skips, since its own server behaves in another way: before 2.9 it sends
 * `Content-Length: 0` for HEAD where a header says more, has no permission for Unix sockets, breaks connections
 * at a shutdown whose request has not arrived whole, leaves the read of a cancelled body pending, and fails a
 * stream that is longer than its `Content-Length`.
 */

const [major, minor] = Deno.version.deno.split(".").map(Number);

/** Whether this Deno is older than 2.9. */
export const isBefore29: boolean = major === 2 && minor! < 9;

/** Declares tests that Deno passes since 2.9. */
export const since29: { readonly test: typeof Deno.test.ignore } = {
  test: isBefore29 ? Deno.test.ignore : Deno.test,
};
