/** Owns what is measured: the figures of contenders by round, their medians and ratios. */

/** The median of some figures, and the quartiles around it. */
export interface Figure {
  readonly low: number;
  readonly median: number;
  readonly high: number;
}

/** The figures of one thing that is measured. */
export class Measurement {
  /** What is measured, and in what. */
  readonly name: string;
  readonly unit: string;
  readonly #figures: Map<string, number[]>;

  constructor(
    name: string,
    unit: string,
    figures: Readonly<Record<string, number[]>> = {},
  ) {
    this.name = name;
    this.unit = unit;
    this.#figures = new Map(Object.entries(figures));
  }

  /** Appends the figure of a round. */
  add(contender: string, figure: number): void {
    const figures = this.#figures.get(contender);
    if (figures) figures.push(figure);
    else this.#figures.set(contender, [figure]);
  }

  /** The contenders that were measured. */
  get contenders(): string[] {
    return [...this.#figures.keys()];
  }

  /** The figure of a contender. */
  of(contender: string): Figure | undefined {
    const figures = this.#figures.get(contender);
    return figures && summarize(figures);
  }

  /** The figure of a contender as a multiple of another one's, taken round by round. */
  ratio(contender: string, base: string): Figure | undefined {
    const figures = this.#figures.get(contender);
    const bases = this.#figures.get(base);
    if (!figures || !bases) return undefined;
    return summarize(figures.map((figure, round) => figure / bases[round]!));
  }
}

/** Sums up some figures. */
export function summarize(figures: readonly number[]): Figure {
  const sorted = figures.toSorted((a, b) => a - b);
  return {
    low: quantile(sorted, 0.25),
    median: quantile(sorted, 0.5),
    high: quantile(sorted, 0.75),
  };
}

/** The value below which a share of the sorted values lies, interpolated between two of them. */
function quantile(sorted: readonly number[], share: number): number {
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)]!;
  const above = sorted[Math.ceil(place)]!;
  return below + (above - below) * (place % 1);
}
