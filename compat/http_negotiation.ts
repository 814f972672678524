/** Stands in for `@std/http/negotiation`: which media type a client likes best (RFC 9110, section 12.5.1). */

interface Range {
  readonly type: string;
  readonly subtype: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

/** The one of the offered types that the client likes best, the first where it has no opinion. */
export function accepts<T extends string = string>(
  request: Pick<Request, "headers">,
  ...types: T[]
): T | undefined {
  const header = request.headers.get("accept");
  if (!header) return types[0];
  const ranges = header.split(",").flatMap((range) => parse(range));
  return best(ranges, types);
}

function parse(text: string): Range[] {
  const [, type, subtype, rest = ""] =
    /^\s*([^\s/;]+)\/([^\s;]+)\s*(?:;(.*))?$/.exec(text) ?? [];
  if (type === undefined || subtype === undefined) return [];
  const parameters = new Map<string, string>();
  let quality = 1;
  for (
    const [name = "", value = ""] of rest.split(";").map((pair) =>
      pair.trim().split("=")
    )
  ) {
    const bare = value.replace(/^"(.*)"$/, "$1").toLowerCase();
    if (name.toLowerCase() === "q" && bare !== "") {
      quality = parseFloat(bare);
      break;
    }
    if (name !== "") parameters.set(name.toLowerCase(), bare);
  }
  return [{ type, subtype, parameters, quality }];
}

/** Of types liked equally, the one that was offered first. */
function best<T extends string>(ranges: Range[], types: T[]): T | undefined {
  const liked = types.map((type) => ({ type, ...judged(ranges, type) })).filter(
    ({ quality }) => quality > 0,
  );
  return liked.sort((a, b) =>
    b.quality - a.quality || b.specificity - a.specificity
  )[0]?.type;
}

/** What the most specific fitting range says of a type; of equally specific ones the better. */
function judged(
  ranges: Range[],
  type: string,
): { quality: number; specificity: number } {
  const offered = parse(type)[0];
  let found = { quality: 0, specificity: -1 };
  for (const range of offered === undefined ? [] : ranges) {
    const specificity = fit(range, offered!);
    if (specificity < 0) continue;
    const better = specificity - found.specificity ||
      range.quality - found.quality;
    if (better > 0) found = { quality: range.quality, specificity };
  }
  return found;
}

/** How closely a range fits a type: 0 for a wildcard to 7 for type, subtype and parameters; -1 for no fit. */
function fit(range: Range, offered: Range): number {
  const type = same(range.type, offered.type);
  const subtype = same(range.subtype, offered.subtype);
  if (!type && range.type !== "*" || !subtype && range.subtype !== "*") {
    return -1;
  }
  for (const [name, value] of range.parameters) {
    if ((offered.parameters.get(name) ?? "") !== value) return -1;
  }
  return (type ? 4 : 0) + (subtype ? 2 : 0) +
    (range.parameters.size > 0 ? 1 : 0);
}

function same(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
