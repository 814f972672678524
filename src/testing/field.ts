/**
 * Owns a field of a form: what it holds, what it can be filled with, and what a browser checks of it (HTML standard,
 * sections 4.10.5 and 4.10.21). Only for tests.
 */

import {
  attribute,
  type Element,
  elementsBelow,
  hasAttribute,
  isDisabled,
  rawText,
  textOf,
} from "./elements.ts";

/** What is sent for a field: nothing when the list is empty. */
export type Values = readonly (string | File)[];

/** The types of inputs that are buttons. */
const BUTTONS: readonly string[] = ["submit", "button", "reset", "image"];

/** Whether an element is a field that a form sends. */
export function isField(element: Element): boolean {
  return ["input", "select", "textarea"].includes(element.tagName) &&
    Boolean(attribute(element, "name")) &&
    !BUTTONS.includes(typeOf(element)) && !isDisabled(element);
}

/** What a field is: the type of an input, or else its tag. */
export function typeOf(field: Element): string {
  if (field.tagName !== "input") return field.tagName;
  return attribute(field, "type")?.toLowerCase() ?? "text";
}

/** Whether several values may be chosen for a field, or for the fields of its name. */
export function takesList(field: Element): boolean {
  return typeOf(field) === "checkbox" || hasAttribute(field, "multiple");
}

/** The choices of a `select`, a checkbox or a radio button; undefined for other fields. */
function choicesOf(field: Element): Choice[] | undefined {
  switch (typeOf(field)) {
    case "select":
      return elementsBelow(field)
        .filter((each) => each.tagName === "option" && !isDisabled(each))
        .map((each) => [
          attribute(each, "value") ?? textOf(each),
          hasAttribute(each, "selected"),
        ]);
    case "checkbox":
    case "radio":
      return [[
        attribute(field, "value") ?? "on",
        hasAttribute(field, "checked"),
      ]];
  }
}

type Choice = readonly [value: string, isChosen: boolean];

/** What a field holds when its page is opened. */
export function initialValues(field: Element): Values {
  const type = typeOf(field);
  if (type === "file") return [];
  if (type === "textarea") return [rawText(field)];
  const choices = choicesOf(field);
  if (choices === undefined) return [attribute(field, "value") ?? ""];
  const chosen = choices.filter(([, isChosen]) => isChosen);
  const isDropDown = type === "select" && !takesList(field);
  const shown = isDropDown ? [chosen.at(-1) ?? choices[0] ?? []] : chosen;
  return shown.flatMap(([value = []]) => value);
}

/** What a field holds when it is filled with a value; undefined when it does not accept it. */
export function filledWith(
  field: Element,
  value: string | boolean | File,
): Values | undefined {
  const type = typeOf(field);
  if (value instanceof File) return type === "file" ? [value] : undefined;
  const choices = choicesOf(field)?.map(([value]) => value);
  if (typeof value === "boolean") {
    if (type !== "checkbox") return undefined;
    return value ? choices : [];
  }
  const isTooLong = value.length > limitOf(field, "maxlength");
  const isAccepted = choices?.includes(value) ??
    (type !== "file" && !isTooLong);
  return isAccepted ? [value] : undefined;
}

/** An e-mail address, as browsers take it: less than RFC 5322 allows. */
const EMAIL = /^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z\d-]+(?:\.[a-z\d-]+)*$/i;

/** What a text would have to be for a browser to submit it in a field; undefined when it does. */
export function faultIn(field: Element, text: string): string | undefined {
  if (text === "") return undefined;
  const type = typeOf(field);
  if (type === "email" && !EMAIL.test(text)) return "an e-mail address";
  const pattern = attribute(field, "pattern");
  if (pattern && !new RegExp(`^(?:${pattern})$`, "v").test(text)) {
    return `text that matches ${pattern}`;
  }
  const shortest = limitOf(field, "minlength");
  if (text.length < shortest) return `at least ${shortest} characters long`;
  if (type !== "number") return undefined;
  const [least, most] = [limitOf(field, "min"), limitOf(field, "max")];
  if (Number.isNaN(Number(text))) return "a number";
  if (Number(text) < least) return `at least ${least}`;
  return Number(text) > most ? `at most ${most}` : undefined;
}

/** A limit that a field has; without one `NaN`, than which nothing is less or more. */
function limitOf(field: Element, name: string): number {
  return Number(attribute(field, name) ?? NaN);
}
