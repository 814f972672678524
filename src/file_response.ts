/**
 * Owns sending one file: the validators, which range counts, and the response with its bytes, by
 * `@std/http/file-server`. That is loaded with the first file. `etag()` and `lastModified()` check the conditions of a
 * request first, so that a 304 opens nothing.
 */

import type { serveFile } from "@std/http/file-server";
import { refusal } from "./errors.ts";
import { withoutRequest } from "./waiting.ts";

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
  const serve = await (loading ??= withoutRequest(load));
  const request = new Request("http://localhost/", {
    method: method === "HEAD" ? method : "GET",
    headers: range === undefined ? {} : { range },
  });
  const response = await serve(request, path, { fileInfo: info });
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

let loading: Promise<typeof serveFile> | undefined;

async function load(): Promise<typeof serveFile> {
  return (await import("@std/http/file-server")).serveFile;
}
