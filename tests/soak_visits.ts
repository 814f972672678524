/**
 * Owns the visits of the soak: what a client does, what it must get, and how often it does that. Some
 * clients leave in the middle, and some use the connection as no library does.
 */

import { RawConnection } from "./raw_http.ts";

/** A client of the application that the soak serves. */
export class SoakClient implements Disposable {
  readonly #port: number;
  readonly #client: Deno.HttpClient;

  constructor(port: number, connections: number) {
    this.#port = port;
    this.#client = Deno.createHttpClient({ poolMaxIdlePerHost: connections });
  }

  /** Requests a path, over a pool of connections. */
  async get(path: string, init?: RequestInit): Promise<Response> {
    const url = `http://127.0.0.1:${this.#port}${path}`;
    return await fetch(url, { ...init, client: this.#client });
  }

  /** Opens a connection. */
  connect(): Promise<RawConnection> {
    return RawConnection.open(this.#port);
  }

  /** Opens a WebSocket. */
  socket(path: string): WebSocket {
    return new WebSocket(`ws://127.0.0.1:${this.#port}${path}`);
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

type Visit = (client: SoakClient, n: string) => Promise<unknown>;

/** What clients do, and how often of a hundred times. */
const VISITS: readonly (readonly [share: number, name: string, Visit])[] = [
  [17, "text", (client, n) => expect(client, `/text/${n}`, 200, `text ${n}`)],
  [14, "own", own],
  [14, "page", page],
  [8, "halt", (client, n) => expect(client, `/halt/${n}`, 410, `halt ${n}`)],
  [8, "fail", (client, n) => expectPart(client, `/fail/${n}`, 500, "500")],
  [5, "loose", loose],
  [5, "late", (client, n) => expect(client, `/late/${n}`, 200, `late ${n}`)],
  [4, "missing", (client, n) => expectPart(client, `/none/${n}`, 404, "404")],
  [4, "malformed", (client) => expectPart(client, "/%zz", 400, "400")],
  [4, "echo", echo],
  [4, "upload", upload],
  [3, "stream", stream],
  [2, "defer", (client, n) => expect(client, `/defer/${n}`, 200, `defer ${n}`)],
  [1, "socket", socket],
  [1, "upgrade refused", refusedUpgrade],
  [1, "pipeline", pipeline],
  [1, "slow head", slowHead],
  [1, "stream left", leaveStream],
  [1, "upload left", leaveUpload],
  [1, "response left", leaveResponse],
  [1, "head left", leaveHead],
];

/** Makes a visit of a random kind, and returns its name. Throws when it gets what it must not. */
export async function visitOnce(client: SoakClient): Promise<string> {
  let number = Math.random() * 100;
  const [, name, visit] = VISITS.find(([share]) => (number -= share) < 0)!;
  await visit(client, crypto.randomUUID());
  return name;
}

// Visits that wait for the response

async function own(client: SoakClient, n: string): Promise<void> {
  const response = await client.get(`/own/${n}`);
  if (response.headers.get("x-own") !== n) {
    throw new Error(`The header of ${n} is another request's`);
  }
  await check(response, 200, JSON.stringify({ own: n, url: `/own/${n}` }));
}

/** Deno reports a rejection that nobody awaits in its own time: the response may be out by then. */
async function loose(client: SoakClient, n: string): Promise<void> {
  const response = await client.get(`/loose/${n}`);
  const text = await response.text();
  const isRight = response.status === 200
    ? text === ""
    : response.status === 500 && text.includes("500");
  if (!isRight) throw new Error(`${response.url}: ${response.status} ${text}`);
}

async function page(client: SoakClient, n: string): Promise<void> {
  await expect(client, `/page/${n}`, 200, `<h1>${n}</h1><p>${n}</p>`);
}

async function stream(client: SoakClient, n: string): Promise<void> {
  await expect(client, `/stream/${n}`, 200, `${n} `.repeat(5));
}

async function echo(client: SoakClient, n: string): Promise<void> {
  const body = JSON.stringify({ n, list: [1, { deep: n }] });
  const headers = { "content-type": "application/json" };
  const init = { method: "POST", headers, body };
  await check(await client.get("/echo", init), 200, body);
}

async function upload(client: SoakClient, n: string): Promise<void> {
  const body = new FormData();
  body.set("n", n);
  body.set("file", new Blob([new Uint8Array(100_000)]), "file");
  const response = await client.get("/upload", { method: "POST", body });
  await check(response, 200, JSON.stringify({ n, size: 100_000 }));
}

async function socket(client: SoakClient, n: string): Promise<void> {
  const socket = client.socket("/socket");
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const closed = new Promise((resolve) => socket.onclose = resolve);
  socket.onopen = () => socket.send(n);
  socket.onmessage = ({ data }) => resolve(data);
  socket.onerror = () => reject(new Error("The WebSocket failed"));
  const echoed = await promise;
  socket.close();
  await closed;
  if (echoed !== n) throw new Error(`The WebSocket sent ${echoed}, not ${n}`);
}

async function refusedUpgrade(client: SoakClient): Promise<void> {
  using connection = await client.connect();
  await connection.send(
    "GET /members HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\n" +
      "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
  );
  checkRaw(await connection.receive("Members only"), 403, "Members only");
}

/** Five requests before the first response, from a client that then closes its end. */
async function pipeline(client: SoakClient, n: string): Promise<void> {
  using connection = await client.connect();
  const requests = [1, 2, 3, 4, 5].map((count) =>
    `GET /own/${n}-${count} HTTP/1.1\r\nHost: a.test\r\n` +
    `Connection: ${count < 5 ? "keep-alive" : "close"}\r\n\r\n`
  );
  await connection.send(requests.join(""));
  const responses = await connection.receive();
  const order = [...responses.matchAll(/"own":"([^"]*)"/g)].map(([, own]) =>
    own
  );
  const expected = [1, 2, 3, 4, 5].map((count) => `${n}-${count}`);
  if (order.join() !== expected.join()) {
    throw new Error(`The responses are ${order}, not ${expected}`);
  }
}

/** A head in ten pieces, and a client that closes its end before the response. */
async function slowHead(client: SoakClient, n: string): Promise<void> {
  using connection = await client.connect();
  const head = `GET /text/${n} HTTP/1.1\r\nHost: a.test\r\n\r\n`;
  for (const piece of head.match(/[^]{1,10}/g)!) {
    await connection.send(piece);
    await pause(2);
  }
  checkRaw(await connection.receive(n), 200, `text ${n}`);
  await connection.end();
  await connection.receive();
}

// Visits that leave in the middle

async function leaveStream(client: SoakClient): Promise<void> {
  const response = await client.get("/endless");
  const reader = response.body!.getReader();
  await reader.read();
  await reader.cancel();
}

async function leaveUpload(client: SoakClient): Promise<void> {
  using connection = await client.connect();
  await connection.send(
    "POST /echo HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100000\r\n\r\nhalf",
  );
  await pause(5);
}

async function leaveResponse(client: SoakClient, n: string): Promise<void> {
  using connection = await client.connect();
  await connection.send(`GET /own/${n} HTTP/1.1\r\nHost: a.test\r\n\r\n`);
}

async function leaveHead(client: SoakClient, n: string): Promise<void> {
  using connection = await client.connect();
  await connection.send(`GET /own/${n} HTTP/1.1\r\nHost: a.te`);
  await pause(5);
}

// What a client must get

async function expect(
  client: SoakClient,
  path: string,
  status: number,
  text: string,
): Promise<void> {
  await check(await client.get(path), status, text);
}

async function expectPart(
  client: SoakClient,
  path: string,
  status: number,
  part: string,
): Promise<void> {
  const response = await client.get(path);
  const text = await response.text();
  if (response.status === status && text.includes(part)) return;
  throw new Error(`${response.url}: ${response.status} ${text}`);
}

async function check(
  response: Response,
  status: number,
  expected: string,
): Promise<void> {
  const text = await response.text();
  if (response.status === status && text === expected) return;
  throw new Error(
    `${response.url}: ${response.status} ${text}, not ${status} ${expected}`,
  );
}

function checkRaw(response: string, status: number, part: string): void {
  if (response.startsWith(`HTTP/1.1 ${status} `) && response.includes(part)) {
    return;
  }
  throw new Error(`The response is ${response}, not ${status} ${part}`);
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
