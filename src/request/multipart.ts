/**
 * Owns multipart forms (RFC 7578): finding the parts in the bytes without copying them, and making fields and
 * files of them. A malformed part is refused, never skipped.
 */

import { refusal } from "../errors.ts";
import { checkCount, type Form, nest } from "./fields.ts";
import { UploadedFile } from "./upload.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const SOURCE = "the multipart form";

/** How many bytes the headers of a part may have. */
const MAX_HEADER_BYTES = 8_192;

const BLANK_LINE = new TextEncoder().encode("\r\n\r\n");

const CARRIAGE_RETURN = 13;

/** What follows a boundary: "--" after the last, or padding before a line break. */
const BOUNDARY_END = /^(?:--|[ \t]*(?=\r\n))/;

/** One header of a part, with the line break before it. */
const HEADER = /\r\n([^\s:]+):[ \t]*([^\r\n]*)/gy;

/**
 * One parameter of a header, quoted or not. A backslash before a quote escapes it, except before the
 * quote that ends the value: browsers do not escape backslashes. No two parts take the same spaces: a client that
 * sends many of them would keep the server busy.
 */
const PARAMETER =
  /\s*;\s*([^\s=;"]+)\s*=(?:\s*"((?:\\"|[^"])*)"|\s*([^\s;"]+)|)\s*(?:;?$|(?=;))/gy;

/** Texts are UTF-8 whatever their type says; malformed bytes read as U+FFFD. */
const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** In headers, malformed bytes are refused. */
let strictUtf8: TextDecoder | undefined;

/**
 * Parses a multipart form. Throws {@linkcode HttpError} 400 when it is malformed or cut short, and 413
 * beyond 1,000 fields, 100 files, or 8 KiB of headers in a part.
 */
export function parseMultipart(bytes: Bytes, contentType: string): Form {
  const fields: [string, string][] = [];
  const files: [string, UploadedFile][] = [];
  for (const { name, filename, type, content } of partsOf(bytes, contentType)) {
    if (filename === undefined) fields.push([name, UTF8.decode(content)]);
    else files.push([name, new UploadedFile([content], filename, { type })]);
    checkCount("fields", fields.length, SOURCE);
    checkCount("files", files.length, SOURCE);
  }
  // A file input that was left empty comes as an empty file without a name.
  const chosen = files.filter(([, file]) => file.name !== "" || file.size > 0);
  const whole = () => nest<string | UploadedFile>([...fields, ...chosen]);
  return { data: nest(fields), files: nest(chosen), whole };
}

/** Finds the parts of a form. */
function* partsOf(bytes: Bytes, contentType: string) {
  const boundary = parametersOf(contentType, SOURCE).get("boundary");
  if (!boundary) throw refusal(400, SOURCE, "its Content-Type has no boundary");
  const delimiter = new TextEncoder().encode(`\r\n--${boundary}`);
  let start = 0;
  let end = endOf(delimiter, bytes, 0, 2); // the first may lack the line break before it
  for (let number = 0; end !== -1; number++) {
    const ahead = UTF8.decode(bytes.subarray(end, end + 64));
    const line = BOUNDARY_END.exec(ahead)?.[0];
    if (line === undefined) break;
    const part = bytes.subarray(start, end - delimiter.length + 2);
    if (number > 0) yield parsePart(part, number);
    if (line === "--") return;
    start = end + line.length;
    end = endOf(delimiter, bytes, start);
  }
  const state = "its closing boundary is missing, or text follows a boundary";
  throw refusal(400, SOURCE, state);
}

/** Parses a part; its bytes go from the line break before the headers to the one after the content. */
function parsePart(bytes: Bytes, number: number) {
  const source = `the headers of part ${number} of the form`;
  const end = endOf(BLANK_LINE, bytes.subarray(0, MAX_HEADER_BYTES));
  if (end === -1) {
    const status = bytes.length > MAX_HEADER_BYTES ? 413 : 400;
    const state = `there is no blank line within ${MAX_HEADER_BYTES} bytes`;
    throw refusal(status, source, state);
  }
  const text = headerText(bytes.subarray(0, end - 4), source);
  const headers = pairsOf(text, HEADER, source);
  const disposition = headers.get("content-disposition") ?? "";
  const parameters = parametersOf(disposition, source);
  const name = parameters.get("name");
  if (name === undefined || !/^form-data\s*;/i.test(disposition)) {
    const state = "there is no Content-Disposition: form-data with a name";
    throw refusal(400, source, state);
  }
  // RFC 7578, section 4.2 forbids `filename*`: the part is a file all the same, its name is not decoded.
  const filename = parameters.get("filename") ?? parameters.get("filename*");
  return {
    name: unescapeName(name),
    filename: filename && unescapeName(filename),
    type: headers.get("content-type")?.trim() ?? "application/octet-stream",
    content: bytes.subarray(end, -2),
  };
}

function headerText(bytes: Bytes, source: string): string {
  try {
    strictUtf8 ??= new TextDecoder("utf-8", { fatal: true });
    return strictUtf8.decode(bytes);
  } catch (cause) {
    throw refusal(400, source, "it is not UTF-8", { cause });
  }
}

/** Undoes the escapes of quotes and line breaks of the HTML standard, and of quotes in RFC 2045. */
function unescapeName(name: string): string {
  return name.replace(/\\"/g, '"').replace(/%22|%0D|%0A/g, decodeURIComponent);
}

function parametersOf(header: string, source: string): Map<string, string> {
  return pairsOf(header.trim().replace(/^[^;]*/, ""), PARAMETER, source);
}

/** Reads the pairs of a text; they must fill it without gaps, and none may be repeated. */
function pairsOf(text: string, pair: RegExp, source: string) {
  const pairs = new Map<string, string>();
  let end = 0;
  for (const [whole, name, value, unquoted] of text.matchAll(pair)) {
    const key = name!.toLowerCase();
    if (pairs.has(key)) break;
    pairs.set(key, value ?? unquoted ?? "");
    end += whole.length;
  }
  if (end === text.length) return pairs;
  const rest = JSON.stringify(text.slice(end, end + 40));
  throw refusal(
    400,
    source,
    `a header or parameter is malformed or repeated at ${rest}`,
  );
}

/**
 * The index after the first occurrence of a sequence, or -1. Only the first byte of the sequences that are
 * searched for can begin a match after a mismatch, so one pass without a step back finds them.
 */
function endOf(sequence: Bytes, bytes: Bytes, from = 0, matched = 0): number {
  for (let at = from; at < bytes.length; at++) {
    if (bytes[at] !== sequence[matched]) {
      matched = bytes[at] === CARRIAGE_RETURN ? 1 : 0;
    } else if (++matched === sequence.length) return at + 1;
  }
  return -1;
}
