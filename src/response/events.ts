/** Owns server-sent events (HTML standard, section 9.2): their text, and heartbeats while there are none. */

import { wrongKind } from "../errors.ts";
import type { Markup } from "../html.ts";
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

/** After how many seconds without an event a comment is sent: proxies close connections that are silent for longer. */
const HEARTBEAT_SECONDS = 15;

/** The events as bytes. A server that shuts down ends a body of this class at once: its client connects again. */
export class EventStream extends ReadableStream<Uint8Array> {
  constructor(
    source: AsyncIterable<ServerSentEvent> | Iterable<ServerSentEvent>,
  ) {
    const events = streamOf(source).getReader();
    let next: ReturnType<typeof events.read> | undefined;
    super({
      async pull(controller) {
        try {
          next ??= events.read();
          if (!await settlesWithin(next, HEARTBEAT_SECONDS)) {
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

/** The bytes of an event. Throws `TypeError` where it has no field, `SyntaxError` for a line break in a name or id. */
function encode(sent: ServerSentEvent | null): Uint8Array {
  const { comment, event, data, id, retry } = Object(sent) as ServerSentEvent;
  const lines = [
    fieldLines("", comment),
    fieldLines("event", event),
    fieldLines("data", data),
    fieldLines("id", id),
    fieldLines("retry", retry),
  ].flat();
  if (lines.length === 0) {
    const rule = 'it must be a record such as { data: "text" }';
    throw wrongKind("send the event", rule, sent);
  }
  return new TextEncoder().encode(`${lines.join("\n")}\n\n`);
}

/** The lines of a field; a comment has no name. */
function fieldLines(
  name: string,
  value: string | number | Markup | undefined,
): string[] {
  if (value === undefined) return [];
  const lines = String(value).split(/\r\n|\r|\n/);
  if (lines.length > 1 && name !== "data" && name !== "") {
    throw new SyntaxError(
      `Cannot send the event: its ${name} has a line break`,
    );
  }
  // With a space after the colon: clients would drop the first one of a value.
  return lines.map((line) => `${name}: ${line}`);
}
