/**
 * Owns what an application consists of, and how its parts reach each other: default methods and
 * components ask the application, for which its dispatcher, variables and background work answer.
 */

import { answer } from "../handling/responders.ts";
import type { Application } from "./application.ts";
import { Autoload } from "./autoload.ts";
import type { BackgroundWork } from "../state/background.ts";
import { type Component, defaultComponents } from "./components.ts";
import type { Method } from "../callback.ts";
import { Dispatcher } from "./registry.ts";
import { Store } from "../state/layers.ts";
import { defaultMethods } from "../handling/defaults.ts";
import { guarded } from "../routing/middleware.ts";
import { noSuchMethod } from "../suggestions.ts";
import type { Match } from "../routing/router.ts";
import { current, required, type Scope } from "../state/scope.ts";
import { basePath, defaults, type Settings } from "./settings.ts";
import { run } from "../steps.ts";

/** The parts of an application; initialising it makes all of them anew. */
export class Parts {
  /** The default of each extensible method, bound to the application. */
  readonly originals: ReadonlyMap<string, Method>;
  /** The components that the framework brings. */
  readonly components: ReadonlyMap<string, Component>;
  readonly autoload: Autoload;
  readonly dispatcher: Dispatcher;
  readonly variables: Store<unknown>;
  readonly application: Application;

  /** The engine is the owner; its background work outlives the parts. */
  constructor(owner: object, work: BackgroundWork) {
    const classes = this.autoload = new Autoload(owner);
    this.dispatcher = new Dispatcher(owner, classes);
    this.variables = new Store(owner);
    const app = this.application = this.#application(owner, work);
    this.originals = new Map(
      Object.entries(defaultMethods)
        .map(([name, method]) => [name, method.bind(undefined, app)]),
    );
    const components = defaultComponents(app, owner, work, classes);
    this.components = new Map(Object.entries(components));
  }

  /** The default of a method; throws `TypeError` when there is none of that name. */
  original(name: string): Method {
    const method = this.originals.get(name);
    if (method !== undefined) return method;
    const names = this.originals.keys();
    throw noSuchMethod(name, "call the original of", names);
  }

  #application(owner: object, work: BackgroundWork): Application {
    const { dispatcher, variables } = this;
    const setting = <Key extends keyof Settings>(key: Key, scope?: Scope) =>
      (variables.get(key, scope) ?? defaults[key]) as Settings[Key];
    const component = <Type>(name: string) => (scope?: Scope) =>
      dispatcher.runTracked(name, [], scope) as Type;
    const app: Application = {
      scope: (call) => required(owner, call),
      isHandling: () => current(owner) !== undefined,
      start: (scope) => dispatcher.run("start", [], scope),
      background: (deferred) => work.add(deferred),
      call: (name, ...params) => dispatcher.runTracked(name, params),
      invoke: (match) => invoke(app, match),
      setting,
      base: (scope) => basePath(setting("framework.base_url", scope)),
      request: component("request"),
      response: component("response"),
      router: component("router"),
      view: component("view"),
    };
    return app;
  }
}

function invoke(app: Application, match: Match): unknown {
  if (match.route.middleware.length === 0) return match.call();
  const isSealed = () => app.response().sent;
  return run(guarded(match, isSealed, (outcome) => answer(app, outcome)));
}
