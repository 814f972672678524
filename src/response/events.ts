/**
 * Owns server-sent events (HTML standard, section 9.2): the stream of an iterable's events, with heartbeats
 * while there are none, and their text. That of `@std/http` has no space after the colon: clients would drop the
 * first space of a value.
 */

import { wrongKind } from "../errors.ts";
import { Markup } from "../html.ts";
import { checkOptions } from "../options.ts";
import { settlesWithin } from "../timer.ts";
import { streamOf } from "./stream.ts";

/** A server-sent event. */
export interface ServerSentEvent {
  /** The text, of one line or several, or `html`. */
  data?: string | Markup;
  /** The name that listeners are registered under; `message` by default. */
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
  /** After how many seconds without an event a comment is sent, 15 by default; 0 for never. */
  heartbeat?: number;
}

const HEARTBEAT: ServerSentEvent = { comment: "heartbeat" };

/**
 * The events as bytes, read no faster than by the client. A server that shuts down ends a body of this class at once
 * (`web_response.ts`), and waits for any other stream, also for one that is made of this one. When the client leaves,
 * the iterator's `return()` is called: see `streamOf()`.
 */
export class EventStream extends ReadableStream<Uint8Array> {
  /** Throws `TypeError` for an unknown option, and `RangeError` for a negative heartbeat. */
  constructor(
    source: AsyncIterable<ServerSentEvent> | Iterable<ServerSentEvent>,
    options: EventsOptions,
  ) {
    checkOptions("send events", options, ["heartbeat"]);
    const { heartbeat = 15 } = options;
    if (!(heartbeat >= 0)) {
      throw new RangeError(
        `Cannot send events: the heartbeat must be 0 seconds or more, got "${heartbeat}"`,
      );
    }
    // The iterator of a stream would not cancel it while it waits for an event.
    const stream = source instanceof ReadableStream ? source : streamOf(source);
    const events = stream.getReader();
    let next: ReturnType<typeof events.read> | undefined;
    let hasCome = false;
    let wake = (): void => {};
    const noteCome = (): void => {
      hasCome = true;
      wake();
    };
    super({
      async pull(controller) {
        try {
          if (next === undefined) {
            hasCome = false;
            next = events.read();
            next.then(noteCome, noteCome);
          }
          if (heartbeat > 0 && !hasCome) {
            // A promise for each heartbeat: what they leave on `next` would stay until an event comes.
            const { promise, resolve } = Promise.withResolvers<void>();
            wake = resolve;
            if (!await settlesWithin(promise, heartbeat)) {
              return controller.enqueue(encode(HEARTBEAT));
            }
          }
          const { done, value } = await next;
          next = undefined;
          if (done) controller.close();
          else controller.enqueue(encode(value));
        } catch (error) {
          await events.cancel(error).catch(() => {}); // the first error counts
          throw error;
        }
      },
      cancel: (reason) => events.cancel(reason),
    }, { highWaterMark: 0 });
  }
}

/** The bytes of an event. Throws `TypeError` or `SyntaxError` for what is not an event, or cannot be sent. */
function encode(sent: ServerSentEvent | null): Uint8Array {
  const action = "send the event";
  const { comment, event, data, id, retry } = sent ?? {};
  if (retry !== undefined && !(Number.isInteger(retry) && retry >= 0)) {
    throw wrongKind(
      action,
      "retry must be a number of milliseconds, at least 0",
      retry,
    );
  }
  const lines = [
    ...linesOf("comment", comment).map((line) => `: ${line}`),
    ...lineOf("event", event),
    ...linesOf("data", data).map((line) => `data: ${line}`),
    ...lineOf("id", typeof id === "number" ? `${id}` : id),
    ...lineOf("retry", retry?.toString()),
  ];
  // Also for a text, a list, and a record whose names are misspelled.
  if (lines.length === 0) {
    const rule = 'it must be a record such as { data: "text" }';
    throw wrongKind(action, rule, sent);
  }
  return new TextEncoder().encode(`${lines.join("\n")}\n\n`);
}

/** The lines of a text; none when it is not given. */
function linesOf(part: string, value: string | Markup | undefined): string[] {
  if (value === undefined) return [];
  const text = value instanceof Markup ? String(value) : value;
  if (typeof text === "string") return text.split(/\r\n|\r|\n/);
  throw wrongKind("send the event", `its ${part} must be text`, text);
}

/** A field whose value has one line; nothing when it is not given. */
function lineOf(part: string, text: string | undefined): string[] {
  const lines = linesOf(part, text);
  if (lines.length < 2) return lines.map((line) => `${part}: ${line}`);
  throw new SyntaxError(`Cannot send the event: its ${part} has a line break`);
}
