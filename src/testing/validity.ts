/**
 * Owns what a browser checks of the text in a field before it submits the form (HTML standard, section 4.10.21.2).
 * Only for tests.
 */

import { TEXTS } from "./held_text.ts";

/** The attributes that say what a field takes; each is undefined where the field has none. */
export interface Constraints {
  readonly type: string;
  readonly isMultiple: boolean;
  readonly pattern: string | undefined;
  readonly minlength: string | undefined;
  readonly min: string | undefined;
  readonly max: string | undefined;
  readonly step: string | undefined;
}

/** An e-mail address as the HTML standard defines it, which is less than RFC 5322 allows. */
const EMAIL =
  /^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?)*$/i;

/** What a text must be that a field does not take, or undefined when it takes it. Nothing is taken by all. */
export function faultIn(
  text: string,
  constraints: Constraints,
): string | undefined {
  const { type, isMultiple, pattern, minlength } = constraints;
  if (text === "") return undefined;
  if (type === "number" || type === "range") {
    return faultInNumber(text, constraints);
  }
  const isList = type === "email" && isMultiple;
  const texts = isList ? text.split(",") : [text];
  if (type === "email" && !texts.every((each) => EMAIL.test(each))) {
    return isList ? "e-mail addresses" : "an e-mail address";
  }
  if (type === "url" && !URL.canParse(text)) return "a whole URL";
  if (pattern !== undefined && TEXTS.includes(type)) {
    const expression = new RegExp(`^(?:${pattern})$`, "v");
    if (!texts.every((each) => expression.test(each))) {
      return `text that matches ${pattern}`;
    }
  }
  const isFree = type === "textarea" || TEXTS.includes(type);
  const least = isFree && /^\d+$/.test(minlength ?? "") ? Number(minlength) : 0;
  return text.length < least ? `at least ${least} characters long` : undefined;
}

function faultInNumber(
  text: string,
  { min, max, step }: Constraints,
): string | undefined {
  if (!isNumber(text)) return "a number";
  const value = Number(text);
  const [least, most] = [min, max].map((each) =>
    isNumber(each) ? Number(each) : undefined
  );
  if (least !== undefined && value < least) return `at least ${least}`;
  if (most !== undefined && value > most) return `at most ${most}`;
  if (step?.toLowerCase() === "any") return undefined;
  const size = isNumber(step) && Number(step) > 0 ? Number(step) : 1;
  const steps = (value - (least ?? 0)) / size;
  // Steps such as 0.1 are no binary fractions.
  const isStep = Math.abs(steps - Math.round(steps)) < 1e-6;
  return isStep ? undefined : `a multiple of ${size}`;
}

function isNumber(text: string | undefined): boolean {
  return /^-?(?:\d+|\d*\.\d+)(?:e[+-]?\d+)?$/i.test(text ?? "");
}
