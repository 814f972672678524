/**
 * Owns the body of a request: reading it off the connection once, within its limits, and making
 * text and data of it, so that handlers have both without waiting. What a multipart form holds is
 * the upload's; how names nest is the field's.
 */

import { HttpError, type HttpErrorOptions } from "./errors.ts";
import { parseFields } from "./fields.ts";
import {
  type Files,
  type FormLimits,
  type MultipartForm,
  readForm,
} from "./upload.ts";

/** How much a body may hold; more of anything is a 413. */
export interface BodyLimits extends FormLimits {
  /** The most bytes. */
  readonly bytes: number;
}

/** What a body holds: the fields of a form, or the members of a JSON object or array. */
export type Data = Record<string, unknown>;

type Bytes = Uint8Array<ArrayBuffer>;

const formType = /^application\/x-www-form-urlencoded$/;
const multipartType = /^multipart\/form-data$/;
const jsonType = /^(?:application|text)\/json$|\/.+\+json$/;

/** The longest time a timer of the platform can take, in milliseconds. */
const longestTimer = 2 ** 31 - 1;

/** How many characters of JSON are searched for a fault whose place the parser does not tell. */
const longestSearch = 65_536;

/**
 * Reads the whole body of a request. Throws {@linkcode HttpError} 413 as soon as it is known to be
 * too large, 408 when it has not come within `timeout` seconds (0: no limit), and 400 when the
 * connection ended first. What is wrong inside it is thrown when somebody asks for that.
 */
export async function readBody(
  request: Request,
  limits: BodyLimits,
  timeout = 0,
): Promise<Body> {
  const type = request.headers.get("content-type") ?? "";
  if (request.body === null) return new Body(new Uint8Array(), type);
  const length = Number(request.headers.get("content-length") ?? 0);
  if (length > limits.bytes) {
    throw refusal(413, `it is larger than ${limits.bytes} bytes`);
  }
  const bytes = await collect(request.body.getReader(), limits.bytes, timeout);
  if (bytes.length < length) throw refusal(400, "it ended early");
  const isForm = bytes.length > 0 && multipartType.test(mediaTypeOf(type));
  const form = isForm
    ? await readForm(bytes, type, limits).catch(keep)
    : undefined;
  return new Body(bytes, type, limits.fields, form);
}

/** The body of one request as bytes; everything else is made of them when it is first asked for. */
export class Body {
  /** The bytes as they came, not a copy. */
  readonly bytes: Bytes;
  readonly #type: string;
  readonly #fieldLimit: number | undefined;
  readonly #multipart: MultipartForm | HttpError | undefined;
  #text: string | undefined;
  #data: Data | undefined;
  #files: Files | undefined;

  /** Takes the bytes, the Content-Type header and, for a multipart form, what reading it gave. */
  constructor(
    bytes: Bytes = new Uint8Array(),
    type = "",
    fieldLimit?: number,
    multipart?: MultipartForm | HttpError,
  ) {
    this.bytes = bytes;
    this.#type = type;
    this.#fieldLimit = fieldLimit;
    this.#multipart = multipart;
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
   * type, give an empty record. Throws {@linkcode HttpError} 400 when it is malformed.
   */
  get data(): Data {
    return this.#data ??= this.#readData();
  }

  /** The uploads of a multipart form. Throws {@linkcode HttpError} 400 when it is malformed. */
  get files(): Files {
    return this.#files ??= this.#form?.files ?? Object.create(null);
  }

  #readData(): Data {
    const media = mediaTypeOf(this.#type);
    if (this.bytes.length === 0) return Object.create(null);
    if (formType.test(media)) {
      return parseFields(this.text(), "the form", 413, this.#fieldLimit);
    }
    if (jsonType.test(media)) {
      return membersOf(parseJson(decode(this.bytes, this.#type, true)));
    }
    return this.#form?.fields ?? Object.create(null);
  }

  get #form(): MultipartForm | undefined {
    if (this.#multipart instanceof HttpError) throw this.#multipart;
    return this.#multipart;
  }
}

/** Reads a stream to its end, or gives up the rest of it. */
async function collect(
  reader: ReadableStreamDefaultReader<Bytes>,
  limit: number,
  timeout: number,
): Promise<Bytes> {
  const chunks: Bytes[] = [];
  let size = 0;
  let late = false;
  const expire = () => (late = true, abandon(reader));
  const wait = Math.min(timeout * 1_000, longestTimer);
  const timer = timeout > 0 ? setTimeout(expire, wait) : undefined;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (late) throw tooSlow(timeout);
      if (done) return join(chunks, size);
      size += value.length;
      if (size > limit) throw refusal(413, `it is larger than ${limit} bytes`);
      chunks.push(value);
    }
  } catch (error) {
    abandon(reader);
    if (error instanceof HttpError) throw error;
    throw refusal(400, "it ended early", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Tells the source that nobody reads on; one that cannot stop changes nothing for the answer. */
function abandon(reader: ReadableStreamDefaultReader<Bytes>): void {
  reader.cancel().catch(() => {});
}

function join(chunks: Bytes[], size: number): Bytes {
  if (chunks.length === 1) return chunks[0]!;
  const bytes = new Uint8Array(size);
  let end = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, end);
    end += chunk.length;
  }
  return bytes;
}

/** RFC 9110 section 15.5.9: the answer to a client that is too slow ends the connection. */
function tooSlow(timeout: number): HttpError {
  const headers = { connection: "close" };
  return refusal(408, `it did not come within ${timeout} seconds`, { headers });
}

function refusal(
  status: number,
  state: string,
  options?: HttpErrorOptions,
): HttpError {
  const message = `Cannot read the request body: ${state}`;
  return new HttpError(status, message, options);
}

/** Keeps a refusal for whoever reads the form: a route that does not care still runs. */
function keep(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  throw error;
}

/** The media type of a Content-Type header, without its parameters. */
function mediaTypeOf(type: string): string {
  return type.split(";", 1)[0]!.trim().toLowerCase();
}

/** Decodes text: an unknown charset is a 415, and malformed text, where that is fatal, a 400. */
function decode(bytes: Bytes, type: string, fatal = false): string {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type)?.[1] ?? "utf-8";
  try {
    return new TextDecoder(charset, { fatal }).decode(bytes);
  } catch (cause) {
    const status = cause instanceof RangeError ? 415 : 400;
    throw refusal(status, `it is no text in the charset "${charset}"`, {
      cause,
    });
  }
}

/** Makes one record of an object's members or of an array's elements, named "0", "1" and so on. */
function membersOf(value: unknown): Data {
  const members: Data = Object.create(null);
  if (typeof value !== "object" || value === null) return members;
  if (!Array.isArray(value)) return Object.setPrototypeOf(value, null);
  value.forEach((element, index) => members[index] = element);
  return members;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const fault = faultOf(cause as SyntaxError);
    const message = `Cannot read the JSON body: ${fault}${
      placeOf(fault, text)
    }`;
    throw new HttpError(400, message, { cause });
  }
}

/** What the parser says is wrong, without the part in which it quotes the client. */
function faultOf(error: SyntaxError): string {
  return error.message.replace(/(?<=^Unexpected token '.+?'), .*$/su, "");
}

/**
 * Where an unexpected token is, the one fault whose place the parser does not tell: of all
 * beginnings of the text, the shortest that has this fault ends with it.
 */
function placeOf(fault: string, text: string): string {
  if (!fault.startsWith("Unexpected token") || text.length > longestSearch) {
    return "";
  }
  let fine = 0;
  let faulty = text.length;
  while (faulty - fine > 1) {
    const middle = (fine + faulty) >> 1;
    if (hasFault(text.slice(0, middle), fault)) faulty = middle;
    else fine = middle;
  }
  return ` at position ${fine}`;
}

function hasFault(text: string, fault: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch (error) {
    return faultOf(error as SyntaxError) === fault;
  }
}
