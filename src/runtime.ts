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

/** What the runtime keeps of a request; of one that it serves, this tells a header. */
const keptOf = slot("request") as (request: Request) => Kept | undefined;

interface Kept {
  header?(name: string): unknown;
}

/** Whether the runtime has served a request, and nobody made it. */
export function isHandedOver(request: Request): boolean {
  return typeof keptOf(request)?.header === "function";
}

/** Whether a request was made a WebSocket of; false where the runtime does not tell. */
export function isUpgraded(request: Request): boolean {
  const kept = keptOf(request);
  if (!kept) return false;
  const symbol = Object.getOwnPropertySymbols(Object.getPrototypeOf(kept))
    .find(({ description }) => description === "_upgraded");
  return symbol !== undefined && Reflect.get(kept, symbol) === true;
}

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
