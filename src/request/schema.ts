/**
 * Owns validating values by a schema of any library that follows the Standard Schema specification,
 * version 1, such as zod, valibot and arktype.
 */

import { asRefusal, HttpError, wrongKind } from "../errors.ts";
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

/** One problem with a value, and where it is. */
export interface SchemaIssue {
  /** The problem, in words. */
  readonly message: string;
  /** The keys that lead from the value to the part that is wrong. */
  readonly path?: readonly (PropertyKey | { key: PropertyKey })[] | undefined;
}

/** The type of the values that a schema makes. */
export type SchemaOutput<Type extends Schema> = NonNullable<
  Type["~standard"]["types"]
>["output"];

/** One issue of a {@linkcode ValidationError}. */
export interface ValidationIssue {
  /** The keys that lead to the part that is wrong; empty for the whole. */
  readonly path: readonly (string | number)[];
  /** The problem, in words. */
  readonly message: string;
}

/** Bounds what is sent back to the client that may have chosen it: an error must not multiply its request. */
const LIMITS = { issues: 100, named: 3, keys: 100, characters: 200 } as const;

/**
 * Thrown when a request does not fit a schema: an {@linkcode HttpError} with status 422. Throw one yourself for
 * what a schema cannot know, such as a name that is taken.
 *
 * Guide: [docs/forms_and_sessions.md](./docs/forms_and_sessions.md)
 *
 * @example
 * ```ts
 * import { Engine, ValidationError } from "@framework/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * app.route("/", () => {
 *   try {
 *     throw new ValidationError([{ path: ["name"], message: "is taken" }]);
 *   } catch (error) {
 *     if (!(error instanceof ValidationError)) throw error;
 *     return `Your name ${error.fields.name}`;
 *   }
 * });
 *
 * const response = await app.fetch("/");
 * assertEquals(await response.text(), "Your name is taken");
 * ```
 */
export class ValidationError extends HttpError {
  /** The name of the class. */
  override readonly name = "ValidationError";
  /** The first 100 issues. The problem details repeat them as `errors` (RFC 9457). */
  readonly issues: readonly ValidationIssue[];
  /** The first message of each field by its dotted path, such as `address.city`; `""` for the whole. */
  readonly fields: Readonly<Record<string, string | undefined>>;

  /** Keeps the first 100 issues. Keys and messages are cut after 200 characters. */
  constructor(issues: readonly SchemaIssue[]) {
    // The lists of some libraries are arrays with their own constructors, which `map()` would call.
    const errors = Array.from(issues.slice(0, LIMITS.issues), shortened);
    super(422, summary(errors, issues.length), { problem: { errors } });
    this.issues = errors;
    const fields: Record<string, string> = Object.create(null);
    for (const { path, message } of errors) fields[path.join(".")] ??= message;
    this.fields = fields;
    asRefusal(this);
  }
}

/** Validates a value. Rejects with {@linkcode ValidationError} when there are issues. */
export async function validated<Type extends Schema>(
  schema: Type,
  value: unknown,
): Promise<SchemaOutput<Type>> {
  const standard = schema?.["~standard"];
  if (typeof standard?.validate !== "function") {
    const rule = "the schema must be a Standard Schema";
    throw wrongKind("validate the request", rule, schema);
  }
  const result = await standard.validate(value);
  if (result.issues !== undefined) throw new ValidationError(result.issues);
  return result.value as SchemaOutput<Type>;
}

function shortened({ path = [], message }: SchemaIssue): ValidationIssue {
  const keys = Array.from(path.slice(0, LIMITS.keys), (part) => {
    const key = typeof part === "object" ? part.key : part;
    return typeof key === "number" ? key : cut(String(key));
  });
  return { path: keys, message: cut(String(message)) };
}

function cut(text: string): string {
  const { characters } = LIMITS;
  return text.length > characters ? `${text.slice(0, characters)}\u2026` : text;
}

/** The first issues in one line, and how many more there are. */
function summary(issues: readonly ValidationIssue[], count: number): string {
  const named = issues.slice(0, LIMITS.named).map(({ path, message }) =>
    path.length > 0 ? `${cut(path.join("."))}: ${message}` : message
  );
  const more = count - named.length;
  return named.join("; ") + (more > 0 ? `; and ${more} more` : "");
}
