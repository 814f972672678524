/**
 * Owns work that is kept for after the response: taking it in the default `defer`, and running it.
 */

import type { Application } from "../application/application.ts";
import { isStop, reportError } from "../errors.ts";
import type { Scope } from "../state/scope.ts";

/** Keeps work for after the response; what is deferred while a body streams runs at once. */
export function defer(app: Application, work: () => unknown): void {
  if (typeof work !== "function") {
    throw new TypeError(
      `Cannot defer ${Deno.inspect(work)}: it must be a function`,
    );
  }
  const { root } = app.scope("defer()");
  root.remember();
  (root.deferred ??= []).push(work);
  if (root.responded && !root.isDeferring) {
    startDeferred(root);
  }
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
  scope.isDeferring = true;
  const release = scope.hold();
  const deferred = scope.deferred ?? [];
  while (deferred.length > 0) {
    await new Promise((resolve) => setTimeout(resolve));
    try {
      await deferred.shift()!();
    } catch (error) {
      if (!isStop(error)) reportError(error, "in deferred work");
    }
  }
  scope.isDeferring = false;
  release();
}
