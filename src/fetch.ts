/** Owns the types of what a server passes with a request, and of the function that it calls. */

/** What a server such as `Deno.serve` or `deno serve` passes on about a connection. */
export interface ConnectionInfo {
  /** The client's address. */
  readonly remoteAddr?: Deno.Addr;
}

/** A function from a web request to its response. */
export type Fetch = (
  request: Request,
  info?: ConnectionInfo,
) => Response | Promise<Response>;
