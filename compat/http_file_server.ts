/** Stands in for `serveFile` of `@std/http/file-server`, of a file that is there: types, validators and one range. */

/** What is known of a file beforehand. */
interface ServeFileOptions {
  fileInfo: Deno.FileInfo;
}

/** From which byte to which, both included. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/** The media types of files, by extension; texts are UTF-8. */
const TYPES: Readonly<Record<string, string>> = {
  avif: "image/avif",
  css: "text/css; charset=UTF-8",
  csv: "text/csv; charset=UTF-8",
  gif: "image/gif",
  htm: "text/html; charset=UTF-8",
  html: "text/html; charset=UTF-8",
  ico: "image/vnd.microsoft.icon",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  js: "text/javascript; charset=UTF-8",
  json: "application/json; charset=UTF-8",
  map: "application/json; charset=UTF-8",
  md: "text/markdown; charset=UTF-8",
  mjs: "text/javascript; charset=UTF-8",
  mp3: "audio/mpeg",
  mp4: "video/mp4",
  otf: "font/otf",
  pdf: "application/pdf",
  png: "image/png",
  svg: "image/svg+xml",
  ttf: "font/ttf",
  txt: "text/plain; charset=UTF-8",
  wasm: "application/wasm",
  webm: "video/webm",
  webmanifest: "application/manifest+json",
  webp: "image/webp",
  woff: "font/woff",
  woff2: "font/woff2",
  xml: "text/xml; charset=UTF-8",
  zip: "application/zip",
};

/** The response to a GET or HEAD without conditions. */
export async function serveFile(
  request: Request,
  path: string,
  { fileInfo }: ServeFileOptions,
): Promise<Response> {
  const { size } = fileInfo;
  const headers = await headersOf(path, fileInfo);
  if (request.method === "HEAD") {
    headers.set("content-length", `${size}`);
    return new Response(null, { headers });
  }
  const range = size > 0 && rangeOf(request, size);
  if (!range) return await send(path, { start: 0, end: size - 1 }, headers);
  const { start, end } = range;
  if (end < 0 || end < start || start >= size) {
    headers.set("content-range", `bytes */${size}`);
    return new Response(null, { status: 416, headers });
  }
  const part = { start: Math.max(0, start), end: Math.min(end, size - 1) };
  headers.set("content-range", `bytes ${part.start}-${part.end}/${size}`);
  return await send(path, part, headers, size);
}

async function headersOf(
  path: string,
  { mtime, size }: Deno.FileInfo,
): Promise<Headers> {
  const headers = new Headers({ server: "deno", "accept-ranges": "bytes" });
  const type = TYPES[/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? ""];
  if (type) headers.set("content-type", type);
  if (mtime === null) return headers;
  const bytes = new TextEncoder().encode(mtime.toJSON());
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const tag = btoa(String.fromCharCode(...hash)).slice(0, 27);
  headers.set("etag", `W/"${size.toString(16)}-${tag}"`);
  headers.set("last-modified", mtime.toUTCString());
  return headers;
}

/** The range that a request asks for, as it says; undefined when it asks for none, or for several. */
function rangeOf(request: Request, size: number): Range | undefined {
  const header = request.headers.get("range") ?? "";
  const [, start = "", end = ""] = /bytes=(\d*)-(\d*)$/.exec(header) ?? [];
  if (start === "") {
    return end === ""
      ? undefined
      : { start: size - Number(end), end: size - 1 };
  }
  return { start: Number(start), end: end === "" ? size - 1 : Number(end) };
}

async function send(
  path: string,
  { start, end }: Range,
  headers: Headers,
  size?: number,
): Promise<Response> {
  headers.set("content-length", `${end - start + 1}`);
  const file = await Deno.open(path);
  if (size === undefined) return new Response(file.readable, { headers });
  await file.seek(start, Deno.SeekMode.Start);
  const body = file.readable.pipeThrough(firstBytes(end - start + 1));
  return new Response(body, { status: 206, headers });
}

function firstBytes(count: number): TransformStream<Uint8Array, Uint8Array> {
  let left = count;
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left));
      left -= chunk.length;
      if (left <= 0) controller.terminate();
    },
  });
}
