/**
 * Owns work that is kept for after the response: taking it in the default `defer`, and running it.
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

/** Runs deferred work, for which a server that drains waits: that of an engine around this one, too. */
export function startDeferred(scope: Scope): void {
  const work = runDeferred(scope);
  for (const { owner: { deferred } } of scope.nesting) {
    deferred.add(work);
    work.then(() => deferred.delete(work));
  }
}

/**
 * Runs deferred work once the response is on its way, each in a turn of its own: work that defers more
 * must not keep others from theirs. Its errors can only be logged.
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
