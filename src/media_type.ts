/** Owns what media types mean: which are JSON, and which a file has by its extension. */

/** Matches a Content-Type of JSON, such as `application/json` or `application/problem+json`. */
export const JSON_TYPE =
  /^\s*(?:(?:application|text)\/|[^/;\s]+\/[^;\s]+\+)json\s*(?:;|$)/i;

/** The type of JSON that the framework sends. */
export const JSON_UTF8 = "application/json; charset=utf-8";

/** The types of files that applications make, by their extensions. */
const TYPES: Readonly<Record<string, string>> = {
  txt: "text/plain",
  csv: "text/csv",
  md: "text/markdown",
  html: "text/html",
  css: "text/css",
  js: "text/javascript",
  mjs: "text/javascript",
  ics: "text/calendar",
  vcf: "text/vcard",
  xml: "text/xml",
  json: "application/json",
  geojson: "application/geo+json",
  jsonl: "application/jsonl",
  pdf: "application/pdf",
  rtf: "application/rtf",
  epub: "application/epub+zip",
  zip: "application/zip",
  gz: "application/gzip",
  tar: "application/x-tar",
  "7z": "application/x-7z-compressed",
  sqlite: "application/vnd.sqlite3",
  wasm: "application/wasm",
  doc: "application/msword",
  docx:
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xls: "application/vnd.ms-excel",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  ppt: "application/vnd.ms-powerpoint",
  pptx:
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  odt: "application/vnd.oasis.opendocument.text",
  ods: "application/vnd.oasis.opendocument.spreadsheet",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  svg: "image/svg+xml",
  ico: "image/x-icon",
  tif: "image/tiff",
  tiff: "image/tiff",
  mp3: "audio/mpeg",
  m4a: "audio/mp4",
  ogg: "audio/ogg",
  wav: "audio/wav",
  flac: "audio/flac",
  mp4: "video/mp4",
  webm: "video/webm",
  mov: "video/quicktime",
  ttf: "font/ttf",
  otf: "font/otf",
  woff: "font/woff",
  woff2: "font/woff2",
};

/** The type of a file by its extension, with UTF-8 for text; undefined for an unknown extension. */
export function typeByExtension(name: string): string | undefined {
  const [, extension = ""] = /\.(\w+)$/.exec(name) ?? [];
  const key = extension.toLowerCase();
  const type = Object.hasOwn(TYPES, key) ? TYPES[key] : undefined;
  return type?.startsWith("text/") ? `${type}; charset=utf-8` : type;
}
