/** Owns the types of applications that can be mounted; `handling/mount.ts` hands requests over to them. */

import type { Fetch } from "../fetch.ts";
import type { MaybePromise } from "../steps.ts";

/** Another application: a function, or an object with such a `fetch`, such as an engine. */
export type Mountable = Fetch | { readonly fetch: Fetch };

/**
 * Makes the callback of the route under which something is mounted, to be declared with `passRoute`. Throws
 * `TypeError` when what is to be mounted has no `fetch`.
 */
export type Mounting = (
  prefix: string,
  mounted: Mountable,
) => (...params: unknown[]) => MaybePromise<Response | undefined>;
