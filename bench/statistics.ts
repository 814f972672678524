/** Owns what is made of repeated measurements: medians with their ranges, and how they are printed. */

/** The median of repeated measurements, and their lowest and highest. */
export interface Figure {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
}

/** Sums up repeated measurements. */
export function figure(values: readonly number[]): Figure {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1
    ? sorted[middle]!
    : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { median, lowest: sorted[0]!, highest: sorted.at(-1)! };
}

/** Each measurement divided by another contender's of the same round. */
export function ratios(
  values: readonly number[],
  base: readonly number[],
): Figure {
  return figure(values.map((value, round) => value / base[round]!));
}

/** A figure as it is printed, with its range. */
export function show(
  { median, lowest, highest }: Figure,
  digits: number,
): string {
  const [from, to] = [lowest, highest].map((value) => value.toFixed(digits));
  return `${median.toFixed(digits)} (${from}–${to})`;
}

/** A table in Markdown; the first column is text, the others are figures. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, place) => place === 0 ? "---" : "--:");
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}
