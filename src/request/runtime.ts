/**
 * Owns access to Deno's record of a request, which is under a symbol of Deno's own. It is not documented, so each
 * function says what happens when it is missing.
 */

/** The runtime's record of a request; only that of a served request has these methods. */
interface RequestRecord {
  header?(name: string): unknown;
}

let requestSymbol: symbol | undefined;

function recordOf(request: object): RequestRecord | undefined {
  requestSymbol ??= Object.getOwnPropertySymbols(request)
    .find(({ description }) => description === "request");
  const slots = request as Record<symbol, RequestRecord | undefined>;
  return requestSymbol && slots[requestSymbol];
}

/** Whether a server of the runtime has received the request; false where the record is missing. */
export function isFromServer(request: Request): boolean {
  return typeof recordOf(request)?.header === "function";
}

/**
 * A header of a request, or null. Reading `request.headers` makes the runtime copy all headers and send the response a
 * turn later; the record reads a single one. Where the record is missing, `headers` is read; and once the request has
 * its response, or has become a WebSocket, too: what was read of them by then is left.
 */
export function headerOf(request: Request, name: string): string | null {
  const record = recordOf(request);
  if (typeof record?.header !== "function") return request.headers.get(name);
  try {
    const value = record.header(name);
    return typeof value === "string" ? value : null;
  } catch {
    return keptHeaderOf(request, name);
  }
}

function keptHeaderOf(request: Request, name: string): string | null {
  try {
    return request.headers.get(name);
  } catch {
    return null; // nothing was read
  }
}
