/**
 * Owns the load: requests over kept connections, one at a time on each, and what they took. Every
 * response is checked to be as long as the first one, whose status and body are checked themselves.
 */

import type { Case } from "./cases.ts";

/** How a load is made up. */
export interface Load {
  readonly requests: number;
  readonly connections: number;
}

/** What a load took, in milliseconds a request. */
export interface Latency {
  readonly median: number;
  readonly p99: number;
}

/** How long one response may take, in milliseconds. */
const LIMIT = 30_000;

/** Sends a number of requests and answers how long they took; throws when a response is wrong. */
export async function send(
  port: number,
  asked: Case,
  { requests, connections }: Load,
): Promise<Latency> {
  const bytes = encode(asked, port);
  const length = await check(port, asked);
  const times = new Float64Array(requests);
  let sent = 0;
  const work = async (): Promise<void> => {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port });
    connection.setNoDelay();
    const buffer = new Uint8Array(65_536);
    while (sent < requests) {
      const place = sent++;
      const start = performance.now();
      await writeAll(connection, bytes);
      await readExactly(connection, buffer, length);
      times[place] = performance.now() - start;
    }
  };
  await Promise.all(Array.from({ length: connections }, work));
  times.sort();
  return { median: at(times, 0.5), p99: at(times, 0.99) };
}

/**
 * Sends one request on a connection of its own and answers how many bytes came back; throws when the
 * status or the body is wrong.
 */
export async function check(port: number, asked: Case): Promise<number> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const timer = setTimeout(() => connection.close(), LIMIT);
  await writeAll(connection, encode(asked, port));
  const buffer = new Uint8Array(65_536);
  let text = "";
  while (!isWhole(text)) {
    const size = await connection.read(buffer);
    if (size === null) throw wrong(asked, text, "it ended early");
    text += Array.from(buffer.subarray(0, size), toCharacter).join("");
  }
  clearTimeout(timer);
  const [status] = /(?<=^HTTP\/1\.1 )\d+/.exec(text) ?? [];
  if (Number(status) !== asked.status) throw wrong(asked, text, "its status");
  if (!text.includes(asked.contains)) throw wrong(asked, text, "its body");
  return text.length;
}

const toCharacter = (byte: number): string => String.fromCharCode(byte);

/** Whether a response, read as Latin-1, is complete. */
function isWhole(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const [length] = /(?<=\r\ncontent-length: *)\d+/i.exec(text) ?? [];
  return length === undefined
    ? text.endsWith("\r\n0\r\n\r\n")
    : text.length >= end + 4 + Number(length);
}

function wrong(asked: Case, text: string, what: string): Error {
  return new Error(
    `The answer to "${asked.path}" is wrong: ${what}, in ${
      JSON.stringify(text.slice(0, 500))
    }`,
  );
}

function encode(
  { method = "GET", path, form }: Case,
  port: number,
): Uint8Array<ArrayBuffer> {
  const lines = [`${method} ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`];
  if (form !== undefined) {
    lines.push(
      "Content-Type: application/x-www-form-urlencoded",
      `Content-Length: ${form.length}`,
    );
  }
  return new TextEncoder().encode(
    `${lines.join("\r\n")}\r\n\r\n${form ?? ""}`,
  );
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
