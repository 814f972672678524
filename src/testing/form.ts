/**
 * Owns a form of a page as a browser would fill and submit it (HTML standard, section 4.10.21): which
 * fields it has, what they hold, and the request that submitting makes. Only for tests.
 */

import type { DefaultTreeAdapterTypes } from "npm:parse5@^8.1.1";

type Element = DefaultTreeAdapterTypes.Element;
type Node = DefaultTreeAdapterTypes.Node;

/** What a field can be filled with: text, the state of a checkbox, or a file. */
export type FieldInput = string | boolean | File;

interface Field {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly longest: number;
  /** What the field sends: nothing when undefined. */
  value: string | File | undefined;
  /** What a checkbox or radio button sends when it is chosen, and what an option may be. */
  readonly options: readonly string[];
}

/** A form of a page; made by {@linkcode Page.form}. */
export class Form<Result> {
  readonly #element: Element;
  readonly #fields: readonly Field[];
  readonly #send: (request: FormRequest) => Promise<Result>;

  /** `send` is given the request of a submission. */
  constructor(
    element: Element,
    send: (request: FormRequest) => Promise<Result>,
  ) {
    this.#element = element;
    this.#fields = elementsOf(element).flatMap(fieldOf);
    this.#send = send;
  }

  /** The names of the fields, in the order of the page. */
  get names(): string[] {
    return [...new Set(this.#fields.map(({ name }) => name))];
  }

  /** Fills fields by name; throws `RangeError` when the form has no such field or takes no such value. */
  fill(values: Readonly<Record<string, FieldInput>>): this {
    for (const [name, value] of Object.entries(values)) {
      const fields = this.#fields.filter((field) => field.name === name);
      if (fields.length === 0) {
        throw new RangeError(
          `Cannot fill "${name}": the form has ${
            this.names.join(", ") || "no fields"
          }`,
        );
      }
      for (const field of fields) fillField(field, value);
    }
    return this;
  }

  /** Submits the form; rejects with `RangeError` when a required field is empty, as a browser refuses. */
  async submit(): Promise<Result> {
    for (const { name, required, value } of this.#fields) {
      if (required && (value === undefined || value === "")) {
        throw new RangeError(
          `Cannot submit the form: the field "${name}" is required`,
        );
      }
    }
    const method = (attribute(this.#element, "method") ?? "get").toUpperCase();
    const multipart =
      attribute(this.#element, "enctype") === "multipart/form-data";
    const entries = this.#fields.flatMap(({ name, value }) =>
      value === undefined ? [] : [[name, value] as const]
    );
    return await this.#send({
      action: attribute(this.#element, "action") ?? "",
      method: method === "POST" ? "POST" : "GET",
      body: multipart ? formData(entries) : new URLSearchParams(
        entries.map(([name, value]) => [
          name,
          value instanceof File ? value.name : value,
        ]),
      ),
    });
  }
}

/** The request that a submission makes. */
export interface FormRequest {
  /** The `action` attribute, relative to the page. */
  readonly action: string;
  /** `POST` when the form says so. */
  readonly method: "GET" | "POST";
  /** The fields, as the form encodes them. */
  readonly body: URLSearchParams | FormData;
}

/** The elements below a node, in the order of the page. */
export function elementsOf(node: Node): Element[] {
  if (!("childNodes" in node)) return [];
  return node.childNodes.flatMap((child) => [
    ...("tagName" in child ? [child] : []),
    ...elementsOf(child),
  ]);
}

/** The value of an attribute. */
export function attribute(element: Element, name: string): string | undefined {
  return element.attrs.find((each) => each.name === name)?.value;
}

/** The text below a node, its white space folded. */
export function textOf(node: Node): string {
  return rawText(node).replace(/\s+/g, " ").trim();
}

function rawText(node: Node): string {
  if ("value" in node) return node.value;
  return "childNodes" in node ? node.childNodes.map(rawText).join("") : "";
}

/** The types of inputs that send nothing of their own. */
const SILENT: ReadonlySet<string> = new Set([
  "submit",
  "button",
  "reset",
  "image",
]);

function fieldOf(element: Element): Field[] {
  const name = attribute(element, "name");
  if (!name || attribute(element, "disabled") !== undefined) return [];
  const common = {
    name,
    required: attribute(element, "required") !== undefined,
    longest: Number(attribute(element, "maxlength") ?? Infinity),
  };
  switch (element.tagName) {
    case "input":
      return inputOf(element, common);
    case "textarea":
      return [{
        ...common,
        type: "textarea",
        value: rawText(element),
        options: [],
      }];
    case "select":
      return [{ ...common, type: "select", ...selectOf(element) }];
  }
  return [];
}

function inputOf(
  element: Element,
  common: Pick<Field, "name" | "required" | "longest">,
): Field[] {
  const type = (attribute(element, "type") ?? "text").toLowerCase();
  const value = attribute(element, "value");
  if (SILENT.has(type)) return [];
  if (type !== "checkbox" && type !== "radio") {
    const empty = type === "file" ? undefined : "";
    return [{ ...common, type, value: value ?? empty, options: [] }];
  }
  const chosen = attribute(element, "checked") !== undefined;
  const sent = value ?? "on";
  return [{
    ...common,
    type,
    value: chosen ? sent : undefined,
    options: [sent],
  }];
}

function selectOf(element: Element): Pick<Field, "value" | "options"> {
  const options = elementsOf(element).filter(({ tagName }) =>
    tagName === "option"
  );
  const valueOf = (option: Element): string =>
    attribute(option, "value") ?? textOf(option);
  const selected =
    options.find((option) => attribute(option, "selected") !== undefined) ??
      options[0];
  return {
    value: selected && valueOf(selected),
    options: options.map(valueOf),
  };
}

function fillField(field: Field, value: FieldInput): void {
  const refuse = (): never => {
    throw new RangeError(
      `Cannot fill "${field.name}": a field of type ${field.type} does not take ${
        Deno.inspect(value)
      }`,
    );
  };
  if (field.type === "checkbox" || field.type === "radio") {
    const [option] = field.options;
    const chosen = typeof value === "boolean" ? value : value === option;
    field.value = chosen ? option : undefined;
    return;
  }
  if ((value instanceof File) !== (field.type === "file")) refuse();
  if (typeof value === "boolean") return refuse();
  if (field.type === "select" && !field.options.includes(value as string)) {
    refuse();
  }
  if (typeof value === "string" && value.length > field.longest) refuse();
  field.value = typeof value === "string" && field.type === "textarea"
    ? value.replace(/\r\n|\r|\n/g, "\r\n") // as browsers send it
    : value;
}

function formData(entries: readonly (readonly [string, string | File])[]) {
  const data = new FormData();
  for (const [name, value] of entries) data.append(name, value);
  return data;
}
