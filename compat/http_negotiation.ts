/** Stands in for `@std/http/negotiation`: the media type that a client prefers (RFC 9110, section 12.5.1). */

/** A media range of an `Accept` header, in lower case. */
interface Range {
  /** The type with its parameters, without the quality. */
  readonly type: string;
  readonly quality: number;
}

/** Returns the offered type that the client prefers, the first one without a preference. */
export function accepts<T extends string = string>(
  request: Pick<Request, "headers">,
  ...types: T[]
): T | undefined {
  const header = request.headers.get("accept");
  if (!header) return types[0];
  const ranges = header.toLowerCase().split(",").map(parse);
  const accepted = types
    .map((type) => ({ type, ...match(ranges, type) }))
    .filter(({ quality }) => quality > 0);
  return accepted.sort((a, b) =>
    b.quality - a.quality || b.specificity - a.specificity
  )[0]?.type;
}

function parse(range: string): Range {
  const parts = range.split(";").map((part) => part.trim());
  const at = parts.findIndex((part) => part.startsWith("q="));
  const end = at < 0 ? parts.length : at;
  const quality = parseFloat(parts[at]?.slice(2) ?? "1");
  return { type: parts.slice(0, end).join(";"), quality };
}

/** What the most specific matching range says of a type; of equally specific ones the better. */
function match(
  ranges: readonly Range[],
  offered: string,
): { quality: number; specificity: number } {
  const matches = ranges.map(({ type, quality }) => ({
    quality,
    specificity: specificityOf(type, offered.toLowerCase()),
  }));
  return matches.filter(({ specificity }) => specificity > 0).sort((a, b) =>
    b.specificity - a.specificity || b.quality - a.quality
  )[0] ?? { quality: 0, specificity: 0 };
}

function specificityOf(range: string, offered: string): number {
  if (range === offered) return 3;
  if (range === "*/*") return 1;
  return range.endsWith("/*") && offered.startsWith(range.slice(0, -1)) ? 2 : 0;
}
