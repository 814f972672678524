/** Owns the warnings of an application that begins to serve. */

import type { Application } from "../application/application.ts";
import { defaultSettings } from "../application/settings.ts";
import { report, reportError } from "../report.ts";
import { withoutRequest } from "../without_request.ts";

const warned = new WeakSet<Application>();

/** Warns of mistakes in an application, once. */
export function warn(app: Application): void {
  if (warned.has(app)) return;
  warned.add(app);
  withoutRequest(() => warningsOf(app)).then(
    (warnings) => warnings.forEach((each) => report(`Warning: ${each}`)),
    (error) => reportError(error, "while checking the routes"),
  );
}

/** The warnings for routes and for variables; a mapped `router` may have no `check()`. */
async function warningsOf(app: Application): Promise<readonly string[]> {
  const router = app.router();
  const check = typeof router?.check === "function";
  const ofRoutes = check ? await router.check() : [];
  const names = [...app.variables.shared.keys()];
  return [...ofRoutes, ...names.flatMap(warningsOfVariable)];
}

/** A variable whose name is a setting's without its prefix, or with another one. */
function warningsOfVariable(name: string): string[] {
  if (name in defaultSettings) return [];
  const meant = [`framework.${name}`, name.replace(/^\w+\./, "framework.")]
    .find((setting) => setting in defaultSettings);
  // A single word, such as "debug", may well be the application's own.
  if (meant === undefined || !/[._]/.test(name)) return [];
  return [`The variable "${name}" is not a setting: did you mean "${meant}"?`];
}
