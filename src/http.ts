/**
 * Owns what HTTP says and both the core and extensions ask: methods, statuses, headers, origins, media types, and the
 * response with a file, which `@std/http/file-server` makes.
 */

import { refusal } from "./errors.ts";
import { withoutRequest } from "./waiting.ts";

/** The methods that change nothing (RFC 9110, section 9.2.1): `guard` lets them pass. */
export const SAFE_METHODS: ReadonlySet<string> = new Set(
  ["GET", "HEAD", "OPTIONS", "TRACE"],
);

/** The methods that a form can ask for by `_method`. None is safe: another site could make a form pass by it. */
export const OVERRIDES: readonly string[] = ["PUT", "PATCH", "DELETE"];

/** The statuses without a body (Fetch standard, "null body status"), but 103, which Deno never sends. */
export const NULL_BODY: ReadonlySet<number> = new Set([101, 204, 205, 304]);

const UNSAFE = /[^\t\x20-\x7e\x80-\xff]/;

/** Whether a header can contain a text. */
export function isHeaderText(text: string): boolean {
  return !UNSAFE.test(text);
}

/** The value of `Vary` with one more name, unless it is there already. */
export function varyBy(name: string, vary: string | null): string {
  if (!vary) return name;
  const names = vary.toLowerCase().split(/[\s,]+/);
  const isKnown = names.includes("*") || names.includes(name.toLowerCase());
  return isKnown ? vary : `${vary}, ${name}`;
}

/** A scheme and a host, and a port where it is not the scheme's own; no pattern, since origins are compared whole. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^/?#@\s*]+$/;

/** Throws `TypeError` unless a value is an origin in the form that browsers send, so that the two can be compared. */
export function checkOrigin(action: string, value: unknown): void {
  const origin = URL.parse(String(value))?.origin;
  // The URL standard gives no origin for unknown schemes, such as that of an app.
  const isOrigin = origin === value || origin === "null";
  if (isOrigin && ORIGIN.test(String(value))) return;
  throw new TypeError(
    `Cannot ${action} the origin "${value}": it must look like "https://example.com"; for many, give a function`,
  );
}

/** Matches a Content-Type of JSON, such as `application/json` or `application/problem+json`. */
export const JSON_TYPE =
  /^\s*(?:(?:application|text)\/|[^/;\s]+\/[^;\s]+\+)json\s*(?:;|$)/i;

/** The type of JSON that the framework sends. */
export const JSON_UTF8 = "application/json; charset=utf-8";

/** The types of files that applications make, by their extensions. */
const TYPES = new Map(
  ("txt text/plain|csv text/csv|md text/markdown|html text/html|css text/css|js text/javascript|" +
    "ics text/calendar|vcf text/vcard|xml text/xml|json application/json|geojson application/geo+json|" +
    "jsonl application/jsonl|pdf application/pdf|epub application/epub+zip|zip application/zip|" +
    "gz application/gzip|tar application/x-tar|sqlite application/vnd.sqlite3|" +
    "docx application/vnd.openxmlformats-officedocument.wordprocessingml.document|" +
    "xlsx application/vnd.openxmlformats-officedocument.spreadsheetml.sheet|" +
    "png image/png|jpg image/jpeg|jpeg image/jpeg|gif image/gif|webp image/webp|avif image/avif|" +
    "svg image/svg+xml|mp3 audio/mpeg|ogg audio/ogg|wav audio/wav|mp4 video/mp4|webm video/webm")
    .split("|").map((line) => line.split(" ") as [string, string]),
);

/** The type of a file by its extension, with UTF-8 for text; undefined for an unknown extension. */
export function typeByExtension(name: string): string | undefined {
  const [, extension = ""] = /\.(\w+)$/.exec(name) ?? [];
  const type = TYPES.get(extension.toLowerCase());
  return type?.startsWith("text/") ? `${type}; charset=utf-8` : type;
}

/** What a server such as `Deno.serve` or `deno serve` passes on about a connection. */
export interface ConnectionInfo {
  /** The client's address. */
  readonly remoteAddr?: Deno.Addr;
}

/** A function from a web request to its response. */
export type Fetch = (
  request: Request,
  info?: ConnectionInfo,
) => Response | Promise<Response>;

// Files: `etag()` and `lastModified()` check the conditions of a request first, so that a 304 opens nothing

/** A file that was found. */
export interface FoundFile {
  readonly path: string;
  readonly info: Deno.FileInfo;
}

/** What a range depends on; an `HttpRequest` is one. */
interface Asking {
  readonly method: string;
  getHeader(name: string): string;
}

/**
 * The id for the strong ETag of a file: its size and its time. Another form of the file, such as a compressed one, needs
 * a name.
 */
export function fileTag({ size, mtime }: Deno.FileInfo, form?: string): string {
  const id = `${size.toString(36)}-${Number(mtime).toString(36)}`;
  return form === undefined ? id : `${id}-${form}`;
}

/**
 * The range that a request asks for, or undefined. Under `If-Range` it counts when that is the tag or the date of the
 * file (RFC 9110, section 13.1.5); give no date where the file has other forms, since these have the same.
 */
export function rangeOf(
  request: Asking,
  tag: string,
  date?: Date | null,
): string | undefined {
  const range = request.getHeader("range");
  if (request.method !== "GET" || range === "") return undefined;
  const condition = request.getHeader("if-range");
  const counts = condition === "" || condition === `"${tag}"` ||
    condition === date?.toUTCString();
  return counts ? range : undefined;
}

/**
 * The response with a file or a range of it: 200 or 206 with type and length, without validators. It opens the file
 * unless the method is HEAD. Rejects with `HttpError` 416 for a range that the file does not have.
 */
export async function fileResponse(
  { path, info }: FoundFile,
  method: string,
  range?: string,
): Promise<Response> {
  const { serveFile } = await withoutRequest(() =>
    import("@std/http/file-server")
  );
  const request = new Request("http://localhost/", {
    method: method === "HEAD" ? method : "GET",
    headers: range === undefined ? {} : { range },
  });
  const response = await serveFile(request, path, { fileInfo: info });
  const { headers, status } = response;
  if (status === 416) {
    await response.body?.cancel();
    const range = headers.get("content-range") ?? "";
    const message = `The file does not have the requested range: ${range}`;
    throw refusal(416, message, { headers: { "content-range": range } });
  }
  for (const name of ["server", "etag", "last-modified"]) headers.delete(name);
  if (!headers.has("content-type")) {
    headers.set("content-type", "application/octet-stream");
  }
  return response;
}
