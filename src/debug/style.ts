/**
 * Owns how the details of pages look. Their style is a file of its own, which every Content-Security-Policy
 * with `'self'` allows.
 */

import type { Exchange } from "../application/exchange.ts";
import { escape } from "../html.ts";
import { debugPath, nameIn } from "./addresses.ts";

const NAME = "style.css";

const STYLE = `body {
  background: canvas;
  box-sizing: border-box;
  color: canvastext;
  font: 1rem/1.5 system-ui, sans-serif;
  margin: 0 auto;
  max-width: 64rem;
  overflow-wrap: anywhere;
  padding: 1rem clamp(1rem, 4vw, 3rem) 3rem;
}
h1 { font-size: 1.6rem; line-height: 1.2; margin: 1.5rem 0 .5rem; }
h1 + p { font-size: 1.15rem; margin-top: 0; }
h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
pre, code { font-family: ui-monospace, monospace; font-size: .875rem; }
pre {
  background: color-mix(in srgb, canvas, canvastext 7%);
  border-radius: .4rem;
  margin: .5rem 0;
  overflow: auto;
  overflow-wrap: normal;
  padding: .8rem 1rem;
}
table { border-collapse: collapse; table-layout: fixed; width: 100%; }
tr { border-top: 1px solid color-mix(in srgb, canvas, canvastext 15%); }
td, th { font-weight: normal; padding: .3rem 1rem .3rem 0; text-align: left; vertical-align: top; }
th { opacity: .85; width: 30%; }
td { font-family: ui-monospace, monospace; font-size: .875rem; }
li { margin: .3rem 0; }
mark { background: rgb(255 60 60 / .25); color: inherit; }
@media (max-width: 40rem) {
  td, th { display: block; padding-right: 0; width: auto; }
  th { padding-bottom: 0; }
  td { padding-top: 0; }
}
.place { margin: .8rem 0 .3rem; }
`;

const HEADERS = {
  "content-type": "text/css",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

/** The requests whose pages can fetch the style. */
const styled = new WeakSet<Exchange>();

/** Responds with the style, if a request asks for it; else notes that its page can refer to it. */
export function respondStyle(exchange: Exchange): Response | undefined {
  styled.add(exchange);
  const isAsked = nameIn(exchange) === NAME && exchange.method === "GET";
  return isAsked ? new Response(STYLE, { headers: HEADERS }) : undefined;
}

/** What gives a page its style; the style itself where it cannot be fetched. */
export function styleHtml(exchange: Exchange): string {
  return exchange.nesting.some((each) => styled.has(each))
    ? `<link rel="stylesheet" href="${escape(debugPath(exchange, NAME))}">\n`
    : `<style>\n${STYLE}</style>\n`;
}
