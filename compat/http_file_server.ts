/** Stands in for `serveFile` of `@std/http/file-server`: types, validators, conditions and one range. */

/** What is known of a file beforehand. */
interface ServeFileOptions {
  /** Saves asking the file system. */
  fileInfo?: Deno.FileInfo;
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

/** The response to a GET or HEAD of a file; 404 where there is none, 405 for another method. */
export async function serveFile(
  request: Request,
  path: string,
  options: ServeFileOptions = {},
): Promise<Response> {
  await request.body?.cancel();
  if (request.method !== "GET" && request.method !== "HEAD") return plain(405);
  const info = options.fileInfo ?? await Deno.stat(path).catch(missing);
  if (info === null || info.isDirectory) return plain(404);
  const headers = await headersOf(path, info);
  if (request.method === "HEAD") {
    headers.set("content-length", `${info.size}`);
    return new Response(null, { headers });
  }
  if (isCurrent(request, headers)) {
    return new Response(null, { status: 304, headers });
  }
  const range = info.size > 0 && rangeOf(request, info.size);
  if (!range) {
    return await send(path, { start: 0, end: info.size - 1 }, headers);
  }
  const { start, end } = range;
  if (end < 0 || end < start || start >= info.size) {
    headers.set("content-range", `bytes */${info.size}`);
    return plain(416, headers);
  }
  const part = { start: Math.max(0, start), end: Math.min(end, info.size - 1) };
  headers.set("content-range", `bytes ${part.start}-${part.end}/${info.size}`);
  return await send(path, part, headers, info.size);
}

function missing(error: unknown): null {
  if (error instanceof Deno.errors.NotFound) return null;
  throw error;
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

/** Whether the client's copy is current: its tags count, or else its date (RFC 9110, section 13.2.2). */
function isCurrent(request: Request, headers: Headers): boolean {
  const bare = (tag: string) => tag.trim().replace(/^W\//, "");
  const [etag, modified] = [headers.get("etag"), headers.get("last-modified")];
  const tags = request.headers.get("if-none-match");
  if (tags !== null) {
    if (etag === null) return false;
    return tags.trim() === "*" ||
      tags.split(",").some((tag) => bare(tag) === bare(etag));
  }
  const since = Date.parse(request.headers.get("if-modified-since") ?? "");
  return modified !== null && Date.parse(modified) <= since;
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

function plain(status: number, headers?: Headers): Response {
  const texts: Record<number, string> = {
    404: "Not Found",
    405: "Method Not Allowed",
    416: "Range Not Satisfiable",
  };
  return new Response(
    texts[status],
    headers ? { status, headers } : { status },
  );
}
