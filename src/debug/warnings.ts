/** Owns the warnings of an application that begins to serve. */

import type { Application } from "../application/application.ts";
import { report, reportError } from "../errors.ts";
import { withoutRequest } from "../state/without_request.ts";

const warned = new WeakSet<Application>();

/** Warns of mistakes in an application, once. */
export function warn(app: Application): void {
  if (warned.has(app)) return;
  warned.add(app);
  withoutRequest(() => warningsOf(app)).then(
    (warnings) => warnings.forEach((each) => report(`Warning: ${each}`)),
    (error) => reportError(error, "while the routes were checked"),
  );
}

/** The router's own warnings; a mapped `router` may have no `check()`. */
async function warningsOf(app: Application): Promise<readonly string[]> {
  const router = app.router();
  return typeof router?.check === "function" ? await router.check() : [];
}
