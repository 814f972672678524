/**
 * What tests of an application are made with, beside the application itself: a visitor that needs no
 * socket and no mock, and a proof that requests do not touch each other.
 *
 * @module
 */

export {
  type Door,
  Page,
  type VisitOptions,
  Visitor,
} from "./testing/visitor.ts";
export { type FieldInput, Form, type FormRequest } from "./testing/form.ts";
export { assertIsolated, type IsolationOptions } from "./testing/isolation.ts";
