/** Owns the addresses of debug itself, such as that of its style: all below `/.framework/` of an application. */

import type { Exchange } from "../application/exchange.ts";

/** The folder of these addresses, below the base. */
const FOLDER = "/.framework/";

/** The name in the folder that a request asks for, such as `live`; undefined for any other path. */
export function nameIn({ pathBelowBase: path }: Exchange): string | undefined {
  return path.startsWith(FOLDER) ? path.slice(FOLDER.length) : undefined;
}

/** The path of an address as clients see it: the application under debug may be mounted in another one. */
export function debugPath(exchange: Exchange, name: string): string {
  const { nesting } = exchange;
  const outermost = nesting.findLast(({ plan }) => plan.debug) ?? exchange;
  const { pathBelowBase: below, plan: { strippedBase } } = outermost;
  const path = nesting.at(-1)!.target.path;
  const isRoot = below === "/" && !path.endsWith("/");
  const root = isRoot ? path : path.slice(0, path.length - below.length);
  return (path.endsWith(below) || isRoot ? root : strippedBase) + FOLDER + name;
}
