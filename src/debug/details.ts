/**
 * Owns what the page of an error, or of a path that was not found, shows a developer: the error with its reference and
 * the code around it, the route, what was sent, the settings, and the request as a test. Secrets are masked.
 */

import type { Details } from "../application/debug_tools.ts";
import type { Exchange } from "../application/exchange.ts";
import { defaultSettings, type Settings } from "../application/settings.ts";
import { TemplateError } from "../errors.ts";
import { errorTitle } from "../error_text.ts";
import { escape } from "../html.ts";
import { declarationOf } from "../routing/route.ts";
import { MASK, masked, maskedIfSecret } from "../secrets.ts";
import { framesOf } from "../stack.ts";
import { codeHtml, placeHtml, placeInCode, preformatted } from "./code.ts";
import { applicationFrames, chainOf, folded } from "./frames.ts";
import { maskedPath } from "./masked_path.ts";
import { nearRoutes } from "./near_routes.ts";
import { testOf } from "./reproduction.ts";
import { type SentBody, sentBody } from "./sent_body.ts";
import { styleHtml } from "./style.ts";

type Row = readonly [name: string, value: string | null];

/** The details of an error or, without one, of a path that was not found. */
export async function detailsOf(
  exchange: Exchange,
  status: number,
  error?: Error,
): Promise<Details> {
  const { raw, method, target, match, wholePath } = exchange;
  const { settings } = exchange.plan;
  const parameters = Object.entries(match?.params ?? {})
    .map(([name, value]): Row => [`@${name}`, value]);
  const asked = `${method} ${maskedPath(wholePath, exchange)}${target.search}`;
  const html = [
    styleHtml(exchange),
    error ? `<p>Reference: ${exchange.id}</p>\n` : "",
    errorHtml(error, settings["framework.editor"]),
    error || match ? "" : missesHtml(exchange),
    match
      ? table("Route", [
        ["Pattern", match.declaration.pattern.text],
        ...parameters,
      ])
      : "",
    bodyHtml(await sentBody(exchange, MASK)),
    error && status >= 500 ? testHtml(await testOf(exchange)) : "",
    settingsHtml(settings),
    table("Request", [["Target", asked], ...raw.headers]),
  ];
  return {
    html: html.join(""),
    problem: error ? problemOf(exchange, error) : {},
  };
}

/** The members that an error adds to the problem details. */
function problemOf({ id }: Exchange, error: Error): Details["problem"] {
  const place = placeInCode(error);
  const at = place && `${place.path}:${place.line}`;
  const frames = applicationFrames(error);
  const isTemplate = error instanceof TemplateError;
  const stack = isTemplate ? [`at ${at}`, ...frames] : frames;
  return { reference: id, stack: stack.map((frame) => masked(frame)), at };
}

/** An error and its causes, each with its stack and the code of the application around it. */
function errorHtml(error: Error | undefined, editor: string): string {
  return chainOf(error).map((thrown, index) =>
    thrownHtml(index === 0 ? "Error" : "Caused by", thrown, editor)
  ).join("");
}

function thrownHtml(title: string, thrown: unknown, editor: string): string {
  if (!(thrown instanceof Error)) {
    return section(title, preformatted(escape(masked(Deno.inspect(thrown)))));
  }
  const { name, message } = thrown;
  const lines = [errorTitle(name, message), ...folded(framesOf(thrown))];
  const place = placeInCode(thrown);
  return section(
    title,
    preformatted(escape(masked(lines.join("\n")))) +
      (place ? placeHtml(place, editor) + codeHtml(place) : ""),
  );
}

/** Which routes nearly matched, and why they did not. */
function missesHtml(exchange: Exchange): string {
  const { app, method, pathBelowBase, plan } = exchange;
  const caseSensitive = plan.settings["framework.case_sensitive"];
  const routes = app.router().routes();
  const near = nearRoutes(routes, method, pathBelowBase, caseSensitive);
  if (near.length === 0) return "";
  const items = near.map(({ route, reason }) =>
    `<li>${escape(`${declarationOf(route).pattern.text}: ${reason}`)}</li>\n`
  );
  return section("Routes that nearly match", `<ul>\n${items.join("")}</ul>\n`);
}

/** The fields of a form, or the text of another body. */
function bodyHtml(body: SentBody | undefined): string {
  if (body === undefined) return "";
  if (body.kind === "fields") {
    const rows = body.fields.map(([name, value]): Row => [
      name,
      typeof value === "string"
        ? value
        : `${value.name} (${value.type}, ${value.size} bytes)`,
    ]);
    return table("Form", rows);
  }
  const text = body.kind === "JSON"
    ? JSON.stringify(body.value, undefined, 2)
    : body.kind === "text"
    ? body.text
    : `${body.length} bytes`;
  return section("Body", preformatted(escape(text.slice(0, MAX_LENGTH))));
}

/** How many characters of a body are shown. */
const MAX_LENGTH = 10_000;

/** The settings that differ from their defaults. */
function settingsHtml(settings: Readonly<Settings>): string {
  const rows = Object.entries(settings)
    .filter(([name, value]) =>
      value !== defaultSettings[name as keyof Settings]
    )
    .map(([name, value]): Row => [name, Deno.inspect(value)]);
  return table("Settings", rows);
}

function testHtml(code: string | undefined): string {
  if (code === undefined) return "";
  return section("This request as a test", preformatted(escape(code)));
}

/** Names with their values, those of secrets hidden. */
function table(title: string, rows: readonly Row[]): string {
  const html = rows.map(([name, value]) => {
    const shown = escape(maskedIfSecret(name, String(value)));
    return `<tr><th>${escape(name)}</th><td>${shown}</td></tr>\n`;
  });
  return section(title, `<table>\n${html.join("")}</table>\n`);
}

function section(title: string, html: string): string {
  return `<h2>${title}</h2>\n${html}`;
}
