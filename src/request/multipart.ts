/**
 * Owns the multipart form of RFC 7578: telling its parts apart in the bytes, without a copy, and
 * making fields and files of them. It is strict: what cannot be read is refused, never passed over.
 */

import type { Bytes, Fields } from "./fields.ts";
import { decode, mostFields, nest, refusal } from "./fields.ts";
import { type Files, UploadedFile } from "./upload.ts";

const source = "the multipart form";

/** The most parts of each kind in one form. */
const most = { fields: mostFields, files: 100 };

const mostHeaderBytes = 8_192;

const blankLine = new TextEncoder().encode("\r\n\r\n");

const carriageReturn = 13;

/** What ends the line of a boundary: it is the last, or padding and a line break follow. */
const boundaryEnd = /^(?:--|[ \t]*(?=\r\n))/;

/** One header of a part, with the line break before it. */
const headerPair = /\r\n([^\s:]+):[ \t]*([^\r\n]*)/gy;

/**
 * One parameter of a header, quoted or not. A backslash before a quote escapes it, except before
 * the quote that ends the value: browsers send every backslash as it is.
 */
const parameterPair =
  /\s*;\s*([^\s=;"]+)\s*=\s*(?:"((?:\\"|[^"])*)"|([^\s;"]*))\s*(?:;?$|(?=;))/gy;

/** Text is UTF-8 whatever its part says, as browsers send it; a byte order mark belongs to it. */
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

type Part = ReturnType<typeof readPart>;

/**
 * Reads a multipart form. Throws {@linkcode HttpError} 400 when anything in it is malformed or it
 * was cut short, and 413 as soon as it has more than 1,000 fields or 100 files, or a part more than
 * 8 KiB of headers.
 */
export function readForm(
  bytes: Bytes,
  type: string,
): { data: Fields; files: Files } {
  const parts = { fields: [] as Part[], files: [] as Part[] };
  for (const part of partsOf(bytes, type)) {
    const kind = part.filename === undefined ? "fields" : "files";
    if (parts[kind].push(part) <= most[kind]) continue;
    throw refusal(413, source, `it has more than ${most[kind]} ${kind}`);
  }
  const { fields, files } = parts;
  const given = files.filter((file) => file.filename || file.content.length);
  return {
    data: nest(fields.map(({ name, content }) => [name, utf8.decode(content)])),
    files: nest(given.map((part) => [part.name, uploadOf(part)])),
  };
}

function* partsOf(bytes: Bytes, type: string): Generator<Part> {
  const boundary = parametersOf(type, source).get("boundary");
  if (!boundary) throw refusal(400, source, "its Content-Type has no boundary");
  const delimiter = new TextEncoder().encode(`\r\n--${boundary}`);
  let start = 0;
  let end = endOf(delimiter, bytes, 0, 2); // the first may lack the line break before it
  for (let number = 0; end !== -1; number++) {
    const ahead = utf8.decode(bytes.subarray(end, end + 64));
    const line = boundaryEnd.exec(ahead)?.[0];
    if (line === undefined) break;
    const part = bytes.subarray(start, end - delimiter.length + 2);
    if (number > 0) yield readPart(part, number);
    if (line === "--") return;
    start = end + line.length;
    end = endOf(delimiter, bytes, start);
  }
  const state = "its closing boundary is missing, or the line of one goes on";
  throw refusal(400, source, state);
}

/** Reads a part from the line break before its headers to the one after its content, a view. */
function readPart(bytes: Bytes, number: number) {
  const place = `the headers of part ${number} of the form`;
  const end = endOf(blankLine, bytes.subarray(0, mostHeaderBytes));
  if (end === -1) {
    const status = bytes.length > mostHeaderBytes ? 413 : 400;
    throw refusal(status, place, `no blank line in ${mostHeaderBytes} bytes`);
  }
  const text = decode(bytes.subarray(0, end - 4), "", place);
  const headers = pairsOf(text, headerPair, place);
  const disposition = headers.get("content-disposition") ?? "";
  const parameters = parametersOf(disposition, place);
  const name = parameters.get("name");
  if (name === undefined || !/^form-data\s*;/i.test(disposition)) {
    throw refusal(400, place, "no Content-Disposition of form-data and a name");
  }
  // RFC 7578 section 4.2 forbids the second: it still marks a file, under the name as it came.
  const filename = parameters.get("filename") ?? parameters.get("filename*");
  return {
    name: unescapeName(name),
    filename: filename && unescapeName(filename),
    type: headers.get("content-type")?.trim() ?? "application/octet-stream",
    content: bytes.subarray(end, -2),
  };
}

/** Undoes how the HTML standard writes quotes and line breaks, and RFC 2045 quotes, in a name. */
function unescapeName(name: string): string {
  return name.replace(/\\"/g, '"').replace(/%22|%0D|%0A/g, decodeURIComponent);
}

function parametersOf(header: string, place: string): Map<string, string> {
  return pairsOf(header.trim().replace(/^[^;]*/, ""), parameterPair, place);
}

/** Reads pairs that fill a text to its end: with nothing between them, and none twice. */
function pairsOf(text: string, pair: RegExp, place: string) {
  const pairs = new Map<string, string>();
  let end = 0;
  for (const [whole, name, value, unquoted] of text.matchAll(pair)) {
    const key = name!.toLowerCase();
    if (pairs.has(key)) break;
    pairs.set(key, value ?? unquoted!);
    end += whole.length;
  }
  if (end === text.length) return pairs;
  const rest = JSON.stringify(text.slice(end, end + 40));
  throw refusal(400, place, `malformed or repeated at ${rest}`);
}

/**
 * Where a sequence ends for the first time, or -1. In both sequences that are looked for, what
 * begins before a mismatch is at most their first byte, so one pass without a step back finds them.
 */
function endOf(sequence: Bytes, bytes: Bytes, from = 0, matched = 0): number {
  for (let at = from; at < bytes.length; at++) {
    if (bytes[at] !== sequence[matched]) {
      matched = bytes[at] === carriageReturn ? 1 : 0;
    } else if (++matched === sequence.length) return at + 1;
  }
  return -1;
}

function uploadOf({ filename = "", type, content }: Part): UploadedFile {
  return new UploadedFile([content], filename, { type });
}
