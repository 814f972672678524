/**
 * Owns speaking HTTP/1 byte by byte, for what no client would send. What is sent, and what the right
 * answer is, belongs to the tests.
 */

/** An answer as it came. */
export interface RawAnswer {
  /** 0 when the connection ended without one. */
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

  /** What comes until the other end closes the connection, or, where given, until it has been seen. */
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

/** Sends a request whose connection then closes, and reads the answer. */
export async function sendRaw(port: number, text: string): Promise<RawAnswer> {
  using connection = await RawConnection.open(port);
  await connection.send(text);
  const answer = await connection.receive();
  const end = answer.indexOf("\r\n\r\n");
  const head = answer.slice(0, end);
  return {
    status: Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? 0),
    head,
    body: answer.slice(end + 4),
  };
}

/** Waits until nobody takes connections at a port any more. */
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

/** A connection that was reset has ended, too. */
function closed(error: unknown): null {
  if (error instanceof Deno.errors.ConnectionReset) return null;
  throw error;
}
