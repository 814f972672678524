/**
 * Owns looking into what the runtime keeps of its own objects, under symbols of its own. Nothing of
 * that is documented: who looks must know what to do where nothing is found.
 */

/** A look at what objects of one class keep under a symbol of that description. */
export function slot(description: string): (object: object) => unknown {
  let found: symbol | undefined;
  return (object) => {
    found ??= Object.getOwnPropertySymbols(object)
      .find((symbol) => symbol.description === description);
    return found && (object as Record<symbol, unknown>)[found];
  };
}

/** Of a request that the runtime serves, this tells a header. */
const keptOf = slot("request") as (request: Request) => {
  header?(name: string): unknown;
} | undefined;

/**
 * A header of a request, or null. When the `headers` of a request are looked at, the runtime copies all
 * of them and sends the answer a turn later, a twentieth of the time of a small request; what it keeps
 * itself tells one header alone. Where that is not found, `headers` serves.
 */
export function headerOf(request: Request, name: string): string | null {
  const kept = keptOf(request);
  if (typeof kept?.header !== "function") return request.headers.get(name);
  try {
    const value = kept.header(name);
    return typeof value === "string" ? value : null;
  } catch {
    return null; // the request became a WebSocket, which has no headers
  }
}
