/**
 * Owns a form of a page as a browser fills and submits it (HTML standard, section 4.10.21): its fields,
 * their values, and the request of a submission. Only for tests.
 */

import {
  attribute,
  buttonsOf,
  buttonText,
  type Element,
  elementsOf,
  isDisabled,
  isSubmit,
  ownedBy,
  rawText,
  textOf,
} from "./elements.ts";
import { heldText, TEXTS } from "./held_text.ts";
import { type Constraints, faultIn } from "./validity.ts";

/**
 * A value for a field: text, true or false for a checkbox, or a file; a list for checkboxes of one name, and for a
 * field that is `multiple`.
 */
export type FieldInput =
  | string
  | boolean
  | File
  | readonly (string | boolean | File)[];

type FieldValue = string | boolean | File;

interface Field {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly maxLength: number;
  readonly isMultiple: boolean;
  /** Whether nobody can type into it. */
  readonly isReadOnly: boolean;
  /** What a text must be that the field does not take; undefined when it takes it. */
  readonly faultIn: (text: string) => string | undefined;
  /** What is sent; nothing when the list is empty. */
  values: readonly (string | File)[];
  /** The values that the field takes; undefined for free text. A checkbox or radio button has one. */
  readonly options?: readonly string[];
  /** Whether an empty first option stands for no choice. */
  readonly hasPlaceholder?: boolean;
}

/**
 * A form of a page, made by {@linkcode Page.prototype.form | Page.form}.
 *
 * @example
 * ```ts
 * import { Engine } from "@framework/core";
 * import { Visitor } from "@framework/core/testing";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const app = new Engine();
 * app.route("GET /", () => `<form method="post" enctype="multipart/form-data">
 *   <input name="title" required><input name="photo" type="file">
 *   <select name="size"><option>small<option>large</select>
 *   <button>Save</button>
 * </form>`);
 * app.route("POST /", () => {
 *   const { data, files } = app.request();
 *   return { ...data, uploads: Object.keys(files) };
 * });
 *
 * const form = (await new Visitor(app).visit("/")).form("Save");
 * assertEquals(form.names, ["title", "photo", "size"]);
 * assertThrows(() => form.fill({ size: "huge" }), RangeError);
 * const photo = new File(["pixels"], "me.png");
 * form.fill({ title: "Me", photo, size: "large" });
 * const saved = await form.submit();
 * const uploads = ["photo"];
 * assertEquals(saved.json(), { title: "Me", size: "large", uploads });
 * ```
 */
export class Form<Result> {
  readonly #element: Element;
  /** The button that submits the form; undefined when it has none. */
  readonly #button: Element | undefined;
  /** What a submission sends, in the order of the page: the fields, and the button that submits. */
  readonly #entries: readonly Field[];
  readonly #fields: readonly Field[];
  readonly #send: (request: FormRequest) => Promise<Result>;

  /**
   * Forms are made by their page.
   *
   * @ignore
   */
  constructor(
    element: Element,
    send: (request: FormRequest) => Promise<Result>,
    button: Element | undefined = defaultButton(element),
  ) {
    this.#element = element;
    this.#button = button;
    this.#entries = ownedBy(element).flatMap((each) =>
      each === button ? buttonOf(each) : fieldOf(each)
    );
    this.#fields = this.#entries.filter(({ type }) => type !== "submit");
    uncheckEarlier(this.#fields);
    this.#send = send;
  }

  /** The names of the fields, in the order of the page. */
  get names(): string[] {
    return [...new Set(this.#fields.map(({ name }) => name))];
  }

  /**
   * Fills fields by name; throws `RangeError` when the form has no such field, or it is `readonly` or does not accept the
   * value.
   */
  fill(values: Readonly<Record<string, FieldInput>>): this {
    for (const [name, value] of Object.entries(values)) {
      const fields = this.#fillable(name);
      const isList = Array.isArray(value);
      const given: FieldValue[] = [value].flat();
      const targets = isList ? fields.filter(takesList) : fields;
      const isTaken = targets.length > 0 &&
        given.every((each) => targets.some((field) => accepts(field, each)));
      if (!isTaken) {
        const [kind, given] = [fields[0]!.type, Deno.inspect(value)];
        throw new RangeError(
          `Cannot fill "${name}": a field of type ${kind} does not accept ${given}`,
        );
      }
      for (const field of targets) fillField(field, given);
    }
    return this;
  }

  /**
   * Submits the form by the button that it was chosen by, or else by its first submit button, as the Enter key does
   * (HTML standard, section 4.10.21.2): its name and value are sent with the fields. Rejects with `RangeError` where
   * a browser refuses: when a required field is empty, a field does not take its text, by its `type`, `pattern`,
   * `minlength`, `min`, `max` or `step`, or the button is disabled; what is `readonly` is not checked. It also does
   * where a browser would send the name of a file alone, since the form has no `enctype="multipart/form-data"`.
   */
  async submit(): Promise<Result> {
    const button = this.#button;
    if (button !== undefined && isDisabled(button)) {
      const problem = `the button "${buttonText(button)}" is disabled`;
      throw new RangeError(`Cannot submit the form: ${problem}`);
    }
    if (this.#attribute("novalidate") === undefined) this.#check();
    const isPost = /^post$/i.test(this.#attribute("method") ?? "");
    const type = this.#attribute("enctype") ?? "";
    const isMultipart = isPost && /^multipart\/form-data$/i.test(type);
    const file = this.#fields.find(({ values }) =>
      values.some((value) => value instanceof File)
    );
    if (file !== undefined && !isMultipart) {
      const problem = `the field "${file.name}" has a file`;
      throw new RangeError(
        `Cannot submit the form: ${problem}, so the form must have method="post" and enctype="multipart/form-data"`,
      );
    }
    const data = new FormData();
    for (const { name, values } of this.#entries) {
      for (const value of values) {
        const isText = typeof value === "string";
        data.append(withCrlf(name), isText ? withCrlf(value) : value);
      }
    }
    return await this.#send({
      action: this.#attribute("action") ?? "",
      method: isPost ? "POST" : "GET",
      body: isMultipart ? data : urlEncoded(data),
    });
  }

  /** The fields of a name that can be filled. */
  #fillable(name: string): Field[] {
    const fields = this.#fields.filter((field) => field.name === name);
    const fillable = fields.filter(({ isReadOnly }) => !isReadOnly);
    if (fillable.length > 0) return fillable;
    const known = this.names.join(", ");
    const problem = fields.length > 0
      ? "the field is read-only"
      : `the form has ${known ? `the fields ${known}` : "no fields"}`;
    throw new RangeError(`Cannot fill "${name}": ${problem}`);
  }

  /** Throws what a browser says of a field. */
  #check(): void {
    for (const field of this.#fields) {
      const { name, type, required, isReadOnly, values } = field;
      if (isReadOnly || type === "hidden") continue; // nobody could mend them
      if (required && this.#isEmpty(field)) {
        throw new RangeError(
          `Cannot submit the form: the field "${name}" is required`,
        );
      }
      for (const text of values.filter((each) => typeof each === "string")) {
        const fault = field.faultIn(text);
        if (fault === undefined) continue;
        throw new RangeError(
          `Cannot submit the form: the field "${name}" must be ${fault}, got ${
            JSON.stringify(text)
          }`,
        );
      }
    }
  }

  /** An attribute of the submission: that of the button, such as `formaction`, or that of the form. */
  #attribute(name: string): string | undefined {
    const ofButton = this.#button && attribute(this.#button, `form${name}`);
    return ofButton ?? attribute(this.#element, name);
  }

  /** Whether a field has no value. Of several radio buttons with one name, one that has a value is enough. */
  #isEmpty({ name, type, values, options, hasPlaceholder }: Field): boolean {
    if (type === "radio") {
      return !this.#fields.some((field) =>
        field.name === name && field.values.length > 0
      );
    }
    // A choice counts whatever its value, unless it stands for none.
    if (options !== undefined && !hasPlaceholder) return values.length === 0;
    return values.every((value) => value === "");
  }
}

/** The request of a submission. */
export interface FormRequest {
  /** The `action` of the form, or the `formaction` of the button, relative to the page. */
  readonly action: string;
  /** `POST` when the form says so. */
  readonly method: "GET" | "POST";
  /** The fields, as the form encodes them. */
  readonly body: URLSearchParams | FormData;
}

/** The button that the Enter key presses in a form. */
function defaultButton(form: Element): Element | undefined {
  return buttonsOf(form).find(isSubmit);
}

/** What a button that submits its form sends: its value, if it has a name; an image, where it was pressed. */
function buttonOf(element: Element): Field[] {
  if (!isSubmit(element)) return [];
  const name = attribute(element, "name");
  const common = {
    required: false,
    maxLength: 0,
    isMultiple: false,
    isReadOnly: false,
    faultIn: () => undefined,
  };
  const type = "submit";
  if (/^image$/i.test(attribute(element, "type") ?? "")) {
    const names = name ? [`${name}.x`, `${name}.y`] : ["x", "y"];
    return names.map((each) => ({
      ...common,
      name: each,
      type,
      values: ["0"],
    }));
  }
  if (!name) return [];
  const values = [attribute(element, "value") ?? ""];
  return [{ ...common, name, type, values }];
}

/** The types of inputs that are buttons, which send nothing unless they are pressed. */
const BUTTONS: readonly string[] = ["submit", "button", "reset", "image"];

/** The types of inputs besides `text`. */
const INPUT_TYPES: readonly string[] = [
  ...BUTTONS,
  ..."hidden search tel url email password date month week time datetime-local number range color checkbox radio file"
    .split(" "),
];

/** The types of fields to which `multiple` applies. */
const MULTIPLE: readonly string[] = ["select", "file", "email"];

/** The types of fields to which `readonly` applies. */
const TYPED: readonly string[] = [
  ...TEXTS,
  ..."textarea number date month week time datetime-local".split(" "),
];

function fieldOf(element: Element): Field[] {
  const name = attribute(element, "name");
  if (!name || isDisabled(element)) return [];
  const type = typeOf(element);
  const common = {
    name,
    type,
    required: attribute(element, "required") !== undefined,
    maxLength: maxLengthOf(element),
    isMultiple: MULTIPLE.includes(type) &&
      attribute(element, "multiple") !== undefined,
    isReadOnly: TYPED.includes(type) &&
      attribute(element, "readonly") !== undefined,
    faultIn: (text: string) => faultIn(text, constraintsOf(element)),
  };
  switch (element.tagName) {
    case "input":
      return inputOf(element, common);
    case "textarea":
      return [{ ...common, values: [heldText(rawText(element), type)] }];
    case "select":
      return [{ ...common, ...selectOf(element, common) }];
  }
  return [];
}

/** What a field is: the type of an input, or else its tag. Unknown types are text (HTML standard, section 4.10.5). */
function typeOf(element: Element): string {
  if (element.tagName !== "input") return element.tagName;
  const type = (attribute(element, "type") ?? "").toLowerCase();
  return INPUT_TYPES.includes(type) ? type : "text";
}

/** How long the text may be; what is no number is no limit. */
function maxLengthOf(element: Element): number {
  const length = attribute(element, "maxlength") ?? "";
  return /^\d+$/.test(length) ? Number(length) : Infinity;
}

function constraintsOf(element: Element): Constraints {
  return {
    type: typeOf(element),
    isMultiple: attribute(element, "multiple") !== undefined,
    pattern: attribute(element, "pattern"),
    minlength: attribute(element, "minlength"),
    min: attribute(element, "min"),
    max: attribute(element, "max"),
    step: attribute(element, "step"),
    value: attribute(element, "value"),
  };
}

/** Of the radio buttons of one name, only the last checked one stays so (HTML standard, section 4.10.5.1.16). */
function uncheckEarlier(fields: readonly Field[]): void {
  const checked = new Map<string, Field>();
  for (const field of fields) {
    if (field.type !== "radio" || field.values.length === 0) continue;
    const earlier = checked.get(field.name);
    if (earlier !== undefined) earlier.values = [];
    checked.set(field.name, field);
  }
}

type Common = Omit<Field, "values" | "options">;

function inputOf(
  element: Element,
  common: Common,
): Field[] {
  const { type } = common;
  const value = attribute(element, "value");
  if (BUTTONS.includes(type)) return [];
  if (type === "file") return [{ ...common, values: [] }];
  if (type !== "checkbox" && type !== "radio") {
    return [{ ...common, values: [heldText(value ?? "", type)] }];
  }
  const isChecked = attribute(element, "checked") !== undefined;
  const option = value ?? "on";
  return [{
    ...common,
    values: isChecked ? [option] : [],
    options: [option],
  }];
}

function selectOf(
  element: Element,
  { isMultiple }: Common,
): Pick<Field, "values" | "options" | "hasPlaceholder"> {
  const all = elementsOf(element).filter(({ tagName }) => tagName === "option");
  const enabled = all.filter((option) => !isDisabled(option));
  const selected = all.filter((option) =>
    attribute(option, "selected") !== undefined
  );
  const isOpen = isMultiple || parseInt(attribute(element, "size") ?? "") > 1;
  const shown = isOpen || selected.length > 0 ? selected : enabled.slice(0, 1);
  const chosen = isMultiple ? shown : shown.slice(-1);
  const [first] = isOpen ? [] : all;
  return {
    values: chosen.filter((option) => enabled.includes(option)).map(valueOf),
    options: enabled.map(valueOf),
    hasPlaceholder: first?.parentNode === element && valueOf(first) === "",
  };
}

function valueOf(option: Element): string {
  return attribute(option, "value") ?? textOf(option);
}

/** Whether several values may be chosen for a field, or for the fields of its name. */
function takesList({ type, isMultiple }: Field): boolean {
  return type === "checkbox" || isMultiple;
}

function accepts(
  { type, options, maxLength }: Field,
  value: FieldValue,
): boolean {
  if (type === "file") return value instanceof File;
  if (typeof value === "boolean") return type === "checkbox";
  if (typeof value !== "string") return false;
  const held = heldText(value, type);
  if (type === "date") return held === value; // no other text can be typed
  return options?.includes(value) ?? held.length <= maxLength;
}

/** Fills a field. Of several fields with one name, such as radio buttons, only some may accept a value. */
function fillField(field: Field, given: readonly FieldValue[]): void {
  const taken = given.filter((value) => accepts(field, value));
  if (field.type === "checkbox" || field.type === "radio") {
    const isChecked = taken.some((value) => value !== false);
    field.values = isChecked ? field.options ?? [] : [];
  } else if (taken.length > 0 || field.isMultiple) {
    const values = taken.filter((value) => typeof value !== "boolean").map(
      (value) =>
        typeof value === "string" ? heldText(value, field.type) : value,
    );
    // A list of addresses is one text.
    field.values = field.type === "email" ? [values.join(",")] : values;
  }
}

/** A text with the line breaks that a submission has (HTML standard, section 4.10.21.6). */
function withCrlf(text: string): string {
  return text.replace(/\r\n|\r|\n/g, "\r\n");
}

/** The fields, encoded as in a URL. */
function urlEncoded(data: FormData): URLSearchParams {
  return new URLSearchParams(
    [...data].map(([name, value]) => [name, String(value)]),
  );
}
