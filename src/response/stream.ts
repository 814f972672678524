/** Owns bodies that are streams: running their sources in the context of the request, and cancelling them. */

import { ABORTED, toError, wrongKind } from "../errors.ts";
import { Markup } from "../html.ts";
import { reportError } from "../report.ts";
import { bind } from "../state/current.ts";
import { settlesWithin } from "../waiting.ts";

/** What a body can be: text, bytes, or a stream of bytes or text. */
export type BodyContent =
  | string
  | ArrayBufferView<ArrayBuffer>
  | ArrayBuffer
  | Blob
  | ReadableStream;

/** How many seconds the source of a cancelled stream has to clean up. */
const CANCEL_SECONDS = 0.5;

/** An open stream, as a server that shuts down sees it. */
export interface OpenStream {
  /** Whether the client connects again by itself: a drain ends the stream at once. */
  readonly isResumable: boolean;
  /** Ends the stream: without an error where it is resumable. */
  stop(): void;
}

/** What sending a response needs to know of its request; an `Exchange` is one. */
export interface Delivery {
  /** Whether the request is a HEAD, which gets the headers of a GET and no body. */
  readonly isHead: boolean;
  /** Whether a server sends the response. */
  readonly isServed: boolean;
  /** What begins a line of the log about the request. */
  readonly label: string;
  /** Keeps the request open for a stream, until the returned function is called. */
  holdStream(stream: OpenStream): () => void;
  /** Reports why the stream has failed: no page can show it. */
  reportFailure(error: Error): void;
}

/**
 * Binds a stream to the current request: its source runs in the context of the request at each read. The request stays
 * open until the stream has ended, failed or was stopped, or the client has left.
 */
export function bindStream(
  source: ReadableStream,
  delivery: Delivery,
  isResumable: boolean,
): ReadableStream {
  const reader = source.getReader();
  let controller: ReadableStreamDefaultController<Uint8Array>;
  let isCancelled = false;
  const stop = bind((): void => {
    if (isCancelled) return;
    if (isResumable) controller.close();
    else controller.error(ABORTED);
    cancel(ABORTED);
  });
  // Both are dropped in the end: a source that waits for ever must not keep the request.
  let open: Delivery | undefined = delivery;
  let release: (() => void) | undefined = delivery.holdStream({
    isResumable,
    stop,
  });
  const end = (): void => {
    release?.();
    release = open = undefined;
  };
  const cancel = (reason: unknown): Promise<void> => {
    isCancelled = true;
    const cancelled = reader.cancel(reason).catch((error) => {
      if (error !== reason) {
        reportError(error, "at the end of a stream", open?.label);
      }
    });
    // A source that waits for something may never notice.
    return settlesWithin(cancelled, CANCEL_SECONDS).then(end);
  };
  return new ReadableStream<Uint8Array>({
    start: (given) => void (controller = given),
    pull: bind(async () => {
      try {
        const { done, value } = await reader.read();
        if (isCancelled) return;
        if (!done) return controller.enqueue(bytesOf(value));
      } catch (thrown) {
        const error = toError(thrown);
        if (!isCancelled) open?.reportFailure(error);
        cancel(thrown);
        throw error;
      }
      controller.close();
      end();
    }),
    cancel: bind(cancel),
  }, { highWaterMark: 0 });
}

/** A stream of what an iterable yields. */
export function streamOf<Chunk>(
  source: AsyncIterable<Chunk> | Iterable<Chunk>,
): ReadableStream<Chunk> {
  if (source instanceof ReadableStream) return source;
  const kind = Object.prototype.toString.call(source);
  return ReadableStream.from(
    kind === "[object AsyncGenerator]" ? passedOn(source) : source,
  );
}

/**
 * What a generator yields. In V8, one whose `return()` is called while it waits runs its `finally` without the request;
 * of this one, `return()` waits for the next `yield`.
 */
async function* passedOn<Chunk>(
  generator: AsyncIterable<Chunk> | Iterable<Chunk>,
): AsyncGenerator<Chunk> {
  yield* generator;
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
