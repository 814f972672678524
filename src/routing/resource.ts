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

/** Which actions of a resource get routes; all when not given. */
export interface ResourceOptions {
  /** These actions only. */
  readonly only?: readonly ResourceAction[];
  /** All actions but these. */
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

const ALL = Object.keys(PATTERNS) as ResourceAction[];

/** The routes of a resource; throws `TypeError` for an unknown action. */
export function resourceRoutes(
  path: string,
  controller: object | string,
  { only = ALL, except = [] }: ResourceOptions,
): ResourceRoute[] {
  const wrong = [...only, ...except].find((one) => !ALL.includes(one));
  if (wrong !== undefined) {
    const hint = didYouMean(wrong, ALL);
    throw new TypeError(
      `Cannot make the resource "${path}": there is no action "${wrong}"${hint}`,
    );
  }
  const name = path.split("/").findLast((part) => part !== "") ?? "";
  const callback = (action: string): CallbackForm =>
    typeof controller === "string"
      ? `${controller}->${action}`
      : [controller, action];
  return ALL
    .filter((action) => only.includes(action) && !except.includes(action))
    .map((one) => [PATTERNS[one], callback(one), `${name}.${one}`]);
}
