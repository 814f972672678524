/** Owns what every request needs of an application, looked up once. */

import { basePath } from "../base.ts";
import type { Routes } from "../routing/routes.ts";
import { type DebugTools, debugTools, loadDebugTools } from "./debug_tools.ts";
import type { MappedMethod } from "./mapped_method.ts";
import type { Settings } from "./settings.ts";

/**
 * Compiled from what was declared. What changes a setting, a method or a class drops the plan, and the next request
 * compiles a new one. A request that changes one of these for itself gets its own plan.
 */
export class Plan {
  /** The path of `framework.base_url`, without a slash at its end; "" for the whole site. See `base.ts`. */
  readonly strippedBase: string;
  /** Whether `src/debug/` is used: `debug` has it then or, while it is undefined, `loadDebug()` returns it. */
  readonly isDebugging: boolean;
  /** The tools of `src/debug/`, once they were loaded; undefined without debug. */
  debug: DebugTools | undefined;
  /** The routes of the router, once they were asked for; undefined while a mapped method returns the router. */
  routes: Routes | undefined = undefined;

  /** `start` and `send` are undefined for the default ones without filters. */
  constructor(
    readonly settings: Readonly<Settings>,
    readonly start: MappedMethod | undefined,
    readonly send: MappedMethod | undefined,
  ) {
    this.strippedBase = basePath(settings["framework.base_url"]);
    this.isDebugging = settings["framework.debug"];
    this.debug = this.isDebugging ? debugTools : undefined;
  }

  /** What `src/debug/` brings, loaded if it was not. Ask `isDebugging` before. */
  async loadDebug(): Promise<DebugTools> {
    return this.debug = await loadDebugTools();
  }
}
