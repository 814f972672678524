/** Owns finding the elements of a page, and reading their attributes and texts. Only for tests. */

import type { DefaultTreeAdapterTypes } from "npm:parse5@^8.1.1";

export type Element = DefaultTreeAdapterTypes.Element;
export type Node = DefaultTreeAdapterTypes.Node;

/** The elements below a node, in the order of the page. */
export function elementsOf(node: Node): Element[] {
  if (!("childNodes" in node)) return [];
  return node.childNodes.flatMap((child) => [
    ...("tagName" in child ? [child] : []),
    ...elementsOf(child),
  ]);
}

/** The elements that belong to a form, in the order of the page: those in it, and those whose `form` names its id. */
export function ownedBy(form: Element): Element[] {
  let root: Node = form;
  while ("parentNode" in root && root.parentNode !== null) {
    root = root.parentNode;
  }
  const within = new Set(elementsOf(form));
  const id = attribute(form, "id");
  return elementsOf(root).filter((each) => {
    const named = attribute(each, "form");
    return named === undefined
      ? within.has(each)
      : named !== "" && named === id;
  });
}

/** The value of an attribute. */
export function attribute(element: Element, name: string): string | undefined {
  return element.attrs.find((each) => each.name === name)?.value;
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

/** The buttons of a form, in the order of the page; images are buttons that submit. */
export function buttonsOf(form: Element): Element[] {
  return ownedBy(form).filter((element) => {
    if (element.tagName === "button") return true;
    return element.tagName === "input" && isSubmit(element);
  });
}

/** The text on a button. */
export function buttonText(button: Element): string {
  if (button.tagName === "button") return textOf(button);
  return attribute(button, "value") ?? attribute(button, "alt") ?? "";
}

/** Whether a button submits its form. */
export function isSubmit(button: Element): boolean {
  const type = (attribute(button, "type") ?? "").toLowerCase();
  return button.tagName === "button"
    ? type !== "button" && type !== "reset"
    : type === "submit" || type === "image";
}

/**
 * Whether an element is disabled, perhaps by an `optgroup` around it, or by a `fieldset`, outside of the first `legend`
 * of that.
 */
export function isDisabled(element: Element): boolean {
  if (attribute(element, "disabled") !== undefined) return true;
  let inner: Node = element;
  for (let node = element.parentNode; node !== null;) {
    if (!("tagName" in node)) return false;
    const isOff = ["fieldset", "optgroup"].includes(node.tagName) &&
      attribute(node, "disabled") !== undefined;
    const legend = node.childNodes.find((child) => child.nodeName === "legend");
    if (isOff && legend !== inner) return true;
    inner = node;
    node = node.parentNode;
  }
  return false;
}
