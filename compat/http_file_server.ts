/** Stands in for `serveFile` of `@std/http/file-server`, for a file that is there: type, validators and one range. */

import { createReadStream } from "node:fs";
import { Readable } from "node:stream";

interface ServeFileOptions {
  fileInfo: Deno.FileInfo;
}

/** The media types of the files that sites have, by extension. */
const TYPES: Readonly<Record<string, string>> = {
  avif: "image/avif",
  css: "text/css; charset=UTF-8",
  gif: "image/gif",
  html: "text/html; charset=UTF-8",
  ico: "image/vnd.microsoft.icon",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  js: "text/javascript; charset=UTF-8",
  json: "application/json; charset=UTF-8",
  mp4: "video/mp4",
  pdf: "application/pdf",
  png: "image/png",
  svg: "image/svg+xml",
  txt: "text/plain; charset=UTF-8",
  wasm: "application/wasm",
  webp: "image/webp",
  woff2: "font/woff2",
  xml: "text/xml; charset=UTF-8",
  zip: "application/zip",
};

/** Responds to a GET or HEAD without conditions. */
export async function serveFile(
  { method, headers: requested }: Request,
  path: string,
  { fileInfo: { mtime, size } }: ServeFileOptions,
): Promise<Response> {
  const headers = new Headers({ "accept-ranges": "bytes" });
  const type = TYPES[path.split(".").at(-1)!.toLowerCase()];
  if (type !== undefined) headers.set("content-type", type);
  if (mtime !== null) {
    headers.set("etag", `W/"${size}-${mtime.getTime()}"`);
    headers.set("last-modified", mtime.toUTCString());
  }
  headers.set("content-length", `${size}`);
  if (method === "HEAD") return new Response(null, { headers });
  const [, from = "", to = ""] =
    /^bytes=(\d*)-(\d*)$/.exec(requested.get("range") ?? "") ?? [];
  if (size === 0 || `${from}${to}` === "") {
    const { readable } = await Deno.open(path);
    return new Response(readable, { headers });
  }
  const start = from === "" ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === "" || to === "" ? size : Math.min(Number(to) + 1, size);
  if (start >= end) {
    headers.delete("content-length");
    headers.set("content-range", `bytes */${size}`);
    return new Response(null, { status: 416, headers });
  }
  headers.set("content-length", `${end - start}`);
  headers.set("content-range", `bytes ${start}-${end - 1}/${size}`);
  const part = createReadStream(path, { start, end: end - 1 });
  const body = Readable.toWeb(part) as ReadableStream<Uint8Array<ArrayBuffer>>;
  return new Response(body, { status: 206, headers });
}
