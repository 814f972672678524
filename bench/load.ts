/**
 * Owns the load: requests over kept connections, one at a time on each, and how long they took. Every
 * response must be as long as the first one, of which status and content are checked too.
 */

import type { Case } from "./cases.ts";

/** The size of a load. */
export interface Load {
  readonly requests: number;
  readonly connections: number;
}

/** What the requests took, in milliseconds. */
export interface Latency {
  /** 99 of 100 took no longer. */
  readonly p99: number;
  /** The load as a whole. */
  readonly total: number;
}

/** How long one response may take, in milliseconds. */
const LIMIT = 30_000;

/** Sends a number of requests, of several cases in turns; throws when a response is wrong. */
export async function send(
  port: number,
  cases: readonly Case[],
  { requests, connections }: Load,
): Promise<Latency> {
  const exchanges: { bytes: Uint8Array; length: number }[] = [];
  for (const each of cases) {
    const length = await check(port, each);
    exchanges.push({ bytes: encode(each, port), length });
  }
  const times = new Float64Array(requests);
  let sent = 0;
  const work = async (): Promise<void> => {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port });
    connection.setNoDelay();
    const buffer = new Uint8Array(65_536);
    while (sent < requests) {
      const place = sent++;
      const { bytes, length } = exchanges[place % exchanges.length]!;
      const start = performance.now();
      await writeAll(connection, bytes);
      await readExactly(connection, buffer, length);
      times[place] = performance.now() - start;
    }
  };
  const begin = performance.now();
  await Promise.all(Array.from({ length: connections }, work));
  const total = performance.now() - begin;
  return { p99: at(times.sort(), 0.99), total };
}

/**
 * Sends one request on a connection of its own and returns how many bytes came back; throws when the
 * status or the content is wrong.
 */
export async function check(port: number, wanted: Case): Promise<number> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const timer = setTimeout(() => connection.close(), LIMIT);
  await writeAll(connection, encode(wanted, port));
  const buffer = new Uint8Array(65_536);
  let text = "";
  while (!isComplete(text)) {
    const size = await connection.read(buffer);
    if (size === null) throw wrongResponse(wanted, text, "it ended early");
    text += Array.from(buffer.subarray(0, size), toCharacter).join("");
  }
  clearTimeout(timer);
  const [status] = /(?<=^HTTP\/1\.1 )\d+/.exec(text) ?? [];
  if (Number(status) !== wanted.status) {
    throw wrongResponse(wanted, text, "its status");
  }
  if (!text.includes(wanted.contains)) {
    throw wrongResponse(wanted, text, "its content");
  }
  return text.length;
}

const toCharacter = (byte: number): string => String.fromCharCode(byte);

/** Whether a response, read as Latin-1, is complete. */
function isComplete(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const [length] = /(?<=\r\ncontent-length: *)\d+/i.exec(text) ?? [];
  return length === undefined
    ? text.endsWith("\r\n0\r\n\r\n")
    : text.length >= end + 4 + Number(length);
}

function wrongResponse({ path }: Case, text: string, what: string): Error {
  const got = JSON.stringify(text.slice(0, 500));
  return new Error(`The response to "${path}" is wrong: ${what}, in ${got}`);
}

function encode(
  { method = "GET", path, headers = {}, body }: Case,
  port: number,
): Uint8Array<ArrayBuffer> {
  const lines = [`${method} ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`];
  for (const name in headers) lines.push(`${name}: ${headers[name]}`);
  const [type, text = ""] = body ?? [];
  if (type !== undefined) {
    lines.push(`Content-Type: ${type}`, `Content-Length: ${text.length}`);
  }
  return new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n${text}`);
}

async function writeAll(
  connection: Deno.Conn,
  bytes: Uint8Array,
): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    written += await connection.write(bytes.subarray(written));
  }
}

async function readExactly(
  connection: Deno.Conn,
  buffer: Uint8Array,
  length: number,
): Promise<void> {
  let left = length;
  while (left > 0) {
    const size = await connection.read(buffer);
    if (size === null) throw new Error("The server closed a connection");
    left -= size;
  }
  if (left < 0) throw new Error(`A response is ${-left} bytes too long`);
}

/** The value below which a share of the sorted values lies. */
function at(sorted: Float64Array, share: number): number {
  return sorted[
    Math.min(sorted.length - 1, Math.floor(sorted.length * share))
  ]!;
}
