/** Owns a form of a page: its fields and its buttons, and what a browser sends. Only for tests. */

import {
  attribute,
  type Element,
  hasAttribute,
  isDisabled,
  textOf,
} from "./elements.ts";
import {
  faultIn,
  filledWith,
  initialValues,
  isField,
  takesList,
  typeOf,
  type Values,
} from "./field.ts";
import type { Page } from "./page.ts";

/**
 * A value for a field: text, true or false for a checkbox, or a file; a list for checkboxes of one name, and for a
 * field that is `multiple`.
 */
export type FieldInput =
  | string
  | boolean
  | File
  | readonly (string | boolean | File)[];

/** Sends the fields to the action of a form: as the body of a POST, or as the query of a GET. */
type Send = (
  action: string,
  isPost: boolean,
  fields: FormData | URLSearchParams,
) => Promise<Page>;

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
export class Form {
  readonly #form: Element;
  readonly #button: Element | undefined;
  readonly #fields = new Map<Element, Values>();
  readonly #send: Send;

  /**
   * Forms are made by their page.
   *
   * @ignore
   */
  constructor(
    form: Element,
    elements: readonly Element[],
    button: Element | undefined,
    send: Send,
  ) {
    this.#form = form;
    this.#button = button ?? elements.find(isSubmit);
    this.#send = send;
    for (const field of elements.filter(isField)) {
      this.#hold(field, initialValues(field));
    }
  }

  /** The names of the fields, in the order of the page. */
  get names(): string[] {
    return [...new Set(this.#fields.keys().map(nameOf))];
  }

  /**
   * Fills fields by name; throws `RangeError` when the form has no such field, or it is `readonly` or does not accept the
   * value.
   */
  fill(values: Readonly<Record<string, FieldInput>>): this {
    for (const [name, value] of Object.entries(values)) {
      const fields = this.#fillable(name);
      const targets = Array.isArray(value) ? fields.filter(takesList) : fields;
      const given = [value].flat();
      const isAccepted = given.every((each) =>
        targets.some((field) => filledWith(field, each) !== undefined)
      );
      if (targets.length === 0 || !isAccepted) {
        const problem = `does not accept ${Deno.inspect(value)}`;
        throw unfillable(
          name,
          `a field of type ${typeOf(fields[0]!)} ${problem}`,
        );
      }
      for (const field of targets) {
        const values = given.flatMap((each) => filledWith(field, each) ?? []);
        if (values.length > 0 || takesList(field)) this.#hold(field, values);
      }
    }
    return this;
  }

  /**
   * Submits the form by the button that it was found by, or else by its first submit button, as the Enter key does.
   * Rejects with `RangeError` where a browser refuses: when the button is disabled, a required field is empty, or a
   * field does not take its text, by its type `email` or `number`, its `pattern`, `minlength`, `min` or `max`. It also
   * does where a browser would send no more than the name of a file.
   */
  async submit(): Promise<Page> {
    const button = this.#button;
    if (button !== undefined && isDisabled(button)) {
      throw unsubmittable(`the button "${buttonText(button)}" is disabled`);
    }
    if (this.#attribute("novalidate") === undefined) this.#check();
    const isPost = /^post$/i.test(this.#attribute("method") ?? "");
    const type = isPost ? this.#attribute("enctype") ?? "" : "";
    const data = this.#data();
    const isMultipart = /^multipart\/form-data$/i.test(type);
    const fields = isMultipart ? data : urlEncoded(data);
    return await this.#send(this.#attribute("action") ?? "", isPost, fields);
  }

  /** Has a field hold values; of the radio buttons of one name, one is checked. */
  #hold(field: Element, values: Values): void {
    if (typeOf(field) === "radio" && values.length > 0) {
      for (const other of this.#group(field)) this.#fields.set(other, []);
    }
    this.#fields.set(field, values);
  }

  /** A field alone, or the radio buttons of its name. */
  #group(field: Element): Element[] {
    const isRadio = (each: Element) => typeOf(each) === "radio";
    if (!isRadio(field)) return [field];
    return this.#named(nameOf(field)).filter(isRadio);
  }

  #named(name: string): Element[] {
    return [...this.#fields.keys()].filter((each) => nameOf(each) === name);
  }

  /** The fields of a name that can be filled. */
  #fillable(name: string): Element[] {
    const fields = this.#named(name);
    const fillable = fields.filter((each) => !hasAttribute(each, "readonly"));
    if (fillable.length > 0) return fillable;
    if (fields.length > 0) throw unfillable(name, "the field is read-only");
    const names = this.names.join(", ");
    throw unfillable(name, `the form has the fields ${names}`);
  }

  /** Throws what a browser would say of a field, unless nobody could fill it. */
  #check(): void {
    for (const [field, values] of this.#fields) {
      if (hasAttribute(field, "readonly") || typeOf(field) === "hidden") {
        continue;
      }
      const name = `the field "${nameOf(field)}"`;
      const isEmpty = this.#group(field).every((each) =>
        this.#fields.get(each)!.every((value) => value === "")
      );
      if (isEmpty && hasAttribute(field, "required")) {
        throw unsubmittable(`${name} is required`);
      }
      for (const value of values) {
        const fault = typeof value === "string" && faultIn(field, value);
        if (!fault) continue;
        throw unsubmittable(`${name} must be ${fault}, got "${value}"`);
      }
    }
  }

  /** What is sent; for a field without a file, an empty one. */
  #data(): FormData {
    const data = new FormData();
    for (const [field, values] of this.#fields) {
      const isEmptyFile = typeOf(field) === "file" && values.length === 0;
      for (const value of isEmptyFile ? [new File([], "")] : values) {
        const isText = typeof value === "string";
        data.append(nameOf(field), isText ? withCrlf(value) : value);
      }
    }
    const name = this.#button && attribute(this.#button, "name");
    if (name) data.append(name, attribute(this.#button!, "value") ?? "");
    return data;
  }

  /** An attribute of the submission: that of the button, such as `formaction`, or that of the form. */
  #attribute(name: string): string | undefined {
    const ofButton = this.#button && attribute(this.#button, `form${name}`);
    return ofButton ?? attribute(this.#form, name);
  }
}

/** Whether an element submits its form when it is pressed. */
export function isSubmit(element: Element): boolean {
  const type = attribute(element, "type")?.toLowerCase();
  return element.tagName === "button"
    ? type !== "button" && type !== "reset"
    : element.tagName === "input" && type === "submit";
}

/** The text on a button. */
export function buttonText(button: Element): string {
  return button.tagName === "button"
    ? textOf(button)
    : attribute(button, "value") ?? "";
}

function nameOf(field: Element): string {
  return attribute(field, "name")!;
}

/** A text with the line breaks that a submission has (HTML standard, section 4.10.21.6). */
function withCrlf(text: string): string {
  return text.replace(/\r\n|\r|\n/g, "\r\n");
}

/** The fields as a query has them; throws `RangeError` for a file, of which it would have the name alone. */
function urlEncoded(data: FormData): URLSearchParams {
  const texts = new URLSearchParams();
  for (const [name, value] of data) {
    const text = typeof value === "string" ? value : value.name;
    if (typeof value !== "string" && text !== "") {
      throw unsubmittable(
        `the field "${name}" has a file, so the form must have method="post" and enctype="multipart/form-data"`,
      );
    }
    texts.append(name, text);
  }
  return texts;
}

function unfillable(name: string, problem: string): RangeError {
  return new RangeError(`Cannot fill "${name}": ${problem}`);
}

function unsubmittable(problem: string): RangeError {
  return new RangeError(`Cannot submit the form: ${problem}`);
}
