/** Owns the tables in Markdown: all contenders of one measurement, and the summary of many. */

import { CONTENDERS, OURS } from "./contenders.ts";
import type { Figure, Measurement } from "./measurement.ts";

/** What this framework is compared with in the summary. */
const COLUMNS = [
  ...Object.keys(CONTENDERS).filter((name) => name !== OURS),
  "find-my-way",
];

/** All contenders of a measurement. */
export function details(measurement: Measurement): string {
  return table(
    [measurement.name, measurement.unit, "framework × it"],
    measurement.contenders.map((contender) => [
      contender,
      show(measurement.of(contender)),
      show(measurement.ratio(OURS, contender)),
    ]),
  );
}

/** One line for each measurement: this framework, and how many times the others. */
export function summary(measurements: readonly Measurement[]): string {
  return table(
    ["", "framework", ...COLUMNS.map((name) => `× ${name}`)],
    measurements.map((measurement) => [
      `${measurement.name}, ${measurement.unit}`,
      show(measurement.of(OURS)),
      ...COLUMNS.map((name) => show(measurement.ratio(OURS, name))),
    ]),
  );
}

/** A figure with its quartiles. */
function show(figure: Figure | undefined): string {
  if (figure === undefined) return "–";
  const { low, median, high } = figure;
  const digits = median < 10 ? 2 : median < 100 ? 1 : 0;
  const [from, middle, to] = [low, median, high]
    .map((value) => value.toFixed(digits));
  return from === to ? middle! : `${middle} (${from}–${to})`;
}

/** The first column is text, the others are figures. */
function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const rule = head.map((_, place) => place === 0 ? "---" : "--:");
  return [head, rule, ...rows]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}
