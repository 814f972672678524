/**
 * Owns what the page of an error, or of a path that was not found, shows a developer: the error with the code around
 * it, the route, its parameters, and what was sent. Secrets are masked.
 */

import type { Exchange } from "../application/exchange.ts";
import type { Details } from "../application/debug_tools.ts";
import { shown } from "../errors.ts";
import { escape } from "../html.ts";
import { MASK, masked, maskedIfSecret, SECRETS } from "../report.ts";
import { declarationOf } from "../routing/route.ts";
import { placeHtml, placeOf, preformatted } from "./code.ts";
import { debugPath } from "./desk.ts";
import { chainOf, framesOf } from "./frames.ts";
import { nearRoutes } from "./near_routes.ts";

type Row = readonly [name: string, value: unknown];

/** The details of an error or, without one, of a path that was not found. */
export function detailsOf(exchange: Exchange, error?: Error): Details {
  const { id, match, settings } = exchange;
  const style = escape(debugPath(exchange, "style.css"));
  const errors = chainOf(error).map((thrown, index) => {
    const title = index === 0 ? "Error" : "Caused by";
    return section(title, thrownHtml(thrown, settings["framework.editor"]));
  });
  const html = [
    `<link rel="stylesheet" href="${style}">\n`,
    error ? `<p>Reference: ${id}</p>\n` : "",
    ...errors,
    error || match ? "" : missesHtml(exchange),
    table("Route", routeRows(exchange)),
    table("Fields", fieldRows(exchange)),
  ];
  const problem = error ? problemOf(id, error) : {};
  return { html: html.join(""), problem };
}

/** The members that an error adds to the problem details. */
function problemOf(reference: string, error: Error): Details["problem"] {
  const errors = chainOf(error).filter((each) => each instanceof Error);
  const stack = errors.map(framesOf).find((frames) => frames.length > 0) ?? [];
  const place = placeOf(error);
  const at = place && `${place.file}:${place.line}`;
  return { reference, stack: stack.map((frame) => masked(frame)), at };
}

/** An error with its stack and the code of the application around it; or whatever else was thrown. */
function thrownHtml(thrown: unknown, editor: string): string {
  if (!(thrown instanceof Error)) return textHtml(shown(thrown));
  const { name, message } = thrown;
  const frames = framesOf(thrown).map((frame) => `\n    ${frame}`);
  const place = placeOf(thrown);
  return textHtml(`${name}: ${message}${frames.join("")}`) +
    (place ? placeHtml(place, editor) : "");
}

function textHtml(text: string): string {
  return preformatted(escape(masked(text)));
}

/** Which routes nearly matched, and why they did not. */
function missesHtml({ app, layer, method, path }: Exchange): string {
  const { routes } = app.routes.of(layer);
  const near = path === undefined ? [] : nearRoutes(routes, method, path);
  if (near.length === 0) return "";
  const items = near.map(({ route, reason }) =>
    `<li>${escape(`${declarationOf(route).pattern.text}: ${reason}`)}</li>\n`
  );
  return section("Routes that nearly match", `<ul>\n${items.join("")}</ul>\n`);
}

function routeRows({ match, target: { search } }: Exchange): Row[] {
  if (match === undefined) return [];
  const params = Object.entries(match.params);
  return [
    ["Pattern", match.route.pattern.text],
    ...params.map(([name, value]): Row => [`@${name}`, value]),
    ...search === "" ? [] : [["Query", search] as const],
  ];
}

/** The fields and files of a form, and the members of JSON. */
function fieldRows(exchange: Exchange): Row[] {
  if (exchange.body === undefined) return [];
  try {
    const { data, files } = exchange.http;
    const fields = { ...data, ...files };
    return Object.entries(fields).map(([name, value]) => [name, field(value)]);
  } catch {
    return []; // the body is malformed, as the message says; or the application's own request() has failed
  }
}

/** The longest text of a field that is shown, in characters. */
const MAX_LENGTH = 10_000;

function field(value: unknown): string {
  const whole = typeof value === "string"
    ? value
    : JSON.stringify(value, maskedMember, 2);
  return whole.slice(0, MAX_LENGTH);
}

function maskedMember(name: string, value: unknown): unknown {
  if (SECRETS.test(name)) return MASK;
  if (!(value instanceof File)) return value;
  return `${value.name} (${value.type}, ${value.size} bytes)`;
}

/** Names with their values, those of secrets hidden; "" when there is none. */
function table(title: string, rows: readonly Row[]): string {
  if (rows.length === 0) return "";
  const html = rows.map(([name, value]) => {
    const shown = escape(maskedIfSecret(name, String(value)));
    return `<tr><th>${escape(name)}</th><td>${shown}</td></tr>\n`;
  });
  return section(title, `<table>\n${html.join("")}</table>\n`);
}

function section(title: string, html: string): string {
  return `<h2>${title}</h2>\n${html}`;
}
