/**
 * Owns looking into what the runtime keeps of its own objects, under symbols of its own. Nothing of
 * that is documented: who looks must know what to do where nothing is found.
 */

/** A look at what objects of one class keep under a symbol of that description, or their class does. */
export function slot(description: string): (object: object) => unknown {
  let found: symbol | undefined;
  return (object) => {
    found ??= [object, Object.getPrototypeOf(object) ?? {}]
      .flatMap((owner) => Object.getOwnPropertySymbols(owner))
      .find((symbol) => symbol.description === description);
    return found && (object as Record<symbol, unknown>)[found];
  };
}

/** What the runtime keeps of a request; of one that it serves, this tells a header. */
const keptOf = slot("request") as (request: Request) => Kept | undefined;

interface Kept {
  header?(name: string): unknown;
}

const upgradedOf = slot("_upgraded");

/** Whether the runtime has served a request, and nobody made it. */
export function isHandedOver(request: Request): boolean {
  return typeof keptOf(request)?.header === "function";
}

/** Whether a request was made a WebSocket of; false where the runtime does not tell. */
export function isUpgraded(request: Request): boolean {
  const kept = keptOf(request);
  return kept !== undefined && upgradedOf(kept) === true;
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
