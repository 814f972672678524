/**
 * Owns the meaning of a body: text and data made of its bytes by its media type, when a handler first
 * asks. Multipart forms are in `multipart.ts`, nested names in `fields.ts`.
 */

import { type Bytes, decode, parseFields, refusal } from "./fields.ts";
import { parseMultipart } from "./multipart.ts";
import type { Files } from "./upload.ts";

/** What a body holds: the fields of a form, or the members of a JSON object or array. */
export type Data = Record<string, unknown>;

/** The values and the uploads of a form. */
interface Form {
  readonly data: Data;
  readonly files: Files;
}

const URLENCODED = "application/x-www-form-urlencoded";
const MULTIPART = "multipart/form-data";
const JSON_TYPE = /^(?:application|text)\/json$|^[^/]+\/.+\+json$/;

const JSON_BODY = "the JSON body";

/** The part of a JSON error's message that quotes the client. */
const QUOTATION = /(?<=^Unexpected token '.+?'), .*$/su;

/** The methods that a form can ask for. */
const OVERRIDES: ReadonlySet<unknown> = new Set(["PUT", "PATCH", "DELETE"]);

/** The content of one body. */
export class Content {
  /** The bytes as they came, not a copy. */
  readonly bytes: Bytes;
  readonly #type: string;
  readonly #mediaType: string;
  #text: string | undefined;
  #form: Form | undefined;
  #json: { readonly value: unknown } | undefined;

  /** Takes the bytes and the Content-Type header. */
  constructor(bytes: Bytes = new Uint8Array(), type = "") {
    this.bytes = bytes;
    this.#type = type;
    this.#mediaType = type.split(";", 1)[0]!.trim().toLowerCase();
  }

  /**
   * The text in the charset of the Content-Type, by default UTF-8; malformed bytes read as U+FFFD.
   * Throws {@linkcode HttpError} 415 for an unknown charset.
   */
  text(): string {
    return this.#text ??= decode(this.bytes, this.#type);
  }

  /**
   * The fields of a form, or the members of JSON; empty for a JSON value without members and any other
   * media type. Throws {@linkcode HttpError} 400 when the body is malformed, 413 beyond its limits.
   */
  get data(): Data {
    return (this.#form ??= this.#parse()).data;
  }

  /** The uploads of a multipart form. Throws as `data` does. */
  get files(): Files {
    return (this.#form ??= this.#parse()).files;
  }

  /** Whether the media type is one of JSON. */
  get isJson(): boolean {
    return JSON_TYPE.test(this.#mediaType);
  }

  /** The JSON value. Throws {@linkcode HttpError} 415 for another media type, 400 when it is malformed. */
  get json(): unknown {
    if (!this.isJson) {
      throw refusal(415, JSON_BODY, `its type is "${this.#type}"`);
    }
    return (this.#json ??= { value: this.#parseJson() }).value;
  }

  /** The method that the field `_method` of a form asks for: PUT, PATCH or DELETE, otherwise "". */
  get methodOverride(): string {
    const isForm = this.#mediaType === URLENCODED ||
      this.#mediaType === MULTIPART;
    if (!isForm) return "";
    try {
      const { _method } = this.data;
      const method = typeof _method === "string" ? _method.toUpperCase() : "";
      return OVERRIDES.has(method) ? method : "";
    } catch {
      return ""; // a malformed form is an error only for the handler that reads it
    }
  }

  #parse(): Form {
    const { bytes } = this;
    if (bytes.length > 0) {
      if (this.#mediaType === MULTIPART) {
        return parseMultipart(bytes, this.#type);
      }
      if (this.#mediaType === URLENCODED) {
        const text = `?${decode(bytes, this.#type)}`;
        return withoutFiles(parseFields(text, "the form", 413));
      }
      if (this.isJson) return withoutFiles(membersOf(this.#parseJson()));
    }
    return withoutFiles(Object.create(null));
  }

  /** Parses JSON; the error says what is wrong without the client's text. */
  #parseJson(): unknown {
    const text = decode(this.bytes, this.#type, JSON_BODY);
    try {
      return JSON.parse(text);
    } catch (cause) {
      const fault = (cause as SyntaxError).message.replace(QUOTATION, "");
      throw refusal(400, JSON_BODY, fault, { cause });
    }
  }
}

function withoutFiles(data: Data): Form {
  return { data, files: Object.create(null) };
}

/** The members of a JSON value; those of an array are "0", "1" and so on. */
function membersOf(value: unknown): Data {
  const members = Object.create(null);
  if (Array.isArray(value)) {
    // For a long list, a loop takes a fifteenth of the time of `Object.assign()`.
    value.forEach((element, index) => members[index] = element);
  } else if (typeof value === "object" && value !== null) {
    // Copying many members would take three times as long as parsing them.
    return Object.setPrototypeOf(value, null);
  }
  return members;
}
