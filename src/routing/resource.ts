/** Owns the conventional routes of a resource, such as the posts of a blog. */

import type { RouteArguments, Taking } from "./arguments.ts";
import { type CallbackForm, methodsOf } from "./callback.ts";
import { wrongKind } from "../errors.ts";
import { checkOptions } from "../options.ts";
import { didYouMean } from "../options.ts";

/** The actions of a resource: methods of its controller. */
export type ResourceAction =
  | "index"
  | "create"
  | "store"
  | "show"
  | "edit"
  | "update"
  | "destroy";

/** The actions as methods, which get the parameters of the path, the last three and `show` the `id` after them. */
type Actions<Path extends string> =
  & { [Action in "index" | "create" | "store"]?: Taking<RouteArguments<Path>> }
  & {
    [Action in "show" | "edit" | "update" | "destroy"]?: Taking<
      RouteArguments<`${Path}/@id`>
    >;
  };

/** The controller of a resource: an object or a class with the actions as methods, or the name of an autoloaded class. */
export type Controller<Path extends string> =
  | Actions<Path>
  // deno-lint-ignore no-explicit-any -- its parameters are its own
  | (new (...params: any[]) => Actions<Path>)
  | string;

/** Which actions of a resource get routes, all by default, and the names of these. */
export interface ResourceOptions {
  /** These actions only. */
  readonly only?: readonly ResourceAction[];
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

/** Throws `TypeError` for an unknown option or action, and for one that is not a method of the controller. */
export function resourceRoutes(
  path: string,
  controller: object | string,
  options: ResourceOptions,
): ResourceRoute[] {
  const action = `make the resource "${path}"`;
  checkOptions(action, options, ["only", "as"]);
  const last = path.split("/").findLast((part) => part !== "") ?? "";
  const { only = ALL, as = last } = options;
  const wrong = only.find((one) => !ALL.includes(one));
  if (wrong !== undefined) {
    const hint = didYouMean(wrong, ALL);
    throw new TypeError(
      `Cannot ${action}: there is no action "${wrong}"${hint}`,
    );
  }
  if (typeof as !== "string") {
    throw wrongKind(action, '"as" must be a string', as);
  }
  const actions = ALL.filter((one) => only.includes(one));
  if (typeof controller !== "string") checkMethods(action, controller, actions);
  return actions.map((one) => [
    PATTERNS[one],
    typeof controller === "string"
      ? `${controller}->${one}`
      : [controller, one],
    `${as}.${one}`,
  ]);
}

/** Throws when a controller lacks some of the actions, naming those that it has. */
function checkMethods(
  action: string,
  controller: object,
  actions: readonly ResourceAction[],
): void {
  const methods = methodsOf(controller);
  const [missing, had] = [false, true].map((has) =>
    actions.filter((one) => methods.includes(one) === has)
  );
  if (missing!.length === 0) return;
  const others = methods.filter((one) => !(one in PATTERNS));
  const hint = missing!.map((one) => didYouMean(one, others)).join("");
  const listed = (names: readonly string[] = []) =>
    names.map((name) => `"${name}"`).join(", ");
  throw new TypeError(
    `Cannot ${action}: the controller does not have ${
      listed(missing)
    }${hint} ` +
      `(to leave out the missing actions, pass only: [${listed(had)}])`,
  );
}
