/** Owns bodies that are streams: running their sources in the context of the request, and cancelling them. */

import { ABORTED, isStop, toError, wrongKind } from "../errors.ts";
import { Markup } from "../html.ts";
import { reportError } from "../report.ts";
import { bind } from "../state/current.ts";
import { settlesWithin } from "../waiting.ts";
import type { Delivery } from "./web_response.ts";

/** What a body can be: text, bytes, or a stream of bytes or text. */
export type BodyContent =
  | string
  | ArrayBufferView<ArrayBuffer>
  | ArrayBuffer
  | Blob
  | ReadableStream;

/** How many seconds the source of an abandoned stream has to clean up. */
const CANCEL_SECONDS = 0.5;

/**
 * Binds a stream to the current request: its source runs in the context of the request at each read. The request stays
 * open until the stream has ended, failed or was aborted, or the client has left. A drain ends it at once where its
 * client connects again.
 */
export function bindStream(
  source: ReadableStream,
  delivery: Delivery,
  isEndedAtDrain: boolean,
): ReadableStream {
  const reader = source.getReader();
  let controller: ReadableStreamDefaultController<Uint8Array>;
  let isGivenUp = false;
  // No function refers to `delivery`: a source that waits for ever would keep the request.
  let open: Delivery | undefined = delivery;
  const giveUp = (reason: unknown): Promise<void> => {
    isGivenUp = true;
    const cancelled = reader.cancel(reason).catch((error) => {
      if (error !== reason) {
        reportError(error, "at the end of a stream", open?.title);
      }
    });
    // A source that waits for something may never notice, and must not keep its request.
    return settlesWithin(cancelled, CANCEL_SECONDS).then(end);
  };
  const end = (): void => {
    release?.();
    release = open = undefined;
  };
  let release: (() => void) | undefined = delivery.holdStream(
    bind((reason) => {
      controller.error(reason);
      giveUp(reason);
    }),
    isEndedAtDrain
      ? bind(() => {
        if (isGivenUp) return;
        controller.close();
        giveUp(ABORTED);
      })
      : undefined,
  );
  return new ReadableStream<Uint8Array>({
    start: (given) => void (controller = given),
    pull: bind(async () => {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(bytesOf(value));
      } catch (thrown) {
        const error = streamError(thrown);
        if (!isGivenUp && error !== ABORTED) open?.reportFailure(error);
        giveUp(thrown);
        throw error;
      }
      controller.close();
      end();
    }),
    cancel: bind(giveUp),
  }, { highWaterMark: 0 });
}

/** Why a stream has failed. Deno never closes the connection after an error that throws when inspected. */
function streamError(thrown: unknown): Error {
  if (!isStop(thrown)) return toError(thrown);
  return new Error(
    "Cannot call stop() or halt() in a stream: the response has already been made",
  );
}

/**
 * A stream of what an iterable yields. In V8, a generator whose `return()` is called while it waits runs its
 * `finally` without the request, so `return()` is called after the next `yield`.
 */
export function streamOf<Chunk>(
  source: AsyncIterable<Chunk> | Iterable<Chunk>,
): ReadableStream<Chunk> {
  const kind = Object.prototype.toString.call(source);
  if (kind !== "[object AsyncGenerator]") return ReadableStream.from(source);
  const generator = source as AsyncGenerator<Chunk>;
  let next: Promise<IteratorResult<Chunk>> | undefined;
  return ReadableStream.from<Chunk>({
    [Symbol.asyncIterator]: () => ({
      next: () => next = generator.next(),
      return: async (value) => {
        await next?.catch(() => {}); // the stream has got that error
        return await generator.return(value);
      },
    }),
  });
}

/** Throws `TypeError` for a body that was read or is being read, and for a network error. */
export function checkUnread(content: BodyContent | Response): void {
  const isRead = content instanceof Response
    ? content.bodyUsed || content.status === 0
    : content instanceof ReadableStream && content.locked;
  if (!isRead) return;
  throw new TypeError(
    "Cannot send a body that has been read, is being read, or has failed",
  );
}

/** Cancels an unused body; errors are ignored. */
export function discard(
  content: BodyContent | Response | undefined,
): undefined {
  const body = content instanceof Response ? content.body : content;
  const isOpen = body instanceof ReadableStream && !body.locked;
  if (isOpen) body.cancel().catch(() => {});
}

function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  if (typeof chunk === "string" || chunk instanceof Markup) {
    return new TextEncoder().encode(String(chunk));
  }
  throw wrongKind(
    "send the stream",
    "a chunk must be bytes, text or html",
    chunk,
  );
}
