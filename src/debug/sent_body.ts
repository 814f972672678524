/** Owns a request's body as a developer sees it: by its kind, with secrets masked. */

import type { Exchange } from "../application/exchange.ts";
import { kindOf } from "../request/body.ts";
import { headerOf } from "../runtime.ts";
import { masked, SECRETS } from "../secrets.ts";

/** A field of a form: a text or a file. */
export type Field = readonly [name: string, value: string | File];

/** A body by its kind. */
export type SentBody =
  | { readonly kind: "fields"; readonly fields: readonly Field[] }
  | { readonly kind: "JSON"; readonly value: unknown }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "other"; readonly length: number };

/** The body of a request; undefined when there is none, or it was not read. The mask stands for secrets. */
export async function sentBody(
  exchange: Exchange,
  mask: string,
): Promise<SentBody | undefined> {
  const { body } = exchange;
  if (body === undefined || body.length === 0) return undefined;
  const type = headerOf(exchange.raw, "content-type") ?? "";
  try {
    const kind = kindOf(type);
    if (kind === "form" || kind === "multipart") {
      // Deno takes the square of the length for many spaces.
      const headers = { "content-type": type.replace(/\s+/g, " ") };
      const form = await new Response(body, { headers }).formData();
      const fields = [...form].map(([name, value]): Field => {
        if (SECRETS.test(name)) return [name, mask];
        const isText = typeof value === "string";
        return [name, isText ? maskedText(value, mask) : value];
      });
      return { kind: "fields", fields };
    }
    const text = new TextDecoder("utf-8", { fatal: true }).decode(body);
    if (kind !== "JSON") return { kind: "text", text: maskedText(text, mask) };
    return { kind: "JSON", value: maskedJson(JSON.parse(text), mask) };
  } catch {
    return { kind: "other", length: body.length };
  }
}

/** A value of JSON with everything below the name of a secret hidden, and the secrets in each text. */
function maskedJson(value: unknown, mask: string, isSecret = false): unknown {
  if (Array.isArray(value)) {
    return value.map((member) => maskedJson(member, mask, isSecret));
  }
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(([name, member]) => [
      name,
      maskedJson(member, mask, isSecret || SECRETS.test(name)),
    ]);
    return Object.fromEntries(members);
  }
  if (isSecret) return mask;
  return typeof value === "string" ? maskedText(value, mask) : value;
}

/** A name and its value in a text: a member of JSON, a line such as that of YAML or a header, and an element of XML. */
const NAMED: readonly RegExp[] = [
  /("([^"\\]{1,100})"\s*:\s*)(?:"(?:[^"\\]|\\.)*"?|[^\s,}"]+)/g,
  /(^[ \t-]*([\w.-]{1,100}):[ \t]+)\S.*/gm,
  /(<([\w:.-]{1,100})(?:\s[^<>]*)?>)[^<>]+/g,
];

/** A text with the values of secrets hidden, in whichever notation they are. */
function maskedText(text: string, mask: string): string {
  const hide = (pair: string, start: string, name: string): string =>
    SECRETS.test(name) ? start + mask : pair;
  return NAMED.reduce(
    (shown, pairs) => shown.replace(pairs, hide),
    masked(text, mask),
  );
}
