/**
 * Owns the limit on what waits for the client of a WebSocket. Deno buffers what a client has not read yet,
 * without a limit, and cannot drop it: so Deno is given little at a time, and the rest waits here, where it can
 * be dropped.
 */

/** Deno is given no more while it buffers this many bytes. */
const AHEAD = 1024 * 1024;

/** How many bytes a waiting message takes besides its content. */
const OVERHEAD = 64;

/** The milliseconds between two checks of a client that is behind: doubled each time, from the first to the last. */
const [SOONEST, LATEST] = [4, 256];

/** Try again later (the WebSocket close code registry of IANA). */
const TOO_SLOW = 1013;

type Message = Parameters<WebSocket["send"]>[0];

/**
 * Closes a socket with the status 1013 when more than `limit` bytes would wait for its client, and drops them.
 * Its `close` event comes at once then, since a client that does not read would never confirm it.
 */
export function boundSocket(socket: WebSocket, limit: number): void {
  const outbox = new Outbox(socket, limit);
  Object.defineProperties(socket, {
    send: { value: (data: unknown) => outbox.send(data) },
    close: {
      value: (code?: number, reason?: string) => outbox.close(code, reason),
    },
    bufferedAmount: { get: () => outbox.amount },
    readyState: { get: () => outbox.state },
  });
}

/** The messages that wait for the client of a socket. */
class Outbox {
  readonly #socket: WebSocket;
  readonly #limit: number;
  readonly #waiting: [data: Message, bytes: number][] = [];
  #bytes = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #delay = SOONEST;
  /** What the application closes the socket with, once all messages are sent. */
  #closing: Parameters<WebSocket["close"]> | undefined;
  #hasGivenUp = false;
  #hasEnded = false;

  constructor(socket: WebSocket, limit: number) {
    this.#socket = socket;
    this.#limit = limit;
    // Added first, so that it runs before the application's own listeners.
    for (const type of ["close", "error"]) {
      socket.addEventListener(type, (event) => this.#onEnd(event));
    }
  }

  /** How many bytes wait, here and in Deno. */
  get amount(): number {
    return this.#bytes + this.#ahead;
  }

  get state(): number {
    if (this.#hasGivenUp) return WebSocket.CLOSED;
    const state = this.#native<number>("readyState");
    const isClosing = this.#closing !== undefined && state === WebSocket.OPEN;
    return isClosing ? WebSocket.CLOSING : state;
  }

  /** Sends a message as soon as the client is ready for it. */
  send(given: unknown): void {
    if (this.state > WebSocket.OPEN) return;
    const data = messageOf(given);
    const bytes = bytesOfMessage(data);
    const { amount } = this;
    const overhead = this.#waiting.length * OVERHEAD;
    if (amount > 0 && amount + overhead + bytes > this.#limit) {
      return this.#giveUp();
    }
    if (this.#waiting.length === 0 && this.#ahead < AHEAD) {
      return WebSocket.prototype.send.call(this.#socket, data);
    }
    this.#waiting.push([copyOf(data), bytes]);
    this.#bytes += bytes;
    this.#timer ??= setTimeout(() => this.#sendWaiting(), this.#delay);
  }

  /** Closes the socket after the messages that wait; a further call does nothing. Throws what Deno throws. */
  close(code?: number, reason?: string): void {
    const isWaiting = this.state !== WebSocket.CLOSED &&
      this.#waiting.length > 0;
    if (!isWaiting) {
      return WebSocket.prototype.close.call(this.#socket, code, reason);
    }
    checkClose(code, reason);
    this.#closing ??= [code, reason];
  }

  /** How many bytes wait in Deno. */
  get #ahead(): number {
    return this.#native<number>("bufferedAmount");
  }

  #native<Value>(name: keyof WebSocket): Value {
    return Reflect.get(WebSocket.prototype, name, this.#socket) as Value;
  }

  #sendWaiting(): void {
    this.#timer = undefined;
    const { length } = this.#waiting;
    while (this.#waiting.length > 0 && this.#ahead < AHEAD) {
      const [data, bytes] = this.#waiting.shift()!;
      this.#bytes -= bytes;
      WebSocket.prototype.send.call(this.#socket, data);
    }
    const isBehind = this.#waiting.length === length;
    this.#delay = isBehind ? Math.min(this.#delay * 2, LATEST) : SOONEST;
    if (this.#waiting.length > 0) {
      this.#timer = setTimeout(() => this.#sendWaiting(), this.#delay);
    } else if (this.#closing !== undefined) {
      WebSocket.prototype.close.apply(this.#socket, this.#closing);
    }
  }

  #giveUp(): void {
    this.#hasGivenUp = true;
    this.#drop();
    const reason = "This client reads too slowly";
    WebSocket.prototype.close.call(this.#socket, TOO_SLOW, reason);
    const init = { code: TOO_SLOW, reason, wasClean: false };
    const event = new CloseEvent("close", init);
    queueMicrotask(() => this.#socket.dispatchEvent(event));
  }

  #drop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waiting.length = this.#bytes = 0;
  }

  /** Leaves the application one event for the end, although Deno's own may follow. */
  #onEnd(event: Event): void {
    if (this.#hasEnded && this.#hasGivenUp) event.stopImmediatePropagation();
    if (event.type === "close") this.#hasEnded = true;
    this.#drop();
  }
}

/** Throws `DOMException` for what a socket cannot be closed with (WebSockets standard, section 3.1). */
function checkClose(code?: number, reason?: string): void {
  const isCode = code === undefined || code === 1000 ||
    code >= 3000 && code <= 4999;
  if (!isCode) {
    const rule = "the code must be 1000, or from 3000 to 4999";
    throw new DOMException(`Cannot close: ${rule}`, "InvalidAccessError");
  }
  if (reason === undefined || bytesOfMessage(`${reason}`) <= 123) return;
  const rule = "the reason must not be longer than 123 bytes";
  throw new DOMException(`Cannot close: ${rule}`, "SyntaxError");
}

/** What is sent of a value: anything but bytes is text, as in Deno. */
function messageOf(data: unknown): Message {
  const isBytes = data instanceof Blob || data instanceof ArrayBuffer ||
    ArrayBuffer.isView(data);
  return isBytes ? data as Message : `${data}`;
}

function bytesOfMessage(data: Message): number {
  if (typeof data === "string") return new TextEncoder().encode(data).length;
  if (data instanceof Blob) return data.size;
  return data.byteLength;
}

/** A copy of bytes that the application may change while they wait. */
function copyOf(data: Message): Message {
  if (typeof data === "string" || data instanceof Blob) return data;
  if (!ArrayBuffer.isView(data)) return data.slice(0);
  const { buffer, byteOffset, byteLength } = data;
  return new Uint8Array(buffer, byteOffset, byteLength).slice();
}
