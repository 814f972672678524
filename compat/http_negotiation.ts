/** Stands in for `@std/http/negotiation`: what a client prefers of what is offered (RFC 9110, section 12.5). */

/** A range of a header in lower case, without its quality, such as `text/*;level=1` or `de-AT`. */
interface Range {
  readonly name: string;
  readonly quality: number;
}

/** How exactly a range names what is offered, in lower case; 0 where it does not. */
type Specificity = (range: string, offered: string) => number;

/** Returns the offered type that the client prefers, the first one without a preference. */
export function accepts<T extends string = string>(
  request: Pick<Request, "headers">,
  ...types: T[]
): T | undefined {
  return preferred(request.headers.get("accept"), types, ofType);
}

/** Returns the offered language that the client prefers, the first one without a preference. */
export function acceptsLanguages<T extends string = string>(
  request: Pick<Request, "headers">,
  ...langs: T[]
): T | undefined {
  return preferred(request.headers.get("accept-language"), langs, ofLanguage);
}

function preferred<T extends string>(
  header: string | null,
  offered: T[],
  specificityOf: Specificity,
): T | undefined {
  if (!header) return offered[0];
  const ranges = header.toLowerCase().split(",").map(parse);
  const accepted = offered
    .map((value) => ({ value, ...match(ranges, value, specificityOf) }))
    .filter(({ quality }) => quality > 0);
  return accepted.sort((a, b) =>
    b.quality - a.quality || b.specificity - a.specificity
  )[0]?.value;
}

function parse(range: string): Range {
  const parts = range.split(";").map((part) => part.trim());
  const at = parts.findIndex((part) => part.startsWith("q="));
  const end = at < 0 ? parts.length : at;
  const quality = parseFloat(parts[at]?.slice(2) ?? "1");
  return { name: parts.slice(0, end).join(";"), quality };
}

/** What the most specific matching range says; of equally specific ones the better. */
function match(
  ranges: readonly Range[],
  offered: string,
  specificityOf: Specificity,
): { quality: number; specificity: number } {
  const matches = ranges.map(({ name, quality }) => ({
    quality,
    specificity: specificityOf(name, offered.toLowerCase()),
  }));
  return matches.filter(({ specificity }) => specificity > 0).sort((a, b) =>
    b.specificity - a.specificity || b.quality - a.quality
  )[0] ?? { quality: 0, specificity: 0 };
}

function ofType(range: string, offered: string): number {
  if (range === offered) return 3;
  if (range === "*/*") return 1;
  return range.endsWith("/*") && offered.startsWith(range.slice(0, -1)) ? 2 : 0;
}

function ofLanguage(range: string, offered: string): number {
  if (range === offered) return 3;
  if (range === "*") return 1;
  return range.split("-")[0] === offered.split("-")[0] ? 2 : 0;
}
