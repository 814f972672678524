/**
 * Owns validating values by a schema of any library that follows the Standard Schema specification,
 * version 1, such as zod, valibot and arktype.
 */

import { HttpError, wrongKind } from "../errors.ts";
import type { MaybePromise } from "../steps.ts";

/** A schema, which validates `Input` and makes `Output` of it. */
export interface Schema<Input = unknown, Output = Input> {
  /** The members that the specification requires. */
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { input: Input; output: Output } | undefined;
    validate(value: unknown): MaybePromise<SchemaResult<Output>>;
  };
}

/** The result of validating a value. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** One fault of a value, and its place. */
export interface SchemaIssue {
  /** The fault, in words for people. */
  readonly message: string;
  /** The keys that lead from the value to the part that is wrong. */
  readonly path?: readonly (PropertyKey | { key: PropertyKey })[] | undefined;
}

/** The type of the values that a schema makes. */
export type SchemaOutput<Type extends Schema> = NonNullable<
  Type["~standard"]["types"]
>["output"];

/**
 * Validates a value. Rejects with {@linkcode HttpError} 422 when there are issues; its problem details
 * (RFC 9457) list the `path` and the `message` of each under `errors`.
 */
export async function validated<Type extends Schema>(
  schema: Type,
  value: unknown,
): Promise<SchemaOutput<Type>> {
  const validate = schema?.["~standard"]?.validate;
  if (typeof validate !== "function") {
    const rule = "the schema must be a Standard Schema";
    throw wrongKind("validate the request", rule, schema);
  }
  const result = await validate(value);
  if (result.issues === undefined) return result.value as SchemaOutput<Type>;
  const errors = result.issues.map(({ message, path = [] }) => ({
    path: path.map(keyOf),
    message,
  }));
  const messages = errors.map(({ path, message }) =>
    path.length > 0 ? `${path.join(".")}: ${message}` : message
  );
  throw new HttpError(422, messages.join("; "), { problem: { errors } });
}

function keyOf(part: PropertyKey | { readonly key: PropertyKey }) {
  const key = typeof part === "object" ? part.key : part;
  return typeof key === "symbol" ? String(key) : key;
}
