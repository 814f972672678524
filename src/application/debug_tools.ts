/**
 * Owns loading `src/debug/`, which helps during development: for the first request under `framework.debug`, and never
 * without. `DebugTools` lists what it does for the folders below it.
 */

import type { Reply } from "../response/reply.ts";
import { withoutRequest } from "../without_request.ts";
import type { MaybePromise, Waiting } from "../steps.ts";
import type { TemplateTools } from "../view/view.ts";
import type { Application } from "./application.ts";
import type { Context, Exchange } from "./exchange.ts";

/** What the page of an error shows under debug. */
export interface Details {
  /** For the page as HTML. */
  readonly html: string;
  /** Members of the problem details. */
  readonly problem: Readonly<Record<string, unknown>>;
}

/** What `src/debug/` brings. */
export interface DebugTools extends TemplateTools {
  /** A reply that reports calls which come after the seal. */
  readonly Reply: typeof Reply;

  /** Handles a request by `handle`, times it, and adds live reload. */
  handle(
    context: Context,
    handle: (context: Context) => MaybePromise<Response>,
  ): MaybePromise<Response>;

  /** Calls `start`, and notes how long that and the body took, for a request that `handle` times. */
  timedStart(context: Context, start: (context: Context) => Waiting): Waiting;

  /** What the page of that status shows; without an error, the page of a path that was not found. */
  detailsOf(
    exchange: Exchange,
    status: number,
    error?: Error,
  ): Promise<Details>;

  /** An error with its causes for the terminal. */
  errorText(error: Error): string;

  /**
   * Wraps what fetches the text of a template: times it, and names the line that asked for a missing template, which is
   * the one that runs when this is called.
   */
  timedRender(
    exchange: Exchange,
    file: string,
    fetch: () => Promise<string>,
  ): () => Promise<string>;

  /** Warns, once, of mistakes in an application that begins to serve. */
  warn(app: Application): void;
}

/** The tools, once they were loaded. Only `plan.ts` reads this, and calls `loadDebugTools()`. */
export let debugTools: DebugTools | undefined;

/** Loads the tools. */
export async function loadDebugTools(): Promise<DebugTools> {
  if (debugTools !== undefined) return debugTools;
  const { tools } = await withoutRequest(() => import("../debug/mod.ts"));
  return debugTools = tools;
}
