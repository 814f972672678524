/** Owns what HTTP says and both the core and extensions ask: methods, statuses, headers, origins and media types. */

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
export function checkOrigin(action: string, origin: unknown): void {
  if (isOrigin(origin)) return;
  throw new TypeError(
    `Cannot ${action} the origin ${Deno.inspect(origin)}: ` +
      'it must look like "https://example.com" or "http://localhost:8000"; for many origins, give a function',
  );
}

function isOrigin(value: unknown): boolean {
  if (typeof value !== "string" || !ORIGIN.test(value)) return false;
  const origin = URL.parse(value)?.origin;
  // The URL standard gives no origin for unknown schemes, such as that of an app.
  return origin === value || origin === "null";
}

/** Matches a Content-Type of JSON, such as `application/json` or `application/problem+json`. */
export const JSON_TYPE =
  /^\s*(?:(?:application|text)\/|[^/;\s]+\/[^;\s]+\+)json\s*(?:;|$)/i;

/** The type of JSON that the framework sends. */
export const JSON_UTF8 = "application/json; charset=utf-8";

/** The types of files that applications make, by their extensions. */
const TYPES = new Map(
  ("txt text/plain|csv text/csv|md text/markdown|html text/html|css text/css|js text/javascript|" +
    "mjs text/javascript|ics text/calendar|vcf text/vcard|xml text/xml|json application/json|" +
    "geojson application/geo+json|jsonl application/jsonl|pdf application/pdf|rtf application/rtf|" +
    "epub application/epub+zip|zip application/zip|gz application/gzip|tar application/x-tar|" +
    "7z application/x-7z-compressed|sqlite application/vnd.sqlite3|wasm application/wasm|" +
    "doc application/msword|xls application/vnd.ms-excel|ppt application/vnd.ms-powerpoint|" +
    "docx application/vnd.openxmlformats-officedocument.wordprocessingml.document|" +
    "xlsx application/vnd.openxmlformats-officedocument.spreadsheetml.sheet|" +
    "pptx application/vnd.openxmlformats-officedocument.presentationml.presentation|" +
    "odt application/vnd.oasis.opendocument.text|ods application/vnd.oasis.opendocument.spreadsheet|" +
    "png image/png|jpg image/jpeg|jpeg image/jpeg|gif image/gif|webp image/webp|avif image/avif|" +
    "svg image/svg+xml|ico image/x-icon|tif image/tiff|tiff image/tiff|mp3 audio/mpeg|m4a audio/mp4|" +
    "ogg audio/ogg|wav audio/wav|flac audio/flac|mp4 video/mp4|webm video/webm|mov video/quicktime|" +
    "ttf font/ttf|otf font/otf|woff font/woff|woff2 font/woff2")
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
