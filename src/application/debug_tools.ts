/** Owns loading `src/debug/`, which helps at the desk: for the first request under `framework.debug`, never without. */

import type { Reply } from "../response/reply.ts";
import { type MaybePromise, withoutRequest } from "../waiting.ts";
import type { Exchange } from "./exchange.ts";

/** What the page of an error shows besides its message. */
export interface Details {
  /** For the page as HTML. */
  readonly html: string;
  /** Members of the problem details. */
  readonly problem: Readonly<Record<string, unknown>>;
}

/** What `src/debug/` brings. */
export interface DebugTools {
  /** Handles a request by `handle`, times it, and adds live reload. */
  handle(
    exchange: Exchange,
    handle: () => MaybePromise<Response>,
  ): MaybePromise<Response>;

  /** What the page of an error shows; without one, that of a path that was not found. */
  detailsOf(exchange: Exchange, error?: Error): Details;

  /** Notes which line has sealed a reply. */
  sealed(reply: Reply): void;

  /** Reports a call that responds although the reply is sealed, with both lines. */
  ignored(reply: Reply, method: string): void;
}

let loaded: DebugTools | undefined;

/** The tools; a promise when they are not loaded yet. */
export function debugTools(): MaybePromise<DebugTools> {
  return loaded ??
    withoutRequest(() => import("../debug/mod.ts"))
      .then(({ tools }) => loaded = tools);
}
