/**
 * Owns live reload: pages for clients on this machine get a script that reloads them when what they were made from
 * changes: the program, by a restart, or a used file.
 */

import type { Exchange } from "../application/exchange.ts";
import { escape } from "../html.ts";
import { onUsedFile } from "../paths.ts";
import { debugPath } from "./desk.ts";
import { LiveFiles } from "./live_files.ts";

/** After how many milliseconds a page asks again for a server that has gone. */
const RETRY_MS = 250;

/** After how many milliseconds the events end, for the page to ask again: a `Deno.serve` waits for them to shut down. */
const LIFETIME_MS = 10_000;

/** What a page has, and a part of one has not. */
const END_OF_PAGE = /<\/(?:body|html)\s*>/i;

/** How many characters that may have, of which the first ones stand at the end of a chunk. */
const LONGEST_END = 20;

const program = crypto.randomUUID();

/** The functions that send the state to the pages that listen. */
const listeners = new Set<() => void>();

const files = new LiveFiles(() => listeners.forEach((send) => send()));
onUsedFile((file) => files.add(file));

/** What pages are made from, as one word: it changes with the program and with each used file. */
export function liveState(): string {
  return `${program}.${files.changes}`;
}

/** Sends the state now and after each change, for a while, or until the client leaves or a drain begins. */
export function events(exchange: Exchange): ReadableStream<Uint8Array> {
  let forget: () => void;
  return new ReadableStream({
    start(controller) {
      const send = (): void => {
        const event = `retry: ${RETRY_MS}\ndata: ${liveState()}\n\n`;
        controller.enqueue(new TextEncoder().encode(event));
      };
      const end = (): void => {
        forget();
        controller.close();
      };
      files.watch(); // which may find changes
      listeners.add(send);
      send();
      const timer = setTimeout(end, LIFETIME_MS);
      // A server drains the outermost application only.
      const release = exchange.root.holdStream({
        isResumable: true,
        stop: end,
      });
      forget = () => {
        clearTimeout(timer);
        listeners.delete(send);
        if (listeners.size === 0) files.stop();
        release();
      };
    },
    cancel: () => forget(),
  });
}

/** A page with the script at the very end, where browsers run it, too; any other response as it is. */
export function withScript(exchange: Exchange, response: Response): Response {
  if (exchange.method !== "GET" || !isHtml(response)) return response;
  // A registered view may not tell which templates it uses.
  files.addFolder(exchange.settings["framework.views.path"]);
  const policy = response.headers.get("content-security-policy") ?? "";
  const body = response.body!.pipeThrough(ending(scriptTag(exchange, policy)));
  const page = new Response(body, response);
  page.headers.delete("content-length");
  return page;
}

/** Whether a response may be a page for a browser to show, and is not encoded. */
function isHtml({ body, headers, status }: Response): boolean {
  return body !== null && status !== 206 && !headers.has("content-encoding") &&
    /^text\/html\b/i.test(headers.get("content-type") ?? "") &&
    !/^\s*attachment\b/i.test(headers.get("content-disposition") ?? "");
}

/** Appends a text to a page. Each chunk passes on as it comes, in whatever encoding it is. */
function ending(script: string): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder("latin1");
  let isPage = false;
  let tail = "";
  return new TransformStream({
    transform(chunk, controller) {
      const text = tail + decoder.decode(chunk);
      isPage ||= END_OF_PAGE.test(text);
      tail = text.slice(-LONGEST_END);
      controller.enqueue(chunk);
    },
    flush(controller) {
      if (isPage) controller.enqueue(new TextEncoder().encode(script));
    },
  });
}

/** The tag that loads the script, with the nonce of a policy that has one. */
function scriptTag(exchange: Exchange, policy: string): string {
  const src = escape(debugPath(exchange, "live.js"));
  const [, nonce] = /'nonce-([\w+/=-]+)'/.exec(policy) ?? [];
  const attribute = nonce === undefined ? "" : ` nonce="${nonce}"`;
  return `<script src="${src}"${attribute} defer></script>\n`;
}
