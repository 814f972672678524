/**
 * Owns bodies that come as streams: they run in the scope of their request, whoever reads them, and
 * what nobody will read is given up, so that its source can clean up.
 */

import { slot } from "../runtime.ts";
import { bind } from "../state/scope.ts";

/**
 * Binds a stream to the current request: whoever reads it, its source runs in the request's scope.
 * `hold` is called at once, with what cuts the stream; its answer is called when the stream has ended,
 * failed, was cut, or was given up by the client. A stream of the runtime itself, such as that of a
 * file, runs no code of the application and stays as it is, so that the runtime can send it natively.
 */
export function bindStream(
  source: ReadableStream,
  hold: (cut: (reason: unknown) => void) => () => void,
): ReadableStream {
  if (isNative(source)) return source;
  const reader = source.getReader();
  let done = (): void => {};
  const giveUp = (reason: unknown): void => {
    reader.cancel(reason).catch(() => {}); // it is over, however its source takes it
    done();
  };
  return new ReadableStream<Uint8Array>({
    start: (controller) => {
      done = hold(bind((reason) => {
        controller.error(reason);
        giveUp(reason);
      }));
    },
    pull: bind(async (controller) => {
      try {
        const { done: ended, value } = await reader.read();
        if (!ended) return controller.enqueue(bytesOf(value));
      } catch (error) {
        giveUp(error);
        throw error;
      }
      controller.close();
      done();
    }),
    cancel: bind((reason) => reader.cancel(reason).finally(() => done())),
  }, { highWaterMark: 0 });
}

/** Gives up a body that nobody will read; how it takes that concerns nobody. */
export function discard(body: unknown): void {
  if (body instanceof ReadableStream && !body.locked) {
    body.cancel().catch(() => {});
  }
}

/**
 * The text or bytes that a web response was made of; undefined for a stream, and when the runtime does
 * not tell. Asking for its `body` would turn text into a stream, which takes four times as long to
 * send and loses its Content-Length. So this looks where the runtime keeps it, which is nowhere
 * documented: were it moved, the response would only be slower.
 */
export function valueOf(
  answer: Response,
): string | Uint8Array<ArrayBuffer> | undefined {
  const kept = innerResponse(answer) as Kept | undefined;
  const value = lazyBody(answer) ?? kept?.body?.streamOrStatic?.body;
  const isValue = typeof value === "string" || value instanceof Uint8Array;
  return isValue ? value as string | Uint8Array<ArrayBuffer> : undefined;
}

interface Kept {
  readonly body?: { readonly streamOrStatic?: { readonly body?: unknown } };
}

const innerResponse = slot("response");
const lazyBody = slot("lazy static body");
const resource = slot("[[resourceBacking]]");

function isNative(stream: ReadableStream): boolean {
  return (resource(stream) ?? null) !== null;
}

function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  if (typeof chunk === "string") return new TextEncoder().encode(chunk);
  const got = Deno.inspect(chunk, { depth: 0 });
  throw new TypeError(
    `Cannot send the stream: a chunk must be bytes or text, got ${got}`,
  );
}
