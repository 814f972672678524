/** Owns the picture of the results: the CPU time of a request, as a multiple of a bare server's. */

import { CONTENDERS } from "./contenders.ts";
import type { Measurement } from "./measurement.ts";

/** The rows that are shown, by what the picture calls them. */
const SHOWN: Readonly<Record<string, string>> = {
  parameter: "text, one parameter",
  json: "JSON",
  async: "asynchronous handler",
  thrown: "thrown 404",
  form: "form, 1 KB",
  validated: "JSON body, validated",
  vento: "Vento page",
};

const COLOURS = ["#8a8f98", "#0a84ff", "#ff7a3d", "#c2410c"];
const LONGEST = 4; // Longer bars are cut: the number beside them says how long they are.
const LEFT = 170;
const SCALE = 130;
const GROUP = 76;
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

/** Draws the picture as SVG; its colours follow the reader's scheme. */
export function drawPicture(measurements: readonly Measurement[]): string {
  const [bare = "", ...contenders] = Object.keys(CONTENDERS);
  const parts = contenders.map((contender, place) => {
    const x = 12 + place * 110;
    return bar(x, 36, 10, COLOURS[place]!, contender);
  });
  let y = TOP;
  for (const [name, title] of Object.entries(SHOWN)) {
    const found = measurements.find((each) => each.name === `${name}: CPU`);
    parts.push(
      `<text x="${LEFT - 10}" y="${y + 32}" text-anchor="end">${title}</text>`,
    );
    for (const [place, contender] of contenders.entries()) {
      const ratio = found?.ratio(contender, bare)?.median ?? 0;
      const width = Math.min(ratio, LONGEST) * SCALE;
      const colour = COLOURS[place]!;
      const value = ratio.toFixed(2);
      parts.push(bar(LEFT, y + place * 14, width, colour, value));
    }
    y += GROUP;
  }
  const one = LEFT + SCALE;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 ${y}" role="img" aria-labelledby="title">
<style>${STYLE}
</style>
<text id="title" class="title" x="12" y="22">CPU time of a request, as a multiple of a bare Deno.serve (shorter is better)</text>
<line class="base" x1="${one}" y1="${TOP - 8}" x2="${one}" y2="${y - 8}"/>
${parts.join("\n")}
</svg>
`;
}

/** A bar with a text behind it. */
function bar(
  x: number,
  y: number,
  width: number,
  colour: string,
  text: string,
): string {
  const end = (x + width + 5).toFixed(1);
  const length = width.toFixed(1);
  return `<rect x="${x}" y="${y}" width="${length}" height="11" fill="${colour}"/><text class="value" x="${end}" y="${
    y + 9
  }">${text}</text>`;
}
