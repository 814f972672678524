/** Owns sending one file by `response().file()`: its conditions, its range and its type. */

import type { Context } from "../application/exchange.ts";
import { HttpError } from "../errors.ts";
import { fileResponse, fileTag, rangeOf } from "../http.ts";
import { etag, lastModified } from "./caching.ts";

/** Sends a file. Rejects with {@linkcode HttpError} 404 where there is none, and 416 for a range that it does not have. */
export async function sendFile(context: Context, path: string): Promise<void> {
  const { exchange: { http }, reply } = context;
  const info = await statOf(path);
  const tag = fileTag(info);
  etag(context, tag, "strong");
  if (info.mtime) lastModified(context, info.mtime.getTime() / 1_000);
  const range = rangeOf(http, tag, info.mtime);
  const file = await fileResponse({ path, info }, http.method, range);
  for (const [name, value] of file.headers) {
    const isSet = name === "content-type" && reply.header(name) !== null;
    if (!isSet) reply.setHeader(name, value);
  }
  reply.setStatus(file.status);
  if (file.body) reply.setContent(file.body);
  reply.seal("file()");
}

async function statOf(path: string): Promise<Deno.FileInfo> {
  try {
    const info = await Deno.stat(path);
    if (info.isFile) return info;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  throw new HttpError(404);
}
