/** Owns server-sent events (HTML standard, section 9.2): their text, and heartbeats while there are none. */

import { wrongKind } from "../errors.ts";
import { Markup } from "../html.ts";
import { checkOptions } from "../options.ts";
import { settlesWithin } from "../waiting.ts";
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

/** The events as bytes. A server that shuts down ends a body of this class at once: its client connects again. */
export class EventStream extends ReadableStream<Uint8Array> {
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
    const stream = source instanceof ReadableStream ? source : streamOf(source);
    const events = stream.getReader();
    let next: ReturnType<typeof events.read> | undefined;
    super({
      async pull(controller) {
        try {
          next ??= events.read();
          if (heartbeat > 0 && !await settlesWithin(next, heartbeat)) {
            return controller.enqueue(encode({ comment: "heartbeat" }));
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
  const { comment, event, data, id, retry } = Object(sent) as ServerSentEvent;
  if (retry !== undefined && !(Number.isInteger(retry) && retry >= 0)) {
    const rule = "retry must be a number of milliseconds, at least 0";
    throw wrongKind("send the event", rule, retry);
  }
  const lines = [
    ...linesOf("comment", comment).map((line) => `: ${line}`),
    ...lineOf("event", event),
    // With a space after the colon: clients would drop the first one of a value.
    ...linesOf("data", data).map((line) => `data: ${line}`),
    ...lineOf("id", typeof id === "number" ? `${id}` : id),
    ...lineOf("retry", retry?.toString()),
  ];
  if (lines.length === 0) {
    const rule = 'it must be a record such as { data: "text" }';
    throw wrongKind("send the event", rule, sent);
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

/** A field whose value has one line. */
function lineOf(part: string, text: string | undefined): string[] {
  const lines = linesOf(part, text);
  if (lines.length < 2) return lines.map((line) => `${part}: ${line}`);
  throw new SyntaxError(`Cannot send the event: its ${part} has a line break`);
}
