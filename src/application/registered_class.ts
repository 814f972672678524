/** Owns a registered class with its instances: one that is shared, and new ones. */

import type { Class, Method } from "../routing/callback.ts";
import { configure } from "../state/current.ts";
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

/** What keeps a shared instance. */
interface Keeper {
  instance: object | undefined;
}

/** A class that the framework brings, for a name that it asks for. */
export interface Component {
  readonly type: Class;
  /** The arguments of its constructor, and of classes that extend it. */
  readonly params: (context: Context, isNew: boolean) => readonly unknown[];
  /** What an instance is made for, and kept by; the application without this. */
  readonly scope?: "request" | "context";
}

export class RegisteredClass implements Keeper {
  instance: object | undefined = undefined;
  readonly #isOfRequest: boolean;

  /** `type` is the class, or the name of an autoloaded one; `callback` gets each new object. */
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

  /** The shared instance, made on first use; a new one for `false`. A promise for an autoloaded class. */
  call([isShared]: unknown[], context?: Context): object {
    const scope = this.component?.scope;
    const within = scope && (context ?? this.app.context(`${this.name}()`));
    if (isShared === false) return this.#make(within, true);
    const ofContext = scope === "request" ? within?.exchange : within;
    const keeper: Keeper = ofContext ?? this;
    if (keeper.instance !== undefined) return keeper.instance;
    // The application's instance is made outside of requests, so that it cannot keep one.
    const isShareable = keeper === this && !this.#isOfRequest;
    const made = keeper.instance = isShareable
      ? configure(() => this.#make(undefined, false))
      : this.#make(within, false);
    if (made instanceof Promise) {
      made.catch(() => keeper.instance = undefined); // the next call tries again
    }
    return made;
  }

  #make(context: Context | undefined, isNew: boolean): object {
    const { app, type, params, callback, component } = this;
    const construct = (found: Class): object => {
      const inherits = component !== undefined && params.length === 0 &&
        (found === component.type || found.prototype instanceof component.type);
      const given = inherits ? component.params(context!, isNew) : params;
      const instance = new found(...given);
      callback?.(instance);
      return instance;
    };
    return typeof type === "string"
      ? app.autoload.find(type).then(construct)
      : construct(type);
  }
}
