/**
 * Owns uploads: the file a client sent, its way into a folder, and the multipart form it came in.
 * The parsing is the platform's; this file refuses what that parser would drop without a word.
 * Reading the bytes off the connection is the body's.
 */

import { HttpError } from "./errors.ts";
import {
  type Fields,
  mostFields,
  nest,
  type NestedRecord,
  tooMany,
} from "./fields.ts";

/** Uploads by the name of their field: one file, or a list when a name came more than once. */
export type Files = NestedRecord<UploadedFile>;

/** A multipart form, its text apart from its files. */
export interface MultipartForm {
  /** What was typed. */
  readonly fields: Fields;
  /** What was uploaded. */
  readonly files: Files;
}

/** How much a form may hold. */
export interface FormLimits {
  /** The most text fields; 1,000 when not given. */
  readonly fields?: number;
  /** The most files; 100 when not given. */
  readonly files?: number;
}

const mostFiles = 100;

const source = "the multipart form";

const folderEnd = Deno.build.os === "windows" ? /[/\\]$/ : /\/$/;

/** What may not stand in the name of a stored file: each rule with what takes its place. */
const nameRules: readonly (readonly [RegExp, string])[] = [
  [/^.*[/\\]/s, ""], // folders, of either kind of system
  [/^.+(?=.{60}$)/su, ""], // from the front what exceeds a name's 255 bytes: the type is at the end
  [/\p{C}/gu, ""], // NUL, control and invisible characters, such as those that turn the direction
  [/[<>:"|?*]/g, "_"], // what Windows refuses, or reads as a stream of another file
  [/^[.\s]+|[.\s]+$/gu, ""], // "..", hidden files, and ends that Windows drops
  [/^(?=(?:aux|con|nul|prn|com[\d¹²³]|lpt[\d¹²³])\s*(?:\.|$))/i, "_"], // the devices of Windows
  [/^$/, "upload"],
];

/**
 * A file that came with a form. Its `name` and `type` are what the client claims: show them, but
 * never use the name as a path.
 */
export class UploadedFile extends File {
  /** Takes the content with its media type, and the client's name for it. */
  constructor(content: Blob, name: string) {
    super([content], name, { type: content.type });
  }

  /**
   * Stores the file and answers the path it was written to. A path that ends with a slash, or is an
   * existing folder, stores there under the client's name, made harmless; any other is the file's.
   * Needs permission to write the path; a folder without a slash also to read it.
   *
   * @throws {Deno.errors.AlreadyExists} A file is there already; it stays as it was.
   * @throws {Deno.errors.NotFound} The folder does not exist.
   */
  async moveTo(path: string): Promise<string> {
    const isFolder = folderEnd.test(path);
    const target = isFolder ? path + safeName(this.name) : path;
    try {
      await this.#write(target);
      return target;
    } catch (error) {
      const upload = JSON.stringify(this.name);
      const refusal = `Cannot move the upload ${upload} to "${target}"`;
      if (error instanceof Deno.errors.NotFound) {
        throw new Deno.errors.NotFound(`${refusal}: the folder does not exist`);
      }
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
      // What may not be looked at, or leads nowhere, is no folder: the refusal below is thrown.
      const taken = await Deno.stat(path).catch(() => undefined);
      if (!isFolder && taken?.isDirectory) return this.moveTo(`${path}/`);
      throw new Deno.errors.AlreadyExists(
        `${refusal}: a file is there already`,
      );
    }
  }

  async #write(target: string): Promise<void> {
    const file = await Deno.open(target, { write: true, createNew: true });
    try {
      await this.stream().pipeTo(file.writable);
    } catch (error) {
      await Deno.remove(target); // half a file must not look like a whole one
      throw error;
    }
  }
}

/**
 * Reads a multipart form. Throws {@linkcode HttpError} 400 when the boundary is missing, the body
 * was cut short or a part cannot be read, and 413 when it holds more than the limits.
 */
export async function readForm(
  bytes: Uint8Array<ArrayBuffer>,
  type: string,
  limits: FormLimits = {},
): Promise<MultipartForm> {
  const { fields: fieldLimit = mostFields, files: fileLimit = mostFiles } =
    limits;
  const parts = countParts(bytes, boundaryOf(type), fieldLimit + fileLimit);
  const fields: [string, string][] = [];
  const files: [string, File][] = [];
  for (const [name, value] of await parse(bytes, type)) {
    if (typeof value === "string") fields.push([name, value]);
    else files.push([name, value]);
  }
  const lost = parts - fields.length - files.length;
  if (lost !== 0) {
    throw malformed(`${lost} of its ${parts} parts cannot be read`);
  }
  if (fields.length > fieldLimit) {
    throw tooMany(413, source, `${fieldLimit} fields`);
  }
  if (files.length > fileLimit) {
    throw tooMany(413, source, `${fileLimit} files`);
  }
  return { fields: nest(fields, "last"), files: nest(uploadsOf(files), "all") };
}

/** The boundary of RFC 2046 section 5.1.1, from the Content-Type header. */
function boundaryOf(type: string): string {
  const found = /;\s*boundary=(?:"([^"]+)"|([^\s;"]+))/i.exec(type);
  const boundary = found?.[1] ?? found?.[2];
  if (boundary === undefined) {
    throw malformed("its Content-Type has no boundary");
  }
  return boundary;
}

/** Counts the parts up to the closing boundary: without it the parser would drop the last one. */
function countParts(
  bytes: Uint8Array,
  boundary: string,
  limit: number,
): number {
  const text = new TextDecoder("latin1").decode(bytes);
  const line = `(?:^|\\r\\n)--${
    RegExp.escape(boundary)
  }(?:(--)|[ \\t]*(?=\\r\\n))`;
  let parts = 0;
  for (const [, closing] of text.matchAll(new RegExp(line, "g"))) {
    if (closing !== undefined) return parts;
    if (++parts > limit) throw tooMany(413, source, `${limit} parts`);
  }
  throw malformed("its closing boundary is missing");
}

async function parse(
  bytes: Uint8Array<ArrayBuffer>,
  type: string,
): Promise<FormData> {
  try {
    return await new Response(bytes, { headers: { "content-type": type } })
      .formData();
  } catch (cause) {
    throw malformed("its parts cannot be told apart", cause);
  }
}

/** The files proper: a file input that was left empty sends one without name and content. */
function uploadsOf(files: [string, File][]): [string, UploadedFile][] {
  return files
    .filter(([, file]) => file.name !== "" || file.size > 0)
    .map(([field, file]) => [field, new UploadedFile(file, file.name)]);
}

function malformed(state: string, cause?: unknown): HttpError {
  return new HttpError(400, `Cannot read ${source}: ${state}`, { cause });
}

/** The client's name as the name of a file that stays in its folder on every system. */
function safeName(name: string): string {
  return nameRules.reduce(
    (safe, [unsafe, instead]) => safe.replace(unsafe, instead),
    name.normalize("NFC"),
  );
}
