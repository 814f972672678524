/**
 * Owns live reload: pages for clients on this machine get a script that reloads them when what they were made from
 * changes: the program, by a restart, or a used file.
 */

import type { Exchange } from "../application/exchange.ts";
import { isFromProgram } from "../handling/client.ts";
import { escape } from "../html.ts";
import { NULL_BODY } from "../null_body.ts";
import { BYTE_HEADERS } from "../response/header.ts";
import { valueOf } from "../response/stream.ts";
import { mutable } from "../response/web_response.ts";
import type { Unfinished } from "../state/unfinished.ts";
import { onUsedFile } from "../used_files.ts";
import { LiveFiles } from "./live_files.ts";
import { LIVE_SCRIPT } from "./live_script.ts";
import { debugPath, nameIn } from "./addresses.ts";

/** The names of the events and of the script, which looks for the events next to it. */
const EVENTS = "live";
const SCRIPT = "live.js";

/** Neither may be cached, or read by pages of other sites. */
const HEADERS = {
  "cache-control": "no-store",
  "cross-origin-resource-policy": "same-origin",
  "x-content-type-options": "nosniff",
};

/** After how many milliseconds a page asks again for a server that has gone. */
const RETRY_MS = 250;

/**
 * After how many milliseconds the events end, for the page to ask again. A `Deno.serve` of the user's waits that
 * long when it shuts down.
 */
const LIFETIME_MS = 10_000;

const END_OF_BODY = /<\/body\s*>/gi;

const program = crypto.randomUUID();
let changes = 0;

/** The reload state that each response was made in; none for requests that the program made itself. */
const states = new WeakMap<Exchange, string>();

/** The functions that send the current state to the pages that listen. */
const listeners = new Set<() => void>();

const files = new LiveFiles(() => {
  changes += 1;
  for (const send of listeners) send();
});
onUsedFile((file) => files.add(file));

/**
 * Responds to a request before any route does; `exchange.target` is known. Only clients
 * who see details get here, and only at the outermost application under debug.
 */
export function respondLive(exchange: Exchange): Response | undefined {
  if (isFromProgram(exchange)) return undefined;
  states.set(exchange, state());
  if (exchange.method !== "GET") return undefined;
  const name = nameIn(exchange);
  if (name === SCRIPT) {
    return responseOf(LIVE_SCRIPT, "text/javascript; charset=utf-8");
  }
  if (name !== EVENTS) return undefined;
  const { unfinished } = exchange.nesting.at(-1)!.app; // a server drains the outermost application only
  return responseOf(events(unfinished), "text/event-stream");
}

/**
 * Adds the script to a document for a client on this machine. The reload state that a response was made in is a
 * header, so that a document with the same `ETag` has the same content. The request is over by now.
 */
export async function addLiveReload(
  exchange: Exchange,
  response: Response,
): Promise<Response> {
  const state = states.get(exchange);
  if (state === undefined) return response;
  // The client's copy of a document has the script.
  const finished = response.status === 304
    ? mutable(response)
    : await withScript(exchange, response);
  if (finished === undefined) return response;
  finished.headers.append("server-timing", `live;desc="${state}"`);
  // A registered view may not tell which templates it uses.
  const { settings } = exchange.plan;
  const extension = settings["framework.views.extension"];
  files.addFolder(settings["framework.views.path"], extension);
  return finished;
}

function state(): string {
  return `${program}.${changes}`;
}

function responseOf(body: BodyInit, type: string): Response {
  return new Response(body, { headers: { ...HEADERS, "content-type": type } });
}

/** Sends the state now and after each change, for a while, or until the client leaves or a drain begins. */
function events(unfinished: Unfinished): ReadableStream<Uint8Array> {
  let send: () => void;
  let stay: () => void;
  let timer: ReturnType<typeof setTimeout>;
  const forget = (): void => {
    clearTimeout(timer);
    listeners.delete(send);
    stay();
    if (listeners.size === 0) files.stop();
  };
  return new ReadableStream({
    start(controller) {
      const encoder = new TextEncoder();
      send = () => {
        const event = `retry: ${RETRY_MS}\ndata: ${state()}\n\n`;
        controller.enqueue(encoder.encode(event));
      };
      const end = (): void => {
        forget();
        controller.close();
      };
      files.start(); // which may find changes
      send();
      listeners.add(send);
      stay = unfinished.endAtDrain(end);
      timer = setTimeout(end, LIFETIME_MS);
    },
    cancel: forget,
  });
}

/** Whether a response is a whole document of HTML that is not encoded, no stream, and for the browser to show. */
function isDocument(response: Response): boolean {
  const { headers, status, url } = response;
  const isHtml = /^text\/html\b/i.test(headers.get("content-type") ?? "");
  const isWhole = status !== 206 && !NULL_BODY.has(status);
  if (!isHtml || !isWhole || headers.has("content-encoding")) return false;
  if (/^\s*attachment\b/i.test(headers.get("content-disposition") ?? "")) {
    return false;
  }
  return valueOf(response) !== undefined ||
    headers.has("content-length") && url === "";
}

/**
 * A document with the script at the end of its body, and for a HEAD without a length, which is not known;
 * undefined for any other response.
 */
async function withScript(
  exchange: Exchange,
  response: Response,
): Promise<Response | undefined> {
  if (!isDocument(response)) return undefined;
  if (exchange.isHead) {
    // Without a body, the runtime would say that a GET has the length 0.
    return withBody(ReadableStream.from([]), response);
  }
  const value = valueOf(response);
  const bytes = typeof value === "string"
    ? new TextEncoder().encode(value)
    : value ?? await response.clone().bytes();
  // In this encoding each byte is a character, whatever the encoding of the document is.
  const text = new TextDecoder("latin1").decode(bytes);
  const end = [...text.matchAll(END_OF_BODY)].at(-1)?.index;
  if (end === undefined) return undefined;
  const policy = response.headers.get("content-security-policy") ?? "";
  const tag = new TextEncoder().encode(scriptTag(exchange, policy));
  const parts = [bytes.subarray(0, end), tag, bytes.subarray(end)];
  return withBody(await new Blob(parts).bytes(), response);
}

/** The tag that loads the script, with the nonce of a policy that has one. */
function scriptTag(exchange: Exchange, policy: string): string {
  const { method } = exchange;
  const [, nonce] = /'nonce-([\w+/=-]+)'/.exec(policy) ?? [];
  const attributes = [
    `src="${escape(debugPath(exchange, SCRIPT))}"`,
    ...method === "GET" ? [] : [`data-method="${escape(method)}"`],
    ...nonce === undefined ? [] : [`nonce="${nonce}"`],
  ];
  return `<script ${attributes.join(" ")} defer></script>\n`;
}

/** The same response with another body. */
function withBody(body: BodyInit, response: Response): Response {
  const made = new Response(body, response);
  for (const name of BYTE_HEADERS) made.headers.delete(name);
  return made;
}
