/** Owns HTTP/1 byte by byte, for requests that no client library sends. */

/** A response as it arrived. */
export interface RawResponse {
  /** The status; 0 when the connection ended without a response. */
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** An open connection. */
export class RawConnection implements Disposable {
  readonly #connection: Deno.TcpConn;

  private constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
  }

  /** Connects to a port of 127.0.0.1. */
  static async open(port: number): Promise<RawConnection> {
    return new RawConnection(
      await Deno.connect({ hostname: "127.0.0.1", port }),
    );
  }

  /** Sends text, each character as one byte. */
  async send(text: string): Promise<void> {
    let bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    while (bytes.length > 0) {
      bytes = bytes.subarray(await this.#connection.write(bytes));
    }
  }

  /** Reads until the server closes the connection, or until a text has arrived. */
  async receive(until?: string): Promise<string> {
    let text = "";
    const buffer = new Uint8Array(65_536);
    while (until === undefined || !text.includes(until)) {
      const count = await this.#connection.read(buffer).catch(closed);
      if (count === null) break;
      text += String.fromCharCode(...buffer.subarray(0, count));
    }
    return text;
  }

  /** Sends nothing more. */
  async end(): Promise<void> {
    await this.#connection.closeWrite();
  }

  [Symbol.dispose](): void {
    this.#connection.close();
  }
}

/** Sends a request after which the server closes the connection, and returns the response. */
export async function sendRaw(
  port: number,
  text: string,
): Promise<RawResponse> {
  using connection = await RawConnection.open(port);
  await connection.send(text);
  const response = await connection.receive();
  const end = response.indexOf("\r\n\r\n");
  const head = response.slice(0, end);
  return {
    status: Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? 0),
    head,
    body: response.slice(end + 4),
  };
}

/** Waits until a port refuses connections. */
export async function untilRefused(port: number): Promise<void> {
  for (let turn = 0; turn < 2_000; turn++) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    } catch (error) {
      if (error instanceof Deno.errors.ConnectionRefused) return;
      closed(error);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`Cannot wait longer: port ${port} still takes connections`);
}

/** A connection that was reset has ended too. */
function closed(error: unknown): null {
  if (error instanceof Deno.errors.ConnectionReset) return null;
  throw error;
}
