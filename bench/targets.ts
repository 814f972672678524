/** Owns the targets, and compares what was measured with them. */

import { BASE, HONO, HONO_STORAGE } from "./contenders.ts";
import { type Figure, figure, showRatio, table } from "./statistics.ts";

/** Whether a neighbour thrashed memory meanwhile. */
export type Mode = "quiet" | "busy";

/** What was measured for targets, by name: this framework's ratios to others, and counts. */
export type Figures = Map<string, Figure>;

/** The name of a contender's ratio to the base on a quiet machine. */
export function timesBase(request: string, contender: string): string {
  return `${request}: ${contender} / ${BASE}`;
}

interface Target {
  readonly what: string;
  /** What the ratios divide by; none for a count. */
  readonly against?: string;
  /** The names of the figures, without their mode: all of them must be in the limit. */
  readonly names: readonly string[];
  readonly limit: number;
  /** Whether the limit is the lowest value, not the highest. */
  readonly atLeast?: boolean;
  /** In which modes it was measured; none where there are no two. */
  readonly modes?: readonly Mode[];
}

const BOTH: readonly Mode[] = ["quiet", "busy"];
const TEXT = ["text", "parameter"];

const TARGETS: readonly Target[] = [
  request("text, one parameter", TEXT, BASE, 1.12, ["quiet"]),
  request("text, one parameter", TEXT, HONO, 1.08),
  request("one more header", ["header"], HONO, 1.08),
  request("JSON, `json()` and object", ["json", "object"], BASE, 1.20),
  request("JSON, `json()` and object", ["json", "object"], HONO, 1.12),
  request("asynchronous handler", ["async"], BASE, 1.25),
  request("asynchronous handler", ["async"], HONO, 1.12),
  request("filter on a mapped method", ["filters"], BASE, 1.18),
  request("unknown path", ["not found"], BASE, 1.35),
  request("unknown path", ["not found"], HONO, 1.1),
  request("thrown 404, mapped `error`", ["thrown 404"], HONO, 1.25),
  request(
    "401 of middleware, 422 of a schema",
    ["401 of middleware", "422 of a schema"],
    HONO,
    1.25,
  ),
  request("form of three fields", ["form"], BASE, 1.15),
  request("form of three fields", ["form"], HONO, 0.88),
  request("JSON body of 1 KB", ["json body"], BASE, 1.15),
  request(
    "JSON body of 1 KB, read and validated",
    ["json body", "json body, validated"],
    HONO,
    1.1,
  ),
  request("Vento page", ["vento"], BASE, 1.12),
  request("page of 4 KB", ["4 KB"], BASE, 0.95),
  request(
    "text, JSON, async, errors, bodies",
    [
      ...TEXT,
      "json",
      "async",
      "not found",
      "thrown 404",
      "401 of middleware",
      "422 of a schema",
      "form",
      "json body",
    ],
    HONO_STORAGE,
    0.75,
  ),
  {
    what: "a page of a site",
    against: HONO,
    names: [`site / ${HONO}`],
    limit: 1,
  },
  request("p99 of a text", TEXT.map((name) => `${name}, p99`), BASE, 1.2),
  {
    what: "memory after 200,000 requests",
    against: BASE,
    names: [`memory / ${BASE}`],
    limit: 1.25,
  },
  {
    what: "memory after 200,000 requests",
    against: HONO,
    names: [`memory / ${HONO}`],
    limit: 1.1,
  },
  {
    what: "start to the first 200",
    against: BASE,
    names: [`start / ${BASE}`],
    limit: 1.6,
  },
  {
    what: "start to the first 200",
    against: HONO,
    names: [`start / ${HONO}`],
    limit: 1.35,
  },
  {
    what: "import",
    against: HONO,
    names: [`import / ${HONO}`],
    limit: 2.5,
  },
  {
    what: "modules loaded by the import",
    names: ["modules"],
    limit: 40,
  },
  {
    what: "speed of the router, one and two parameters",
    against: "find-my-way",
    names: ["router, one parameter", "router, two parameters"],
    limit: 1,
    atLeast: true,
  },
  {
    what: "speed of the router, other kinds",
    against: "find-my-way",
    names: [
      "router, static",
      "router, optional",
      "router, wildcard",
      "router, miss",
    ],
    limit: 0.8,
    atLeast: true,
  },
];

function request(
  what: string,
  cases: readonly string[],
  against: string,
  limit: number,
  modes = BOTH,
): Target {
  const names = cases.map((name) => `${name} / ${against}`);
  return { what, against, names, limit, modes };
}

/** The table of all targets that were measured. */
export function printTargets(figures: Figures): string {
  const rows = TARGETS.filter((target) =>
    namesOf(target).some((name) => figures.has(name))
  ).map((target) => {
    const { what, against = "", limit, atLeast, modes } = target;
    return [
      what,
      against,
      `${atLeast ? "≥" : "≤"} ${limit}`,
      modes ? cell(target, "quiet", figures) : cell(target, undefined, figures),
      modes ? cell(target, "busy", figures) : "",
    ];
  });
  return table(["", "against", "target", "measured", "busy"], rows);
}

/** Adds the lowest speed of each kind of route against find-my-way, read from the router's table. */
export function recordRouter(text: string, figures: Figures): void {
  const [, match = ""] = /^Match.*?\n\n((?:\|.*\n?)+)/m.exec(text) ?? [];
  const [head = [], , ...rows] = match.trim().split("\n").map((line) =>
    line.split("|").slice(1, -1).map((each) => each.trim())
  );
  const column = head.indexOf("find-my-way");
  for (const row of rows) {
    const name = `router, ${row[0]}`;
    const ratio = Number(/\(([\d.]+)/.exec(row[column] ?? "")?.[1]);
    const lowest = Math.min(figures.get(name)?.median ?? Infinity, ratio);
    figures.set(name, figure([lowest]));
  }
}

function namesOf({ names, modes }: Target): readonly string[] {
  if (!modes) return names;
  return modes.flatMap((mode) => names.map((name) => `${name}, ${mode}`));
}

/** What was measured in one mode, and whether that is in the limit. */
function cell(
  target: Target,
  mode: Mode | undefined,
  figures: Figures,
): string {
  const { names, limit, atLeast = false } = target;
  if (mode && !target.modes!.includes(mode)) return "";
  const found = names.map((name) =>
    figures.get(mode ? `${name}, ${mode}` : name)
  ).filter((each) => each !== undefined);
  if (found.length === 0) return "";
  const worst = found.reduce((one, other) =>
    (one.median < other.median) === atLeast ? one : other
  );
  const measured = found.map((each) =>
    each.median >= 10 ? each.median.toFixed(0) : showRatio(each)
  );
  return `${measured.join(", ")}: ${verdict(worst, limit, atLeast)}`;
}

function verdict(
  { median, low, high }: Figure,
  limit: number,
  atLeast: boolean,
): string {
  const missed = Math.round((atLeast ? limit - median : median - limit) * 100);
  if (missed <= 0) return "met";
  const near = low <= limit && limit <= high;
  return `**missed** by ${missed / 100}${near ? ", within the spread" : ""}`;
}
