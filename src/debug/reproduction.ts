/**
 * Owns a request as a test: the code of a `Deno.test` that makes the request again, ready to copy. Secrets are masked,
 * and files appear by name only.
 */

import type { Application } from "../application/application.ts";
import type { Exchange } from "../application/exchange.ts";
import { FORBIDDEN_METHODS } from "../request/web_request.ts";
import { masked, maskedIfSecret } from "../secrets.ts";
import { withoutRequest } from "../without_request.ts";
import { settlesWithin } from "../timer.ts";
import { maskedPath } from "./masked_path.ts";
import { type SentBody, sentBody } from "./sent_body.ts";

/** What replaces a secret: a header allows no other characters. */
const MASK = "***";

/** The headers that the test leaves out: of the connection, and of browsers. Behind proxies, there is no test. */
const LEFT_OUT =
  /^(?:host|connection|keep-alive|upgrade|te|transfer-encoding|content-length|content-encoding|accept-encoding|user-agent|cache-control|pragma|dnt|priority|upgrade-insecure-requests|referer|origin|cf-.*|sec-.*)$/;

/** How many characters of a body a test repeats. */
const MAX_LENGTH = 10_000;

/** How many seconds to wait for a main module that is still loading. */
const WAIT_SECONDS = 0.05;

/** A comment in the test, above the import of the main module. */
const MAIN_ONLY =
  "// This module must start the server only when it is the main module: `if (import.meta.main) ...`";

/** How the code names the application, and the statements that import it. */
interface Imported {
  readonly name: string;
  readonly lines: readonly string[];
}

/** The code of a test that makes a request again; undefined in a worker, and when no web request can be made of it. */
export async function testOf(exchange: Exchange): Promise<string | undefined> {
  const { app, hasTarget, plan, raw, target } = exchange.nesting.at(-1)!;
  if (!hasTarget || FORBIDDEN_METHODS.has(raw.method)) return undefined;
  const main: string | undefined = Deno.mainModule;
  if (main === undefined) return undefined;
  const { name, lines } = await importOf(main, app);
  const path = maskedPath(target.path, exchange) + masked(target.search, MASK);
  const body = await sentBody(exchange, MASK);
  // Another host than one of the setting would be refused.
  const isAnyHost = plan.settings["framework.hosts"] === null;
  const origin = isAnyHost ? "" : new URL(raw.url).origin;
  const call = callOf(raw, origin + path, body, `${name}.fetch`);
  return [
    ...lines,
    "",
    `Deno.test(${literal(`${raw.method} ${path}`)}, async () => {`,
    ...indented(call),
    "  if (response.status >= 500) throw new Error(await response.text());",
    "});",
    "",
  ].join("\n");
}

/** The statement that makes the request. */
function callOf(
  raw: Request,
  address: string,
  body: SentBody | undefined,
  fetch: string,
): string[] {
  const { before, code } = bodyOf(body);
  const isForm = body?.kind === "fields";
  const headers = [...raw.headers]
    .filter(([name, value]) => !LEFT_OUT.test(name) && value !== "*/*")
    .filter(([name]) => !(isForm && name === "content-type"))
    .map(([name, value]) =>
      `${literal(name)}: ${literal(maskedHeader(name, value))},`
    );
  const options = [
    ...raw.method === "GET" ? [] : [`method: ${literal(raw.method)},`],
    ...headers.length === 0 ? [] : ["headers: {", ...indented(headers), "},"],
    ...code.length === 0 ? [] : [...code.slice(0, -1), `${code.at(-1)},`],
  ];
  const url = address.startsWith("/") ? `http://localhost${address}` : address;
  if (options.length === 0) {
    return [...before, `const response = await ${fetch}(${literal(address)});`];
  }
  return [
    ...before,
    `const request = new Request(${literal(url)}, {`,
    ...indented(options),
    "});",
    `const response = await ${fetch}(request);`,
  ];
}

/** The statements that prepare a body, and the option for it. */
function bodyOf(
  body: SentBody | undefined,
): { before: string[]; code: string[] } {
  if (body === undefined) return { before: [], code: [] };
  if (body.kind === "fields") {
    const before = body.fields.map(([name, value]) => {
      const shown = typeof value === "string"
        ? literal(value)
        : `new File([], ${literal(value.name)})`;
      return `form.append(${literal(name)}, ${shown});`;
    });
    const hasFiles = body.fields.some(([, value]) => typeof value !== "string");
    const type = hasFiles ? "FormData" : "URLSearchParams";
    return {
      before: [`const form = new ${type}();`, ...before],
      code: ["body: form"],
    };
  }
  const length = body.kind === "other" ? body.length : codeOf(body).length;
  if (body.kind === "other" || length > MAX_LENGTH) {
    const unit = body.kind === "other" ? "bytes" : "characters";
    return {
      before: [`// The body (${length} ${unit}) is left out.`],
      code: [],
    };
  }
  return { before: [], code: `body: ${codeOf(body)}`.split("\n") };
}

function codeOf(body: SentBody & { kind: "JSON" | "text" }): string {
  if (body.kind === "text") return literal(body.text);
  return `JSON.stringify(${JSON.stringify(body.value, undefined, 2)})`;
}

/** A header's value: the first of the many types that a browser accepts for a page, and the names of cookies. */
function maskedHeader(name: string, value: string): string {
  if (name === "accept" && value.startsWith("text/html,")) return "text/html";
  if (name !== "cookie") return maskedIfSecret(name, value, MASK);
  return value.split(";").map((pair) =>
    `${pair.split("=", 1)[0]!.trim()}=${MASK}`
  )
    .join("; ");
}

/**
 * Finds the application among the exports of the main module. Otherwise it is that of `Framework`, or must be exported
 * first.
 */
async function importOf(main: string, app: Application): Promise<Imported> {
  const exported = await exportOf(main, app);
  if (exported === "default") {
    return {
      name: "app",
      lines: [MAIN_ONLY, `import app from ${literal(main)};`],
    };
  }
  if (exported === undefined && app.isStatic) {
    const lines = [
      'import { Framework } from "@framework/core";',
      MAIN_ONLY,
      `import ${literal(main)};`,
    ];
    return { name: "Framework", lines };
  }
  const { name, hints } = exported === undefined
    ? {
      name: "app",
      hints: ["// It must export the application under this name."],
    }
    : { name: exported, hints: [] };
  const lines = [
    MAIN_ONLY,
    ...hints,
    `import { ${name} } from ${literal(main)};`,
  ];
  return { name, lines };
}

/** The name under which the main module exports an application. It is already loaded: no permission is asked for. */
async function exportOf(
  main: string,
  app: Application,
): Promise<string | undefined> {
  let found: string | undefined;
  const search = async (): Promise<void> => {
    const module: Record<string, unknown> = await import(main);
    found = Object.keys(module).find((name) =>
      isApplication(module[name], app)
    );
  };
  // A main module that is still loading may wait for this request.
  await settlesWithin(withoutRequest(search).catch(() => {}), WAIT_SECONDS);
  return found;
}

/** Whether a value is the public form of an application: both have the same router. */
function isApplication(value: unknown, app: Application): boolean {
  const { fetch, router }: Record<string, unknown> = Object(value);
  return typeof fetch === "function" && typeof router === "function" &&
    router.call(value) === app.router();
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}

/** A string literal. */
function literal(value: string): string {
  return JSON.stringify(value);
}
