/**
 * Owns the response that most requests get: one text with its status and type, kept in the scope until it
 * is sent. An `HttpResponse` is made only when something needs one.
 */

import { checkStatus } from "../errors.ts";
import type { CompiledPlan, Owner, Scope } from "../state/scope.ts";

/** The scope of a request, with the types of what its response reads there. */
export interface ResponseSource extends Scope {
  outcome: Outcome | undefined;
  readonly app: { owner: Owner; request(): { readonly secure: boolean } };
  plan: CompiledPlan & {
    settings: Readonly<Record<`framework.${"debug" | "coalesce"}`, boolean>>;
  };
}

/** A whole response. The text always replaces the body; a status or header that is not given stays. */
export interface Outcome {
  readonly status?: number | undefined;
  readonly text?: string;
  /** The content type of the text, HTML when not given. A JSON type that was set before stays. */
  readonly type?: string | undefined;
  /** Each replaces a header of the same name. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The content type of a text. */
export const HTML = "text/html; charset=utf-8";

/** The statuses without a body (Fetch standard, "null body status"). */
export const NULL_BODY: ReadonlySet<unknown> = new Set([204, 205, 304]);

/** Keeps an outcome as the whole response; returns false when an `HttpResponse` is needed instead. */
export function keepOutcome(
  scope: Scope,
  outcome: Outcome,
  sealedBy?: string,
): boolean {
  const { status } = outcome;
  if (!isUntouched(scope)) return false;
  if (status !== undefined) checkStatus("respond", status, 200, 599);
  scope.outcome = outcome;
  scope.sealedBy = sealedBy;
  return true;
}

/** Whether nothing was written yet and no `HttpResponse` is needed, as in most requests. */
export function isUntouched({ httpResponse, outcome, root }: Scope): boolean {
  return httpResponse === undefined && outcome === undefined &&
    !root.plan?.needsResponse;
}

/** The web response of an outcome, when there is nothing else to send. */
export function textResponse(
  { text = "", type = HTML, status = 200, headers }: Outcome,
  scope: ResponseSource,
): Response {
  const isEmpty = text === "" || NULL_BODY.has(status);
  const init: Record<string, string> = isEmpty ? {} : { "content-type": type };
  if (headers !== undefined) Object.assign(init, headers);
  return webResponse(isEmpty ? null : text, status, init, scope);
}

/**
 * A web response. A text of a middle length is sent in one chunk: the runtime sends a head and a body of
 * together more than 512 bytes in two writes, at twice the cost, but a head and a chunk in one; for a long
 * text, two writes are faster. HEAD, HTTP/1.0 and HTTP/2 get the length all the same. Unless the status is 200,
 * Deno makes the head of a text together with the response, and once more when a header is appended. None of
 * that is documented.
 */
export function webResponse(
  body: BodyInit | null,
  status: number,
  headers: Record<string, string>,
  scope: ResponseSource,
): Response {
  const isChunked = typeof body === "string" && body.length >= 400 &&
    body.length <= 32_768 && scope.info !== undefined &&
    scope.plan.settings["framework.coalesce"];
  const isHeadLazy = status === 200;
  if (isChunked && !isHeadLazy) headers["transfer-encoding"] = "chunked";
  const response = new Response(body, { status, headers });
  if (isChunked && isHeadLazy) {
    response.headers.append("transfer-encoding", "chunked");
  }
  return response;
}
