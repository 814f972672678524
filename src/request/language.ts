/** Owns choosing a language by the `Accept-Language` header. */

/** How many ranges are read: each is compared with each offered language. */
const MAX_RANGES = 100;

/** One range of the header, such as `de-AT;q=0.8`. A weight has three digits at most (RFC 9110, section 12.4.2). */
const RANGE =
  /^\s*([a-z]{1,8}(?:-[a-z\d]{1,8}){0,9}|\*)\s*(?:;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?$/i;

interface Range {
  /** The language in small letters, or `*` for any. */
  readonly language: string;
  readonly weight: number;
}

/**
 * The tag that fits the header best, by the lookup of RFC 4647 (section 3.4): each range, the heaviest first,
 * is shortened from its end until it is an offered tag. A range also fits a longer tag. `*` takes the first tag
 * that the client does not refuse by a weight of 0. Without a header the first tag; undefined when none fits.
 */
export function bestLanguage<Tag extends string>(
  header: string,
  tags: readonly Tag[],
): Tag | undefined {
  if (header.trim() === "") return tags[0];
  const ranges = rangesOf(header);
  const offered = tags.filter((tag) => !isRefused(tag, ranges));
  for (const { language, weight } of ranges) {
    if (weight === 0) return undefined; // the last ones
    const found = language === "*" ? offered[0] : lookUp(language, offered);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The ranges of a header, the heaviest first; malformed ones are skipped. */
function rangesOf(header: string): Range[] {
  return header.split(",", MAX_RANGES)
    .map((text) => RANGE.exec(text))
    .filter((match) => match !== null)
    .map(([, language, weight = "1"]) => ({
      language: language!.toLowerCase(),
      weight: Number(weight),
    }))
    .sort((one, other) => other.weight - one.weight);
}

/** The tag that is the range, or one of its beginnings; otherwise one that begins with the range. */
function lookUp<Tag extends string>(
  range: string,
  tags: readonly Tag[],
): Tag | undefined {
  for (let part = range; part !== ""; part = shortened(part)) {
    const found = tags.find((tag) => tag.toLowerCase() === part);
    if (found !== undefined) return found;
  }
  return tags.find((tag) => covers(range, tag));
}

/** A range without its last subtag, and without a single letter that would then be the last. */
function shortened(range: string): string {
  return range.replace(/(?:^|-)[^-]+$/, "").replace(/-[^-]$/, "");
}

/** Whether the longest range that covers a tag has the weight 0. */
function isRefused(tag: string, ranges: readonly Range[]): boolean {
  const [nearest] = ranges.filter(({ language }) => covers(language, tag))
    .sort((one, other) => other.language.length - one.language.length);
  return nearest?.weight === 0;
}

/** Whether a tag is a range, or begins with it. */
function covers(range: string, tag: string): boolean {
  return `${tag.toLowerCase()}-`.startsWith(`${range}-`);
}
