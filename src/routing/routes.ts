/**
 * Owns the routes in which a request is searched: those of the application, followed by its own. Each of the two is
 * searched in `tree.ts`.
 */

import { type Layer, Layered, type LayerSource } from "../state/layer.ts";
import type { Match } from "./match.ts";
import type { Path } from "./path.ts";
import { Tree } from "./tree.ts";

/** Pass each method the layer of the request where that is known, null for none; without it, it is looked up. */
export class Routes extends Layered<Tree> {
  constructor(source?: LayerSource) {
    super(() => new Tree(), source);
  }

  /** The trees of the application and, if it has declared routes, of the current request. */
  get trees(): Tree[] {
    const ofRequest = this.ofRequest();
    return ofRequest ? [this.shared, ofRequest] : [this.shared];
  }

  /** The first match of a path and a method. */
  first(path: Path, method: string, layer?: Layer | null): Match | undefined {
    return this.shared.find(path, method) ??
      this.ofRequest(layer)?.find(path, method);
  }

  /** The match of the route behind another one, in the order of declaration, for the same path and method. */
  next(
    { declaration, path, method }: Match,
    layer?: Layer | null,
  ): Match | undefined {
    const ofRequest = this.ofRequest(layer);
    if (!this.shared.has(declaration)) {
      return ofRequest?.find(path, method, declaration);
    }
    return this.shared.find(path, method, declaration) ??
      ofRequest?.find(path, method);
  }

  /** Whether a route of any method matches a path. */
  isTaken(path: Path, layer?: Layer | null): boolean {
    const match = this.shared.find(path) ?? this.ofRequest(layer)?.find(path);
    return match !== undefined;
  }

  /** The methods named by the routes for a path, with HEAD where GET is one; routes for every method name none. */
  methods(path: Path, layer?: Layer | null): string[] {
    const methods = new Set([
      ...this.shared.methods(path),
      ...this.ofRequest(layer)?.methods(path) ?? [],
    ]);
    if (methods.has("GET")) methods.add("HEAD");
    return [...methods];
  }
}
