/**
 * Owns finding the routes of a router that match a request: those of the application, followed by those of the
 * request, which are in its layer. Each is searched in `tree.ts`.
 */

import type { Layer } from "../state/layer.ts";
import type { Match } from "./match.ts";
import type { Path } from "./path.ts";
import { layersOf, type Router } from "./router.ts";

/** The first route for a method and a path. */
export function firstMatch(
  router: Router,
  method: string,
  path: Path,
  layer: Layer | null,
): Match | undefined {
  const layers = layersOf(router);
  return layers.shared.find(path, method) ??
    layers.ofRequest(layer)?.find(path, method);
}

/** The next route in the order of declaration that matches the same method and path. */
export function nextMatch(
  router: Router,
  { declaration, path, method }: Match,
  layer: Layer | null,
): Match | undefined {
  const layers = layersOf(router);
  const ofRequest = layers.ofRequest(layer);
  if (!layers.shared.has(declaration)) {
    return ofRequest?.find(path, method, declaration);
  }
  return layers.shared.find(path, method, declaration) ??
    ofRequest?.find(path, method);
}

/** Whether a route of any method matches a path. */
export function isTaken(
  router: Router,
  path: Path,
  layer: Layer | null,
): boolean {
  const layers = layersOf(router);
  const match = layers.shared.find(path) ?? layers.ofRequest(layer)?.find(path);
  return match !== undefined;
}

/** The methods named by the routes for a path, with HEAD where GET is one; routes for every method name none. */
export function namedMethods(
  router: Router,
  path: Path,
  layer: Layer | null,
): string[] {
  const layers = layersOf(router);
  const methods = new Set([
    ...layers.shared.methods(path),
    ...layers.ofRequest(layer)?.methods(path) ?? [],
  ]);
  if (methods.has("GET")) methods.add("HEAD");
  return [...methods];
}
