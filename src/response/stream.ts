/**
 * Owns bodies that are streams: running their sources in the context of the request, cancelling those that
 * will not be read, and telling whether a web response is a stream or a value.
 */

import { isStop, toError, wrongKind } from "../errors.ts";
import { Markup } from "../html.ts";
import { reportError } from "../report.ts";
import { internalSlot } from "../runtime.ts";
import { bind } from "../state/current.ts";
import { ABORTED, CANCEL_SECONDS } from "../state/unfinished.ts";
import { settlesWithin } from "../timer.ts";
import type { Delivery } from "./web_response.ts";

/** What a body can be: text, bytes, or a stream of bytes or text. */
export type BodyContent =
  | string
  | ArrayBufferView<ArrayBuffer>
  | ArrayBuffer
  | Blob
  | ReadableStream;

/** What is known of a stream. */
interface StreamOptions {
  /** Whether its client connects again. */
  readonly isEndedAtDrain?: boolean;
  /** How many bytes its Content-Length promises; undefined without one. */
  readonly length?: number | undefined;
}

/**
 * Binds a stream to the current request: its source runs in the context of the request at each read. The
 * request stays open until the stream has ended, failed or was aborted, or the client has left. A stream of
 * the runtime itself, such as that of a file, runs no code of the application and is returned as it is, so
 * that the runtime can send it natively. An error of the source goes to the reader and, by way of the delivery, to
 * the log.
 */
export function bindStream(
  source: ReadableStream,
  delivery: Delivery,
  { isEndedAtDrain = false, length }: StreamOptions = {},
): ReadableStream {
  if ((resourceOf(source) ?? null) !== null) return source;
  const reader = source.getReader();
  const next = length === undefined
    ? () => nextOf(reader)
    : fitting(reader, length);
  let controller: ReadableStreamDefaultController<Uint8Array>;
  let isGivenUp = false;
  // No function here may refer to `delivery`: a source that waits would keep it.
  let open: Delivery | undefined = delivery;
  const abort = bind((reason: unknown) => {
    controller.error(reason);
    giveUp(reason);
  });
  const endEarly = bind(() => {
    if (isGivenUp) return;
    controller.close();
    giveUp(ABORTED);
  });
  let release: (() => void) | undefined = delivery.holdStream(
    abort,
    isEndedAtDrain ? endEarly : undefined,
  );
  return new ReadableStream<Uint8Array>({
    start: (given) => void (controller = given),
    pull: bind(async (controller) => {
      try {
        const bytes = await next();
        if (bytes !== undefined) return controller.enqueue(bytes);
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

  function giveUp(reason: unknown): Promise<void> {
    isGivenUp = true;
    const request = open?.title;
    const cancelled = reader.cancel(reason).catch((error) => {
      if (error !== reason) {
        reportError(error, "at the end of a stream", request);
      }
    });
    // A source that waits for something may never notice, and must not keep its request.
    return settlesWithin(cancelled, CANCEL_SECONDS).then(end);
  }

  function end(): void {
    release?.();
    release = open = undefined;
  }
}

/** The next bytes of a stream; undefined at its end. */
async function nextOf(
  reader: ReadableStreamDefaultReader,
): Promise<Uint8Array | undefined> {
  const { done, value } = await reader.read();
  return done ? undefined : bytesOf(value);
}

/**
 * A function like `nextOf()` that throws where a stream does not fit its Content-Length. With the last of these bytes,
 * the client has a whole response, so they wait until the stream has ended.
 */
function fitting(
  reader: ReadableStreamDefaultReader,
  length: number,
): () => Promise<Uint8Array | undefined> {
  let count = 0;
  const next = async (): Promise<Uint8Array | undefined> => {
    const bytes = await nextOf(reader);
    count += bytes?.length ?? 0;
    const isOver = count > length;
    if (!isOver && (bytes || count === length)) return bytes;
    const has = `${count} bytes${isOver ? " or more" : ""}`;
    throw new RangeError(
      `Cannot send the stream: it has ${has}, but Content-Length says ${length}`,
    );
  };
  return async () => {
    const bytes = await next();
    if (count === length) { while (await next() !== undefined); }
    return bytes;
  };
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
export function discard(content: BodyContent | Response): void {
  // Reading the `body` of a `Response` that was made of a value would make a stream of it.
  const body = content instanceof Response
    ? valueOf(content) ?? content.body
    : content;
  const isOpen = body instanceof ReadableStream && !body.locked;
  if (isOpen) body.cancel().catch(() => {});
}

/**
 * The text or bytes that a web response was made of; undefined for a stream, and where the runtime keeps the
 * value elsewhere, which is not documented: the response is only slower then. The property `body` turns text
 * into a stream, which is slower to send and loses its Content-Length.
 */
export function valueOf(response: Response): Value | undefined {
  const inner = innerResponse(response) as InnerResponse | undefined;
  const value = lazyBody(response) ?? inner?.body?.streamOrStatic?.body;
  const isValue = typeof value === "string" || value instanceof Uint8Array;
  return isValue ? value as Value : undefined;
}

type Value = string | Uint8Array<ArrayBuffer>;
type InnerResponse = { body?: { streamOrStatic?: { body?: unknown } } };

const innerResponse = internalSlot("response");
const lazyBody = internalSlot("lazy static body");
const resourceOf = internalSlot("[[resourceBacking]]");

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
