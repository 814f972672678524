/**
 * Owns what a default page shows a developer under `framework.debug`: the error with the code around
 * it, the request and its route, and the routes that nearly matched. Secrets are masked.
 */

import type { Exchange } from "../application/exchange.ts";
import { type SourcePlace, TemplateError } from "../errors.ts";
import { withoutBase } from "../response/location.ts";
import { escape } from "../html.ts";
import { nearRoutes } from "../routing/explain.ts";
import type { Route } from "../routing/route.ts";
import { counted } from "../state/unfinished.ts";
import { isForeignFrame } from "../stack.ts";
import { masked, maskedIfSecret } from "./secrets.ts";

const LINES_AROUND = 4;

const STYLE = `<style>
body { max-width: 60em; }
pre { background: color-mix(in srgb, canvas, canvastext 12%); overflow: auto; padding: 1em; }
table { border-collapse: collapse; table-layout: fixed; width: 100%; }
td, th { overflow-wrap: anywhere; padding: .2em 1em .2em 0; text-align: left; vertical-align: top; }
th { width: 30%; }
mark { background: rgb(255 0 0 / .25); color: inherit; }
</style>
`;

type Row = readonly [name: string, value: string | null];

/** The details of an error as HTML; without one, those of a path that was not found. */
export function debugDetails(exchange: Exchange, failure?: Error): string {
  const { raw, target, match } = exchange;
  const route = match?.toRoute();
  const rows = Object.entries(route?.params ?? {})
    .map(([name, value]): Row => [`@${name}`, value]);
  const asked = `${target.method} ${target.path}${target.search}`;
  return STYLE + errors(failure) +
    (failure || route ? "" : misses(exchange)) +
    (route ? table("Route", [["Pattern", declared(route)], ...rows]) : "") +
    table("Request", [["Target", asked], ...raw.headers]);
}

/** An error and its causes, eight at most, each with its stack and the code of the application around it. */
function errors(thrown: unknown, title = "Error", limit = 8): string {
  if (thrown === undefined || limit === 0) return "";
  const { stack, cause }: Partial<Error> = Object(thrown);
  const text = folded(stack ?? Deno.inspect(thrown));
  const html = preformatted(escape(masked(text)));
  const place = thrown instanceof TemplateError ? thrown.place : placeIn(text);
  const code = place ? codeAround(place) : "";
  return section(title, html + code) + errors(cause, "Caused by", limit - 1);
}

/** A stack without the frames of the framework, of Vento and of the runtime, which are counted. */
function folded(stack: string): string {
  const lines = stack.split("\n");
  const shown = lines.filter((line) => !isForeignFrame(line));
  const hidden = lines.length - shown.length;
  if (hidden > 0) {
    shown.push(`    (${counted(hidden, "frame")} of the framework)`);
  }
  return shown.join("\n");
}

/** The first place in a folded stack; undefined when its file cannot be read without a prompt. */
function placeIn(stack: string): SourcePlace | undefined {
  const [, file, line] = /(file:[^\s()]+?):(\d+):\d+/.exec(stack) ?? [];
  if (file === undefined) return undefined;
  try {
    const path = new URL(file);
    const { state } = Deno.permissions.querySync({ name: "read", path });
    if (state !== "granted") return undefined;
    return { file, line: Number(line), source: Deno.readTextFileSync(path) };
  } catch {
    return undefined; // the file has gone, or the text only looks like a URL
  }
}

/** The lines around a place. */
function codeAround({ file, line, source }: SourcePlace): string {
  const first = Math.max(1, line - LINES_AROUND);
  const lines = source.split("\n").slice(first - 1, line + LINES_AROUND)
    .map((text, index) => `${first + index}  ${escape(masked(text))}`);
  lines[line - first] = `<mark>${lines[line - first]}</mark>`;
  return `<p>${escape(file)}</p>\n${preformatted(lines.join("\n"))}`;
}

/** Which routes nearly matched, and why they did not. */
function misses({ app, target, plan }: Exchange): string {
  const path = withoutBase(target.path, plan.base);
  const caseSensitive = plan.settings["framework.case_sensitive"];
  const routes = app.router().routes();
  const near = nearRoutes(routes, target.method, path, caseSensitive);
  if (near.length === 0) return "";
  const items = near.map(({ route, reason }) =>
    `<li>${escape(`${declared(route)}: ${reason}`)}</li>\n`
  );
  return section("Routes that nearly match", `<ul>\n${items.join("")}</ul>\n`);
}

function declared({ methods, pattern }: Route): string {
  return `${methods.join("|")} ${pattern}`;
}

/** Names with their values, those of secrets hidden. */
function table(title: string, rows: readonly Row[]): string {
  const html = rows.map(([name, value]) => {
    const shown = escape(maskedIfSecret(name, String(value)));
    return `<tr><th>${escape(name)}</th><td>${shown}</td></tr>\n`;
  });
  return section(title, `<table>\n${html.join("")}</table>\n`);
}

function preformatted(html: string): string {
  return `<pre tabindex="0">${html}</pre>\n`;
}

function section(title: string, html: string): string {
  return `<h2>${title}</h2>\n${html}`;
}
