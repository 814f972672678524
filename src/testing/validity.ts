/**
 * Owns what a browser checks of the text in a field before it submits the form (HTML standard, section 4.10.21.2).
 * Only for tests.
 */

import { dayOf, TEXTS } from "./held_text.ts";

/** The attributes that say what a field takes; each is undefined where the field has none. */
export interface Constraints {
  readonly type: string;
  readonly isMultiple: boolean;
  readonly pattern: string | undefined;
  readonly minlength: string | undefined;
  readonly min: string | undefined;
  readonly max: string | undefined;
  readonly step: string | undefined;
  /** The value that the page gives the field. */
  readonly value: string | undefined;
}

/** An e-mail address as the HTML standard defines it, which is less than RFC 5322 allows. */
const EMAIL =
  /^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?)*$/i;

/** What the text of a field counts as, for the types with a `min`, a `max` and a `step`; the days of a date. */
const NUMBERS: Readonly<
  Record<string, (text: string) => number | undefined>
> = { number: parseNumber, range: parseNumber, date: dayOf };

/** What a text must be that a field does not take, or undefined when it takes it. Nothing is taken by all. */
export function faultIn(
  text: string,
  constraints: Constraints,
): string | undefined {
  const { type, isMultiple, pattern, minlength } = constraints;
  if (text === "") return undefined;
  const numberOf = NUMBERS[type];
  if (numberOf !== undefined) {
    return faultInOrder(text, constraints, numberOf);
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

function faultInOrder(
  text: string,
  { min, max, step, value }: Constraints,
  numberOf: (text: string) => number | undefined,
): string | undefined {
  const number = numberOf(text);
  if (number === undefined) return "a number";
  const [least, most] = [min, max].map((each) => numberOf(each ?? ""));
  if (least !== undefined && number < least) return `at least ${min}`;
  if (most !== undefined && number > most) return `at most ${max}`;
  if (step?.toLowerCase() === "any") return undefined;
  const given = parseNumber(step ?? "") ?? 0;
  const size = given > 0 ? given : 1;
  const base = least === undefined ? value : min; // where the steps begin
  const start = numberOf(base ?? "") ?? 0;
  const steps = (number - start) / size;
  // Steps such as 0.1 are no binary fractions.
  if (Math.abs(steps - Math.round(steps)) < 1e-6) return undefined;
  const multiple = `a multiple of ${size}`;
  return start === 0 ? multiple : `${base} plus ${multiple}`;
}

function parseNumber(text: string): number | undefined {
  const isNumber = /^-?(?:\d+|\d*\.\d+)(?:e[+-]?\d+)?$/i.test(text);
  return isNumber ? Number(text) : undefined;
}
