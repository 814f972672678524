/** Stands in for `@std/http/server-sent-event-stream`: events as the text of `text/event-stream`. */

interface Message {
  comment?: string;
  event?: string;
  data?: string;
  id?: string | number;
  retry?: number;
}

/** Makes the bytes of server-sent events. Fails for an event or id with a line break. */
export class ServerSentEventStream
  extends TransformStream<Message, Uint8Array> {
  /** Takes messages, gives bytes. */
  constructor() {
    super({
      transform: (message, controller) =>
        controller.enqueue(new TextEncoder().encode(textOf(message))),
    });
  }
}

function textOf({ comment, event, data, id, retry }: Message): string {
  const lines = [
    ...linesOf(comment).map((line) => `:${line}`),
    ...event === undefined ? [] : [`event:${single("event", event)}`],
    ...linesOf(data).map((line) => `data:${line}`),
    ...id === undefined ? [] : [`id:${single("id", String(id))}`],
    ...retry === undefined ? [] : [`retry:${retry}`],
  ];
  return `${lines.join("\n")}\n\n`;
}

function linesOf(text: string | undefined): string[] {
  return text?.split(/\r\n|\r|\n/) ?? [];
}

function single(name: string, text: string): string {
  if (linesOf(text).length === 1) return text;
  throw new SyntaxError(`Cannot send the event: its ${name} has a line break`);
}
