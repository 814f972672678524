/** Owns what an origin is, for the extensions whose options name some. */

/** A scheme and a host, and a port where it is not the scheme's own; no pattern, since origins are compared whole. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^/?#@\s*]+$/;

/** Throws `TypeError` unless a value is an origin in the form that browsers send, so that the two can be compared. */
export function checkOrigin(action: string, origin: unknown): void {
  if (isOrigin(origin)) return;
  throw new TypeError(
    `Cannot ${action} the origin ${Deno.inspect(origin)}: ` +
      'it must look like "https://example.com" or "http://localhost:8000"; for many origins, give a function',
  );
}

function isOrigin(value: unknown): boolean {
  if (typeof value !== "string" || !ORIGIN.test(value)) return false;
  const origin = URL.parse(value)?.origin;
  // The URL standard gives no origin for unknown schemes, such as that of an app.
  return origin === value || origin === "null";
}
