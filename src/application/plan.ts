/**
 * Owns the plan: what every request needs of the application, looked up once. A declaration drops it, and
 * the next request compiles it anew; a request that declares something for itself has a plan of its own.
 */

import { HttpResponse } from "../response/response.ts";
import type { Router } from "../routing/router.ts";
import type { CompiledPlan, Scope } from "../state/scope.ts";
import type { Store } from "../state/layers.ts";
import { MappedMethod, RegisteredClass } from "./callable.ts";
import { basePath, defaults, type Settings } from "./settings.ts";

/** What every request needs. */
export interface Plan extends CompiledPlan {
  /** The value of every setting. */
  readonly settings: Readonly<Settings>;
  /** The mapped or filtered `start`; undefined for the default. */
  readonly start: MappedMethod | undefined;
  /** The mapped or filtered `send`; undefined for the default. */
  readonly send: MappedMethod | undefined;
  /** The router, once it was asked for; never kept where a mapped method makes it. */
  router: Router | undefined;
}

/** Compiles the plan for a request, or without one for all that declare nothing. */
export function compilePlan(
  callables: Store<MappedMethod | RegisteredClass>,
  variables: Store<unknown>,
  scope?: Scope,
): Plan {
  const settings: Settings & Record<string, unknown> = { ...defaults };
  for (const name in defaults) {
    settings[name] = variables.get(name, scope) ?? settings[name];
  }
  const changed = (name: string): MappedMethod | undefined => {
    const method = callables.get(name, scope);
    return method instanceof MappedMethod && !method.isPlain
      ? method
      : undefined;
  };
  const response = callables.get("response", scope);
  const { type, params, callback } = response instanceof RegisteredClass
    ? response.registration
    : {};
  const isUsual = type === HttpResponse && params === "scope" && !callback;
  return {
    settings,
    base: basePath(settings["framework.base_url"]),
    trustsProxy: settings["framework.trust_proxy"],
    start: changed("start"),
    send: changed("send"),
    router: undefined,
    needsResponse: !isUsual || settings["framework.debug"],
  };
}
