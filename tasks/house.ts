/**
 * Owns the limits of `src/`, the house: its rooms and who may import whom, its floors, its sizes, and how
 * long a request's way through it may be. Prints each figure beside its limit, and the calls of the
 * requests that are named.
 *
 *     deno task house [text|json|unknown|form]
 */

import { between, circlesIn, importsOf, longestChain } from "./imports.ts";
import { linesIn } from "./size.ts";
import { figuresOf, type Kind, traceWays, type WayFigures } from "./trace.ts";

/** The limits that are not met yet, each with the figure of now: that is a warning, more is a failure. */
const NOT_YET: Readonly<Record<string, number>> = {
  "lines of code in src/": 5_855,
};

/** The rooms, and which other rooms each may import. Everyone may import the files of the ground. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  handling: [
    "application",
    "routing",
    "response",
    "view",
    "server",
    "request",
    "state",
  ],
  application: ["routing", "response", "view", "server", "request", "state"],
  routing: ["response", "state"],
  response: ["state"],
  view: ["state"],
  server: ["state"],
  request: ["routing", "state"],
  state: [],
};

/** The files above the rooms. The other files of `src/` are the ground, and import only each other. */
const TOP = ["mod.ts", "src/framework.ts", "src/engine.ts"];

/** The extension that is for tests; it has no limit of its own. */
const TESTING = "testing";

const FLOORS = 9;
const FLAT_FILES = 10;
const LINES = 5_000;
const LINES_OF_AN_EXTENSION = 150;
const LINES_OF_A_FILE = 250;
const LINES_OF_FILES: Readonly<Record<string, number>> = {
  "src/engine.ts": 300,
};

const WAYS: Readonly<Record<Kind, WayFigures>> = {
  text: { calls: 45, files: 12, changes: 25 },
  json: { calls: 60, files: 14, changes: 35 },
  unknown: { calls: 90, files: 16, changes: 50 },
  form: { calls: 100, files: 18, changes: 55 },
};

let failed = 0;
const { exports, imports: names } = JSON.parse(
  await Deno.readTextFile("deno.json"),
);
const entries = Object.values<string>(exports).map((path) => path.slice(2));
const imports = await importsOf(entries, names);
const lines = await linesIn("src");

// A room is one floor, however many files it has.
const chain = longestChain(between(imports, roomOf), "mod.ts");
limit("floors from mod.ts to the ground", chain.length, FLOORS, chain);
const circles = circlesIn(imports);
limit("imports in circles", circles.length, 0, circles);
const wrong = [...imports].flatMap(([path, targets]) =>
  targets.filter((target) => !mayImport(path, target))
    .map((target) => `${path} > ${target}`)
);
limit("imports that do not lead downwards", wrong.length, 0, wrong);
const flat = [...lines.keys()].filter((path) => roomOf(path) === undefined);
limit("files directly in src/", flat.length, FLAT_FILES, flat);
limitSizes();
await limitWays();
Deno.exit(failed === 0 ? 0 : 1);

/** Prints a figure, and how it comes about where it is above its limit. */
function limit(
  name: string,
  figure: number,
  most: number,
  parts: readonly string[] = [],
): void {
  const isMet = figure <= most;
  const isWaived = figure <= (NOT_YET[name] ?? -1);
  if (!isMet && !isWaived) failed++;
  const verdict = isMet && !isWaived
    ? "ok     "
    : isMet || isWaived
    ? "warning"
    : "FAILED ";
  const advice = isMet && isWaived ? "; strike it from NOT_YET" : "";
  console.log(`${verdict} ${name}: ${figure} of ${most}${advice}`);
  if (!isMet) { for (const part of parts) console.log(`          ${part}`); }
}

/** The room of a module, or nothing for a file that lies directly in `src/` or above. */
function roomOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1];
}

function isExtension(room: string | undefined): boolean {
  return room !== undefined && !Object.hasOwn(ROOMS, room);
}

/** Whether an import leads downwards; that of an extension to its own files, public names or files flat in `src/`. */
function mayImport(path: string, target: string): boolean {
  const [room, targetRoom] = [roomOf(path), roomOf(target)];
  if (TOP.includes(path)) return !isExtension(targetRoom);
  if (isExtension(room) || entries.includes(path)) {
    const isFlat = targetRoom === undefined && !TOP.includes(target);
    return entries.includes(target) || isFlat ||
      isExtension(targetRoom) && (room ?? targetRoom) === targetRoom;
  }
  if (TOP.includes(target) || entries.includes(target)) return false;
  if (targetRoom === undefined) return true;
  return room === targetRoom ||
    room !== undefined && ROOMS[room]!.includes(targetRoom);
}

function limitSizes(): void {
  let total = 0;
  const extensions = new Map<string, number>();
  for (const [path, count] of lines) {
    const room = roomOf(path);
    const most = LINES_OF_FILES[path] ?? LINES_OF_A_FILE;
    if (count > most) limit(`lines of code in ${path}`, count, most);
    if (!isExtension(room)) total += count;
    else if (room !== TESTING) {
      extensions.set(room!, (extensions.get(room!) ?? 0) + count);
    }
  }
  limit("lines of code in src/", total, LINES);
  for (const [room, count] of extensions) {
    limit(`lines of code in src/${room}/`, count, LINES_OF_AN_EXTENSION);
  }
}

async function limitWays(): Promise<void> {
  const ways = await traceWays();
  for (const [kind, most] of Object.entries(WAYS) as [Kind, WayFigures][]) {
    const figures = figuresOf(ways[kind]);
    for (const figure of ["calls", "files", "changes"] as const) {
      limit(`way of ${kind}: ${figure}`, figures[figure], most[figure]);
    }
    if (!Deno.args.includes(kind)) continue;
    for (const [file, name] of ways[kind]) {
      console.log(`        ${file} ${name}`);
    }
  }
}
