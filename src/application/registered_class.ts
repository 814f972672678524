/** Owns a registered class with its instances: one that is shared, and new ones. */

import type { Class, Method } from "../callback.ts";
import { reportError } from "../report.ts";
import type { Application } from "./application.ts";
import type { Context } from "./exchange.ts";

/** The type of a class's instances; of an autoloaded class, the compiler knows no more than `object`. */
export type InstanceOf<Type> = Type extends Class<infer Made> ? Made : object;

/** What a registered class adds to the type of an engine: nothing where the name is just a `string`. */
export type Registered<Name extends string, Type> = string extends Name
  ? unknown
  : { [Key in Name]: (shared?: boolean) => MadeOf<Type> };

/** @internal */
type MadeOf<Type> = Type extends Class ? InstanceOf<Type> : Promise<object>;

/** A class that the framework registers itself, for a name that it asks for. */
export interface Component {
  readonly type: Class;
  /** The arguments of the constructor. The context is given to a component with `ofRequest`, and to no other. */
  readonly params: (
    context: Context | undefined,
    isNew: boolean,
  ) => readonly unknown[];
  /** The instance that a request keeps, made on first use; without this, the application shares one. */
  readonly ofRequest?: (
    context: Context,
    registered: RegisteredClass,
  ) => object;
  /** Whether the request has its instance. */
  readonly isInUse?: (context: Context) => boolean;
}

type Instance = object | Promise<object>;

/** A registered class with its shared instance. */
export class RegisteredClass {
  /** As of a `MappedMethod`; no class is to respond. */
  readonly responds = false;
  /** Whether a request has registered it. */
  readonly #isOfRequest: boolean;
  #shared: Instance | undefined;

  /**
   * `type` is the class, or the name of an autoloaded one; `callback` gets each new object right after its
   * construction. `component` is that of the same name, if any; it gives its arguments to its class and to those that
   * extend it.
   */
  constructor(
    readonly name: string,
    readonly type: Class | string,
    readonly params: readonly unknown[],
    readonly callback: Method | undefined,
    readonly component: Component | undefined,
    readonly app: Application,
  ) {
    this.#isOfRequest = app.context() !== undefined;
  }

  /** The shared instance, made on first use; a new one for `false`. */
  call(params: unknown[], context?: Context): Instance {
    const isNew = params[0] === false;
    const ofRequest = this.component?.ofRequest;
    if (ofRequest === undefined) {
      return isNew ? this.make() : this.#shared ?? this.#share();
    }
    const within = context ?? this.app.context(`${this.name}()`);
    return isNew ? this.make(within, true) : ofRequest(within, this);
  }

  /** A new instance; a promise when the class is autoloaded. */
  make(context?: Context, isNew = false): Instance {
    const { type } = this;
    return typeof type === "string"
      ? this.app.autoload.find(type)
        .then((found) => this.#construct(found, context, isNew))
      : this.#construct(type, context, isNew);
  }

  /** Makes the shared instance; for the application outside of requests, so that it cannot keep one. */
  #share(): Instance {
    const make = (): Instance => this.make();
    const made = this.#isOfRequest ? make() : this.app.configure(make);
    this.#shared = made;
    if (made instanceof Promise) {
      made.catch(() => this.#shared = undefined); // the next call tries again
    }
    return made;
  }

  #construct(
    type: Class,
    context: Context | undefined,
    isNew: boolean,
  ): object {
    const { params, callback, component } = this;
    const inherits = component !== undefined && params.length === 0 &&
      (type === component.type || type.prototype instanceof component.type);
    const instance = new type(
      ...inherits ? component.params(context, isNew) : params,
    );
    const result = callback?.(instance);
    // Of no other thenable: calling `then` of a query, for one, may start it.
    if (result instanceof Promise) {
      result.catch((reason) =>
        reportError(reason, `in the callback of "${this.name}"`)
      );
    }
    return instance;
  }
}
