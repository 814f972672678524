/**
 * Owns the registered classes: how an instance is made, which one is shared, and for how long.
 */

import type { Class } from "../callback.ts";
import { reportError } from "../errors.ts";
import { current, outside, required, type Scope } from "../state/scope.ts";

/** The instances of a class; of one that is autoloaded, the compiler knows nothing. */
export type InstanceOf<Type> = Type extends Class<infer Instance> ? Instance
  : object;

/** What an engine gains by a registered class: nothing that the compiler knows when the name is any string. */
export type Registered<Name extends string, Type> = string extends Name
  ? unknown
  : {
    [Key in Name]: (
      shared?: boolean,
    ) => Type extends Class ? InstanceOf<Type> : Promise<object>;
  };

/** How the instances of a registered class are made, and how long the shared one lives. */
export interface Registration {
  /** The class, or the name of one that is autoloaded. */
  readonly type: Class | string;
  /** The arguments of the constructor; a function makes them anew for each instance. */
  readonly params: readonly unknown[] | (() => readonly unknown[]);
  /** Runs at once after each construction, with the new object. */
  readonly callback?: ((instance: object) => unknown) | undefined;
  /**
   * The life of the shared instance: the application's, that of the request which registers the
   * class, or each request's; when not given, that of whoever registers it.
   */
  readonly lifetime?: "application" | "request" | "each request" | undefined;
}

/** A registration with the shared instance, once it is made. */
export interface Kept extends Registration {
  shared: object | Promise<object> | undefined;
}

type Made = object | Promise<object>;

/** Where classes that are known by their name come from. */
export interface Finder {
  /** Finds a class by its name. */
  find(name: string): Promise<Class>;
}

/** Makes the instances of registered classes. */
export class Loader {
  readonly #owner: object;
  readonly #classes: Finder;

  /** The engine is the owner; `classes` finds those that are autoloaded. */
  constructor(owner: object, classes: Finder) {
    this.#owner = owner;
    this.#classes = classes;
  }

  /**
   * The registration as it is kept, without an instance yet. Throws `TypeError` when the type is
   * neither a class nor the name of one.
   */
  kept(name: string, registration: Registration): Kept {
    const { type } = registration;
    const isClass = typeof type === "function" && "prototype" in type;
    if (typeof type !== "string" && !isClass) {
      const got = Deno.inspect(type);
      throw new TypeError(
        `Cannot register "${name}": it must be a class or the name of one, got ${got}`,
      );
    }
    const { lifetime = current(this.#owner) ? "request" : "application" } =
      registration;
    return { ...registration, lifetime, shared: undefined };
  }

  /** A new instance; a promise when the class is autoloaded. */
  make(name: string, registration: Registration): Made {
    const { type } = registration;
    return typeof type === "string"
      ? this.#classes.find(type)
        .then((found) => construct(name, found, registration))
      : construct(name, type, registration);
  }

  /** The shared instance, made on first use; a promise when the class is autoloaded. */
  shared(name: string, registration: Kept, scope?: Scope): Made {
    if (registration.lifetime === "each request") {
      return this.#component(name, registration, scope);
    }
    if (registration.shared !== undefined) return registration.shared;
    const make = (): Made => this.make(name, registration);
    // What the whole application shares is made outside the request, so that it cannot keep one.
    const isOutside = registration.lifetime === "application";
    const made = isOutside ? outside(make) : make();
    registration.shared = made;
    if (made instanceof Promise) {
      made.catch(() => registration.shared = undefined); // the next call tries again
    }
    return made;
  }

  #component(
    name: string,
    registration: Registration,
    scope: Scope = required(this.#owner, `${name}()`),
  ): Made {
    const known = scope.component(name);
    if (known !== undefined) return known;
    const made = this.make(name, registration);
    scope.keep(name, made);
    return made;
  }
}

function construct(
  name: string,
  type: Class,
  { params, callback }: Registration,
): object {
  const instance = new type(
    ...typeof params === "function" ? params() : params,
  );
  const outcome = callback?.(instance);
  // Only a promise is work that can fail later; a foreign thenable may begin its work when asked.
  if (outcome instanceof Promise) {
    outcome.catch((reason) =>
      reportError(reason, `in the callback of "${name}"`)
    );
  }
  return instance;
}
