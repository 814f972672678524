/** Owns the load: requests over kept connections, one at a time on each, all responses checked. */

import type { Limit } from "./plan.ts";
import type { Row } from "./rows.ts";

/** The connections of a load. */
export const CONNECTIONS = 32;

/** How long a load may hang, in seconds. */
const PATIENCE = 60;

/** What a load was. */
export interface Load {
  readonly requests: number;
  /** The milliseconds that 99 of 100 requests took at most. */
  readonly p99: number;
}

/** Sends requests until a limit is reached; throws when a response is wrong or does not come. */
export async function load(
  port: number,
  row: Row,
  { requests, seconds }: Limit,
): Promise<Load> {
  const message = encode(row, port);
  const times: number[] = [];
  const end = performance.now() + seconds * 1_000;
  let sent = 0;
  const send = async (): Promise<void> => {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port });
    connection.setNoDelay();
    const buffer = new Uint8Array(8_192);
    const limit = (seconds + PATIENCE) * 1_000;
    const timer = setTimeout(() => connection.close(), limit);
    do {
      sent++;
      const begin = performance.now();
      await write(connection, message);
      check(await read(connection, buffer), row);
      times.push(performance.now() - begin);
    } while (sent < requests && performance.now() < end);
    clearTimeout(timer);
  };
  const connections = Math.min(CONNECTIONS, requests);
  await Promise.all(Array.from({ length: connections }, send));
  times.sort((a, b) => a - b);
  return { requests: sent, p99: times[Math.floor(sent * 0.99)]! };
}

function encode(row: Row, port: number): Uint8Array<ArrayBuffer> {
  const { path, headers, body } = row;
  const lines = Object.entries({ Host: `127.0.0.1:${port}`, ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`);
  const method = body === undefined ? "GET" : "POST";
  const head = `${method} ${path} HTTP/1.1\r\n${lines.join("")}`;
  return new TextEncoder().encode(`${head}\r\n${body ?? ""}`);
}

async function write(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    written += await connection.write(bytes.subarray(written));
  }
}

const decoder = new TextDecoder();

/** Reads one response. */
async function read(
  connection: Deno.Conn,
  buffer: Uint8Array,
): Promise<string> {
  let text = "";
  while (!isComplete(text)) {
    const size = await connection.read(buffer);
    if (size === null) throw new Error("The server closed a connection");
    text += decoder.decode(buffer.subarray(0, size));
  }
  return text;
}

/** Whether a response has all of its body, by its length or as the last chunk. */
function isComplete(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
  return length === undefined
    ? text.endsWith("\r\n0\r\n\r\n")
    : text.length >= end + 4 + Number(length);
}

function check(text: string, { path, status, contains }: Row): void {
  if (text.startsWith(`HTTP/1.1 ${status} `) && text.includes(contains)) return;
  const got = JSON.stringify(text.slice(0, 500));
  throw new Error(`The response to "${path}" is wrong: ${got}`);
}
