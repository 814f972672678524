/**
 * Owns the mark of the framework's objects. A callback or middleware may return one, at the end of a chain of
 * calls such as `app.response().header("x-a", "1")`: that is not a response.
 */

/** Marks an object of the framework. */
export const FRAMEWORK_OBJECT: unique symbol = Symbol(
  "an object of the framework",
);

/**
 * An object of the framework.
 *
 * @internal
 */
export interface FrameworkObject {
  /** @ignore */
  readonly [FRAMEWORK_OBJECT]: true;
}

export function isFrameworkObject(value: unknown): value is FrameworkObject {
  return FRAMEWORK_OBJECT in Object(value);
}
