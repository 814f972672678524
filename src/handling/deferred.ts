/**
 * Owns work for after the response: the default `defer`, which keeps it, and running it.
 */

import type { Application } from "../application/application.ts";
import { reportError, wrongKind } from "../errors.ts";
import type { Scope } from "../state/scope.ts";

/** Keeps work for after the response; what is deferred while a body streams runs at once. */
export function defer(app: Application, work: () => unknown): void {
  if (typeof work !== "function") {
    throw wrongKind("defer work", "it must be a function", work);
  }
  const { root } = app.scope("defer()");
  root.remember();
  if (root.deferred !== undefined) return void root.deferred.push(work);
  root.deferred = [work];
  if (root.responded) startDeferred(root);
}

/** Runs deferred work. Servers that drain wait for it, also those of engines around this one. */
export function startDeferred(scope: Scope): void {
  const work = runDeferred(scope);
  for (const { owner: { deferred } } of scope.nesting) {
    deferred.add(work);
    work.then(() => deferred.delete(work));
  }
}

/**
 * Runs each piece of deferred work in a turn of its own, so that work that defers more work does not keep
 * other requests waiting. Errors are logged: it is too late for a response.
 */
async function runDeferred(scope: Scope): Promise<void> {
  const { deferred = [] } = scope;
  const release = scope.hold();
  while (deferred.length > 0) {
    await new Promise((resolve) => setTimeout(resolve));
    try {
      await deferred.shift()!();
    } catch (error) {
      reportError(error, "in deferred work");
    }
  }
  scope.deferred = undefined;
  release();
}
