/**
 * Owns server-sent events (HTML standard, section 9.2): the stream of an iterable's events, with heartbeats
 * while there are none. They are encoded by `@std/http`.
 */

import { ServerSentEventStream } from "@std/http/server-sent-event-stream";
import { settles } from "../timer.ts";
import { streamOf } from "./stream.ts";

/** A server-sent event. */
export interface ServerSentEvent {
  /** The text, of one line or several. */
  data?: string;
  /** The name that listeners are registered under; `message` when not given. */
  event?: string;
  /** Sent back as `Last-Event-ID` when the client connects again. */
  id?: string | number;
  /** After how many milliseconds the client connects again. */
  retry?: number;
  /** A line that clients ignore. */
  comment?: string;
}

/** How server-sent events are sent. */
export interface EventsOptions {
  /** After how many seconds without an event a comment is sent, 15 when not given; 0 for never. */
  heartbeat?: number;
}

const HEARTBEAT: ServerSentEvent = { comment: "heartbeat" };

/**
 * The events as bytes, read no faster than by the client. When the client leaves, the iterator's
 * `return()` is called: see `streamOf()`. Throws `RangeError` for a negative heartbeat.
 */
export function eventStream(
  source: AsyncIterable<ServerSentEvent> | Iterable<ServerSentEvent>,
  { heartbeat = 15 }: EventsOptions,
): ReadableStream<Uint8Array> {
  if (!(heartbeat >= 0)) {
    throw new RangeError(
      `Cannot send events: the heartbeat must be 0 seconds or more, got "${heartbeat}"`,
    );
  }
  const events = streamOf(source).getReader();
  const encode = encoder();
  let next: ReturnType<typeof events.read> | undefined;
  return new ReadableStream({
    async pull(controller) {
      try {
        next ??= events.read();
        const settled = Promise.allSettled([next]);
        if (heartbeat > 0 && !await settles(settled, heartbeat)) {
          return controller.enqueue(await encode(HEARTBEAT));
        }
        const { done, value } = await next;
        next = undefined;
        if (done) controller.close();
        else controller.enqueue(await encode(value));
      } catch (error) {
        await events.cancel(error).catch(() => {}); // the first error counts
        throw error;
      }
    },
    cancel: (reason) => events.cancel(reason),
  }, { highWaterMark: 0 });
}

/** Encodes one event at a time. */
function encoder(): (event: ServerSentEvent) => Promise<Uint8Array> {
  const { readable, writable } = new ServerSentEventStream();
  const [reader, writer] = [readable.getReader(), writable.getWriter()];
  return async (event) => {
    const [{ value }] = await Promise.all([reader.read(), writer.write(event)]);
    return value!;
  };
}
