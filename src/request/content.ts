/**
 * Owns the meaning of a body: text and data made of its bytes by its media type, when a handler
 * first asks. Multipart forms are in `multipart.ts`, nested names in `fields.ts`.
 */

import { type Bytes, decode, parseFields, refusal } from "./fields.ts";
import { readForm } from "./multipart.ts";
import type { Files } from "./upload.ts";

/** What a body holds: the fields of a form, or the members of a JSON object or array. */
export type Data = Record<string, unknown>;

type Form = { data: Data; files: Files };

const FORM_TYPE =
  /^\s*(?:application\/x-www-form-urlencoded|multipart\/form-data)\s*(?:;|$)/i;

/** The methods that a form can ask for. */
const OVERRIDES: ReadonlySet<string> = new Set(["PUT", "PATCH", "DELETE"]);

const jsonType = /^(?:application|text)\/json$|\/.+\+json$/;

const JSON_BODY = "the JSON body";

/** What a fault of JSON says beside itself: it quotes the client. */
const QUOTATION = /(?<=^Unexpected token '.+?'), .*$/su;

/** The content of one body; text and data are made of the bytes on first use. */
export class Content {
  /** The bytes as they came, not a copy. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly #type: string;
  #text: string | undefined;
  #form: Form | undefined;
  #json: { readonly value: unknown } | undefined;

  /** Takes the bytes and the Content-Type header. */
  constructor(bytes: Bytes = new Uint8Array(), type = "") {
    this.bytes = bytes;
    this.#type = type;
  }

  /**
   * The text in the charset that the Content-Type names, or else in UTF-8; what is malformed in it
   * reads as U+FFFD. Throws {@linkcode HttpError} 415 when the charset is unknown.
   */
  text(): string {
    return this.#text ??= decode(this.bytes, this.#type);
  }

  /**
   * What the body holds as a form or as JSON; a JSON value without members, and any other media
   * type, give an empty record. Throws {@linkcode HttpError} 400 when it is malformed, and 413
   * beyond the limits.
   */
  get data(): Data {
    return this.#read().data;
  }

  /** Whether the media type is one of JSON. */
  get isJson(): boolean {
    return jsonType.test(mediaOf(this.#type));
  }

  /** The JSON value. Throws {@linkcode HttpError} 415 for another media type, 400 when it is malformed. */
  get json(): unknown {
    if (!this.isJson) {
      const state = `its type is "${this.#type}"`;
      throw refusal(415, JSON_BODY, state);
    }
    this.#json ??= {
      value: parseJson(decode(this.bytes, this.#type, JSON_BODY)),
    };
    return this.#json.value;
  }

  /** The uploads of a multipart form. Throws as `data` does. */
  get files(): Files {
    return this.#read().files;
  }

  /** The method in the field `_method` of a form: PUT, PATCH or DELETE, otherwise "". */
  get methodOverride(): string {
    if (!FORM_TYPE.test(this.#type)) return "";
    try {
      const method = String(this.data._method).toUpperCase();
      return OVERRIDES.has(method) ? method : "";
    } catch {
      return ""; // a malformed form is an error only for the handler that reads it
    }
  }

  #read(): Form {
    return this.#form ??= formOf(this.bytes, this.#type);
  }
}

/** Reads what has a reader; the elements of a JSON array are its members "0", "1" and so on. */
function formOf(bytes: Bytes, type: string): Form {
  const media = mediaOf(type);
  const content = { data: Object.create(null), files: Object.create(null) };
  if (bytes.length === 0) return content;
  if (media === "multipart/form-data") return readForm(bytes, type);
  if (media === "application/x-www-form-urlencoded") {
    const text = `?${decode(bytes, type)}`;
    content.data = parseFields(text, "the form", 413);
  } else if (jsonType.test(media)) {
    const value = parseJson(decode(bytes, type, JSON_BODY));
    // One by one, the elements of a long list take a fifteenth of the time of `Object.assign()`.
    if (Array.isArray(value)) {
      value.forEach((one, at) => content.data[at] = one);
    } else if (typeof value === "object" && value !== null) {
      // A copy of many members would take three times as long as parsing them.
      content.data = Object.setPrototypeOf(value, null);
    }
  }
  return content;
}

function mediaOf(type: string): string {
  return type.split(";", 1)[0]!.trim().toLowerCase();
}

/** Parses JSON; what is wrong with it is said without the client's text. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const fault = (cause as SyntaxError).message.replace(QUOTATION, "");
    throw refusal(400, JSON_BODY, fault, { cause });
  }
}
