/** Owns reading the HTML of a page: its elements, their attributes and texts. Only for tests. */

import { type DefaultTreeAdapterTypes, parse } from "npm:parse5@^8.1.1";

export type Element = DefaultTreeAdapterTypes.Element;
type Node = DefaultTreeAdapterTypes.Node;

/** The elements of a page, in its order. */
export function parseElements(page: string): Element[] {
  return elementsBelow(parse(page));
}

/** The elements below a node, in the order of the page. */
export function elementsBelow(node: Node): Element[] {
  if (!("childNodes" in node)) return [];
  return node.childNodes.flatMap((child) =>
    "tagName" in child ? [child, ...elementsBelow(child)] : []
  );
}

/** The value of an attribute. */
export function attribute(element: Element, name: string): string | undefined {
  return element.attrs.find((each) => each.name === name)?.value;
}

export function hasAttribute(element: Element, name: string): boolean {
  return attribute(element, name) !== undefined;
}

/** The text below a node, its white space folded. */
export function textOf(node: Node): string {
  return rawText(node).replace(/\s+/g, " ").trim();
}

/** The text below a node as it is. */
export function rawText(node: Node): string {
  if ("value" in node) return node.value;
  return "childNodes" in node ? node.childNodes.map(rawText).join("") : "";
}

/** The form that an element belongs to: that whose id its attribute `form` names, or that which it is in. */
export function formOf(
  element: Element,
  page: readonly Element[],
): Element | undefined {
  const id = attribute(element, "form");
  const forms = id === undefined ? outwards(element) : page;
  return forms.find((each) =>
    each.tagName === "form" &&
    (id === undefined || attribute(each, "id") === id)
  );
}

/** Whether an element is disabled, perhaps by the `fieldset` or `optgroup` that it is in. */
export function isDisabled(element: Element): boolean {
  return outwards(element).some((each) =>
    hasAttribute(each, "disabled") &&
    (each === element || ["fieldset", "optgroup"].includes(each.tagName))
  );
}

/** An element and those that it is in, the innermost first. */
function outwards(element: Element): Element[] {
  const outer = element.parentNode;
  const isElement = outer !== null && "tagName" in outer;
  return [element, ...(isElement ? outwards(outer) : [])];
}
