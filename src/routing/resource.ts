/**
 * Owns the conventional routes of a resource, such as the posts of a blog, and the method of a controller
 * that each of them calls.
 */

import { type CallbackForm, methodsOf } from "../callback.ts";
import { wrongKind } from "../errors.ts";
import { checkOptions } from "../options.ts";
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

/** Which actions of a resource get routes, all by default, and the names of these. */
export interface ResourceOptions {
  /** These actions only. */
  readonly only?: readonly ResourceAction[];
  /** All actions but these. */
  readonly except?: readonly ResourceAction[];
  /** The first part of the aliases; the last part of the path by default. */
  readonly as?: string;
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

/**
 * The routes of a resource; throws `TypeError` for an unknown option or action, and for one that is not a method of the
 * controller.
 */
export function resourceRoutes(
  path: string,
  controller: object | string,
  options: ResourceOptions,
): ResourceRoute[] {
  const action = `make the resource "${path}"`;
  checkOptions(action, options, ["only", "except", "as"]);
  const { only = ALL, except = [], as = lastPart(path) } = options;
  const wrong = [...only, ...except].find((one) => !ALL.includes(one));
  if (wrong !== undefined) {
    const hint = didYouMean(wrong, ALL);
    throw new TypeError(
      `Cannot ${action}: there is no action "${wrong}"${hint}`,
    );
  }
  if (typeof as !== "string") {
    throw wrongKind(action, '"as" must be a string', as);
  }
  const actions = ALL.filter((one) =>
    only.includes(one) && !except.includes(one)
  );
  if (typeof controller !== "string") checkMethods(action, controller, actions);
  const callback = (action: string): CallbackForm =>
    typeof controller === "string"
      ? `${controller}->${action}`
      : [controller, action];
  return actions.map((one) => [PATTERNS[one], callback(one), `${as}.${one}`]);
}

/** Throws when a controller lacks some of the actions, naming those that it has. */
function checkMethods(
  action: string,
  controller: object,
  actions: readonly ResourceAction[],
): void {
  const methods = methodsOf(controller);
  const missing = actions.filter((one) => !methods.includes(one));
  if (missing.length === 0) return;
  const others = methods.filter((one) => !ALL.some((known) => known === one));
  const hints = missing.map((one) => didYouMean(one, others));
  const hint = hints.find((one) => one !== "") ?? "";
  const listed = (names: readonly string[]) =>
    names.map((name) => `"${name}"`).join(", ");
  const had = actions.filter((one) => methods.includes(one));
  throw new TypeError(
    `Cannot ${action}: the controller does not have ${
      listed(missing)
    }${hint} ` +
      `(to leave out the missing actions, pass only: [${listed(had)}])`,
  );
}

function lastPart(path: string): string {
  return path.split("/").findLast((part) => part !== "") ?? "";
}
