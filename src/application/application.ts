/**
 * Owns the view that the default methods have of the engine: what they may ask it for, and the shape
 * that they have themselves.
 */

import type { HttpRequest } from "../request/request.ts";
import type { HttpResponse } from "../response/response.ts";
import type { Match, Router } from "../routing/router.ts";
import type { Scope } from "../state/scope.ts";
import type { Settings } from "./settings.ts";
import type { View } from "../view/view.ts";

/**
 * What the default methods need of the engine. Some of it can be asked in a scope, by whoever knows the
 * current one: to look for it again is a good part of what such a question costs.
 */
export interface Application {
  /** The scope of the current request; throws outside one, naming the call. */
  scope(call: string): Scope;
  /** Whether a request is being handled here. */
  isHandling(): boolean;
  /** Runs `start` with its filters for the current request. */
  start(scope: Scope): unknown;
  /** Keeps work that outlives its request known, for the server to wait for. */
  background(work: Promise<unknown>): void;
  /** Calls an extensible method with its filters. */
  call(name: string, ...params: unknown[]): unknown;
  /** Invokes the callback of a matched route. */
  invoke(match: Match): unknown;
  /** The value of a setting. */
  setting<Key extends keyof Settings>(key: Key, scope?: Scope): Settings[Key];
  /** The base path, without a slash at its end. */
  base(scope?: Scope): string;
  request(): HttpRequest;
  response(scope?: Scope): HttpResponse;
  router(scope?: Scope): Router;
  view(): View;
}

/** A default method; the engine is bound as its first parameter. */
// deno-lint-ignore no-explicit-any -- each method has parameters of its own
export type DefaultMethod = (app: Application, ...params: any[]) => unknown;
