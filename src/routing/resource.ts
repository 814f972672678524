/**
 * Owns the conventional routes of a resource, such as the posts of a blog, and the method of a controller
 * that each of them calls.
 */

import type { CallbackForm } from "../callback.ts";
import { didYouMean } from "../suggestions.ts";

/** The actions of a resource: methods of its controller. */
export type ResourceAction =
  | "index"
  | "create"
  | "store"
  | "show"
  | "edit"
  | "update"
  | "destroy";

/** Which actions of a resource have routes. */
export interface ResourceOptions {
  /** Only these. */
  readonly only?: readonly ResourceAction[];
  /** All but these. */
  readonly except?: readonly ResourceAction[];
}

/** One route of a resource; its pattern is relative to the path of the resource. */
type ResourceRoute = [pattern: string, callback: CallbackForm, alias: string];

/** The routes in the order in which they are declared. */
const PATTERNS: Readonly<Record<ResourceAction, string>> = {
  index: "GET /",
  create: "GET /create",
  store: "POST /",
  show: "GET /@id",
  edit: "GET /@id/edit",
  update: "PUT|PATCH /@id",
  destroy: "DELETE /@id",
};

/** The routes of a resource; throws `TypeError` for an unknown action. */
export function resourceRoutes(
  path: string,
  controller: object | string,
  { only, except = [] }: ResourceOptions,
): ResourceRoute[] {
  const known = Object.keys(PATTERNS);
  const wrong = [...only ?? [], ...except].find((one) => !known.includes(one));
  if (wrong !== undefined) {
    const hint = didYouMean(wrong, known);
    throw new TypeError(
      `Cannot make the resource "${path}": there is no action "${wrong}"${hint}`,
    );
  }
  const name = path.split("/").findLast((part) => part !== "") ?? "";
  return (known as ResourceAction[])
    .filter((action) => only?.includes(action) ?? true)
    .filter((action) => !except.includes(action))
    .map((action) => [
      PATTERNS[action],
      typeof controller === "string"
        ? `${controller}->${action}`
        : [controller, action],
      `${name}.${action}`,
    ]);
}
