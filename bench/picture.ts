/** Owns the picture of the results: what a request costs each contender, as a multiple of a bare server's cost. */

import { BASE, CONTENDERS, HONO, HONO_STORAGE, OURS } from "./contenders.ts";
import { type Figures, timesBase } from "./targets.ts";

/** The requests that are shown, by what the picture calls them. */
const SHOWN: Readonly<Record<string, string>> = {
  "parameter": "text, one parameter",
  "json": "JSON",
  "async": "asynchronous handler",
  "thrown 404": "thrown 404",
  "form": "form, 1 KB",
  "json body, validated": "JSON body, validated",
  "vento": "Vento page",
};

/** The colour of each contender. */
const COLOURS: Readonly<Record<string, string>> = {
  [OURS]: "#0a84ff",
  [HONO]: "#ff7a3d",
  [HONO_STORAGE]: "#c2410c",
  "h3": "#d4a900",
  "Express": "#8a8f98",
  "Fastify": "#5f6672",
};

/** Longer bars are cut: their number says how long they are. */
const MOST = 4;

const WIDTH = 760;
const LEFT = 170;
const BAR = 11;
const ROW = 14;
const GAP = 16;
const TOP = 64;

const STYLE = `
svg { background: #fff; color: #1f2328; font: 12px system-ui, sans-serif; }
text { fill: currentColor; }
.title { font-weight: 600; font-size: 14px; }
.value { font-size: 10px; opacity: .75; }
.base { stroke: currentColor; stroke-dasharray: 3 3; opacity: .5; }
@media (prefers-color-scheme: dark) {
  svg { background: #0d1117; color: #e6edf3; }
}`;

/** Draws the picture as SVG, of the requests that were measured; its colours follow the reader's scheme. */
export function drawPicture(figures: Figures): string {
  const names = Object.keys(CONTENDERS).filter((name) => name !== BASE);
  const cases = Object.keys(SHOWN)
    .filter((name) => figures.has(timesBase(name, OURS)));
  const groupHeight = names.length * ROW + GAP;
  const height = TOP + cases.length * groupHeight + 8;
  const groups = cases.map((name, place) =>
    drawCase(name, names, TOP + place * groupHeight, figures)
  );
  const one = LEFT + scaled(1);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title">
<style>${STYLE}
</style>
<text id="title" class="title" x="12" y="22">CPU time of a request, as a multiple of a bare Deno.serve (shorter is better)</text>
${legend(names)}
<line class="base" x1="${one}" y1="${TOP - 8}" x2="${one}" y2="${height - 8}"/>
${groups.join("\n")}
</svg>
`;
}

function legend(names: readonly string[]): string {
  let x = 12;
  const items = names.map((name) => {
    const item = `<rect x="${x}" y="36" width="10" height="10" fill="${
      COLOURS[name]
    }"/><text x="${x + 15}" y="45">${name}</text>`;
    x += 34 + name.length * 6.6;
    return item;
  });
  return items.join("\n");
}

/** The bars of one kind of request. */
function drawCase(
  name: string,
  contenders: readonly string[],
  top: number,
  figures: Figures,
): string {
  const bars = contenders.map((contender, place) => {
    const { median } = figures.get(timesBase(name, contender))!;
    const y = top + place * ROW;
    const width = scaled(Math.min(median, MOST));
    const value = `${median.toFixed(2)}${median > MOST ? " →" : ""}`;
    return `<rect x="${LEFT}" y="${y}" width="${
      width.toFixed(1)
    }" height="${BAR}" fill="${COLOURS[contender]}"/><text class="value" x="${
      (LEFT + width + 5).toFixed(1)
    }" y="${y + 9}">${value}</text>`;
  });
  const middle = top + contenders.length * ROW / 2 + 3;
  const label = `<text x="${LEFT - 10}" y="${middle}" text-anchor="end">${
    SHOWN[name]
  }</text>`;
  return [label, ...bars].join("\n");
}

/** The length of a bar. */
function scaled(ratio: number): number {
  return ratio / MOST * (WIDTH - LEFT - 60);
}
