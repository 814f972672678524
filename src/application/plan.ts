/**
 * Owns the plan: what every request needs of the application, resolved once. A declaration drops it, and
 * the next request compiles it anew; a request that declares something for itself has a plan of its own.
 */

import type { Router } from "../routing/router.ts";
import type { Scope } from "../state/scope.ts";
import type { Application } from "./application.ts";
import { MappedMethod, RegisteredClass } from "./registry.ts";
import { basePath, defaults, type Settings } from "./settings.ts";

/** What every request needs. */
export interface Plan {
  /** The value of every setting. */
  readonly settings: Readonly<Settings>;
  /** The path of the application, without a slash at its end. */
  readonly base: string;
  /** The mapped or filtered `start`; undefined for the default. */
  readonly start: MappedMethod | undefined;
  /** The mapped or filtered `send`; undefined for the default. */
  readonly send: MappedMethod | undefined;
  /** The router, once it was asked for; never kept where a mapped method makes it. */
  router: Router | undefined;
  readonly keepsRouter: boolean;
  /** Whether the application makes responses of its own. */
  readonly hasOwnResponse: boolean;
  /** Whether each request needs an object of its response: that may do more, or note who seals it. */
  readonly needsResponse: boolean;
}

/** Compiles the plan for a request, or without one for all that declare nothing. */
export function compilePlan(app: Application, scope?: Scope): Plan {
  const settings = settingsOf(app, scope);
  const hasOwnResponse = makesOwnResponse(app, scope);
  return {
    settings,
    base: basePath(settings["framework.base_url"]),
    start: changedMethod(app, "start", scope),
    send: changedMethod(app, "send", scope),
    router: undefined,
    keepsRouter: app.registry.find("router", scope) instanceof RegisteredClass,
    hasOwnResponse,
    needsResponse: hasOwnResponse || settings["framework.debug"],
  };
}

function makesOwnResponse(app: Application, scope?: Scope): boolean {
  const entry = app.registry.find("response", scope);
  return !(entry instanceof RegisteredClass) ||
    entry.registration.callback !== undefined ||
    !app.isComponent("response", entry.registration.type);
}

function settingsOf(app: Application, scope?: Scope): Settings {
  const settings: Record<string, unknown> = { ...defaults };
  for (const name in settings) {
    settings[name] = app.variables.get(name, scope) ?? settings[name];
  }
  return settings as unknown as Settings;
}

function changedMethod(
  app: Application,
  name: string,
  scope?: Scope,
): MappedMethod | undefined {
  const entry = app.registry.find(name, scope);
  return entry instanceof MappedMethod && !entry.isPlain ? entry : undefined;
}
