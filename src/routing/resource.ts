/**
 * Owns the conventional routes of a resource, such as the posts of a blog: which there are, and which
 * method of a controller handles each.
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

/** Which actions of a resource are routed. */
export interface ResourceOptions {
  /** These alone. */
  readonly only?: readonly ResourceAction[];
  /** All but these. */
  readonly except?: readonly ResourceAction[];
}

/** One route of a resource, below the resource's path. */
export interface ResourceRoute {
  readonly pattern: string;
  readonly callback: CallbackForm;
  readonly alias: string;
}

/** The routes in the order in which they are declared. */
const patterns: Readonly<Record<ResourceAction, string>> = {
  index: "GET /",
  create: "GET /create",
  store: "POST /",
  show: "GET /@id",
  edit: "GET /@id/edit",
  update: "PUT|PATCH /@id",
  destroy: "DELETE /@id",
};

/** The routes of a resource; throws `TypeError` for an action that there is not. */
export function resourceRoutes(
  path: string,
  controller: object | string,
  { only, except = [] }: ResourceOptions,
): ResourceRoute[] {
  const known = Object.keys(patterns);
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
    .map((action) => ({
      pattern: patterns[action],
      callback: typeof controller === "string"
        ? `${controller}->${action}`
        : [controller, action],
      alias: `${name}.${action}`,
    }));
}
