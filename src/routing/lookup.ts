/**
 * Owns finding the routes that match a request: those of the application, followed by those of the request, which are
 * in its layer. Each is searched in `tree.ts`.
 */

import type { Layer, Layered } from "../state/layer.ts";
import type { Match } from "./match.ts";
import type { Path } from "./path.ts";
import type { Tree } from "./tree.ts";

/** The first route for a method and a path. */
export function firstMatch(
  routes: Layered<Tree>,
  method: string,
  path: Path,
  layer: Layer | null,
): Match | undefined {
  return routes.shared.find(path, method) ??
    routes.ofRequest(layer)?.find(path, method);
}

/** The next route in the order of declaration that matches the same method and path. */
export function nextMatch(
  routes: Layered<Tree>,
  { declaration, path, method }: Match,
  layer: Layer | null,
): Match | undefined {
  const ofRequest = routes.ofRequest(layer);
  if (!routes.shared.has(declaration)) {
    return ofRequest?.find(path, method, declaration);
  }
  return routes.shared.find(path, method, declaration) ??
    ofRequest?.find(path, method);
}

/** Whether a route of any method matches a path. */
export function isTaken(
  routes: Layered<Tree>,
  path: Path,
  layer: Layer | null,
): boolean {
  const match = routes.shared.find(path) ?? routes.ofRequest(layer)?.find(path);
  return match !== undefined;
}

/** The methods named by the routes for a path, with HEAD where GET is one; routes for every method name none. */
export function namedMethods(
  routes: Layered<Tree>,
  path: Path,
  layer: Layer | null,
): string[] {
  const methods = new Set([
    ...routes.shared.methods(path),
    ...routes.ofRequest(layer)?.methods(path) ?? [],
  ]);
  if (methods.has("GET")) methods.add("HEAD");
  return [...methods];
}
