/** Owns checking the handshake of a WebSocket (RFC 6455, section 4.2). */

import { refusal, unreadable } from "../errors.ts";

/** The version of the protocol (RFC 6455, section 4.4). */
const VERSION = "13";

const WEBSOCKET = /(?:^|[\s,])websocket(?:[\s,]|$)/i;

/** Throws {@linkcode HttpError} for what no WebSocket can be made of: Deno throws `TypeError`, or nothing. */
export function checkHandshake(
  { headers, method }: Request,
  protocol = "",
): void {
  const isAsked = method === "GET" &&
    WEBSOCKET.test(headers.get("upgrade") ?? "");
  if (!isAsked) {
    throw refusal(426, "Only WebSocket connections are accepted here", {
      headers: { upgrade: "websocket" },
    });
  }
  if ((headers.get("sec-websocket-version") ?? VERSION) !== VERSION) {
    throw refusal(426, `Only WebSocket version ${VERSION} is supported`, {
      headers: { upgrade: "websocket", "sec-websocket-version": VERSION },
    });
  }
  const connection = headers.get("connection") ?? "";
  const offered = (headers.get("sec-websocket-protocol") ?? "").split(", ");
  const why = !/(?:^|[\s,])upgrade(?:[\s,]|$)/i.test(connection)
    ? "its Connection header must include upgrade"
    : !headers.get("sec-websocket-key")
    ? "it has no Sec-WebSocket-Key"
    : protocol !== "" && !offered.includes(protocol)
    ? `it must offer the protocol "${protocol}"`
    : undefined;
  if (why !== undefined) throw unreadable(400, "the WebSocket handshake", why);
}
