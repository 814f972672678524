/**
 * Owns what is made of repeated measurements: medians with their quartiles, ratios, and the tables
 * that print them.
 */

/** The median of repeated measurements, and the quartiles around it. */
export interface Figure {
  readonly median: number;
  /** A quarter of the measurements is at most this. */
  readonly low: number;
  /** A quarter of the measurements is at least this. */
  readonly high: number;
}

/** Sums up repeated measurements. */
export function figure(values: readonly number[]): Figure {
  const sorted = values.toSorted((a, b) => a - b);
  return {
    median: quantile(sorted, 0.5),
    low: quantile(sorted, 0.25),
    high: quantile(sorted, 0.75),
  };
}

/** Each measurement divided by another contender's of the same round. */
export function ratios(
  values: readonly number[],
  base: readonly number[],
): Figure {
  return figure(values.map((value, round) => value / base[round]!));
}

/** A figure as it is printed, with its quartiles. */
export function show({ median, low, high }: Figure, digits: number): string {
  const [from, to] = [low, high].map((value) => value.toFixed(digits));
  return `${median.toFixed(digits)} (${from}–${to})`;
}

/** A ratio as it is printed: `≈` marks one whose spread is larger than its distance from 1. */
export function showRatio(ratio: Figure): string {
  const { median, low, high } = ratio;
  const mark = high - low > Math.abs(median - 1) ? " ≈" : "";
  return low === 1 && high === 1 ? "1.00" : `${show(ratio, 2)}${mark}`;
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

/** The value below which a share of the sorted values lies, interpolated between two of them. */
function quantile(sorted: readonly number[], share: number): number {
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)]!;
  const above = sorted[Math.ceil(place)]!;
  return below + (above - below) * (place % 1);
}
