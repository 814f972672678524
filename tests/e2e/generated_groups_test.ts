/**
 * DESIGN 4, row `group`: a handler that compiles gets the values that it names. A program of random trees of groups
 * with optional parts is checked by the compiler, and then run.
 */

import { assertEquals } from "@std/assert";
import { Folder } from "../support/folder.ts";
import { absoluteImports } from "../support/import_map.ts";
import { numbers } from "../support/random.ts";

const TREES = 300;

/** Pieces of patterns, what a visit sends for each, and the type of the value; `#` stands for a number of its own. */
const PIECES: readonly [pattern: string, path: string, type?: string][] = [
  ["/s#", "/s#"],
  ["/@p#", "/v#", "string"],
  ["/x#/@p#", "/x#/v#", "string"],
  ["/o#(/@p#)", "/o#/v#", "string | null"],
  ["/n#(/y/@p#)", "/n#", "string | null"],
];

interface Piece {
  readonly pattern: string;
  readonly path: string;
  /** Its parameter; null is given for an optional part that a visit leaves out. */
  readonly values: readonly { name: string; type: string; given: unknown }[];
}

/** Writes the program. */
class Program {
  readonly lines: string[] = [];
  readonly visits: [path: string, expected: unknown[]][] = [];
  readonly #random = numbers(20_261_128);
  #count = 0;

  tree(index: number): void {
    this.lines.push(`app.group("/t${index}", (r0) => {`);
    this.#group([{ pattern: "", path: `/t${index}`, values: [] }], 0);
    this.lines.push("});");
  }

  #piece(): Piece {
    const n = `${this.#count++}`;
    const [pattern, path, type] = PIECES[this.#random(PIECES.length)]!;
    const given = path.includes("v") ? `v${n}` : null;
    return {
      pattern: pattern.replaceAll("#", n),
      path: path.replaceAll("#", n),
      values: type ? [{ name: `p${n}`, type, given }] : [],
    };
  }

  #group(around: readonly Piece[], depth: number): void {
    for (let n = 0; n <= this.#random(2); n++) this.#route(around, depth);
    if (depth === 3 || this.#random(3) === 0) return;
    const piece = this.#piece();
    const inner = `r${depth + 1}`;
    this.lines.push(`r${depth}.group("${piece.pattern}", (${inner}) => {`);
    this.#group([...around, piece], depth + 1);
    this.lines.push("});");
  }

  #route(around: readonly Piece[], depth: number): void {
    const own = this.#piece();
    const pattern = `/e${this.#count}${own.pattern}`;
    const path = around.map((piece) => piece.path).join("");
    const values = [...around, own].flatMap((piece) => piece.values);
    this.visits.push([
      `${path}/e${this.#count++}${own.path}`,
      values.map(({ given }) => given),
    ]);
    const names = values.map(({ name }) => name);
    const passes = this.#random(3) === 0;
    const params = [...names, ...passes ? ["route"] : []].join(", ");
    const seen = names.map((name) => `typeof ${name}`).join(", ");
    const types = values.map(({ type }) => type).join(", ");
    const more = [...names, "more"].map((name) => `${name}: string`).join(", ");
    this.lines.push(
      `r${depth}.get("${pattern}", (${params}) => {`,
      `  isTrue<Same<[${seen}], [${types}]>>();`,
      ...passes ? ["  isTrue<Same<typeof route, Route>>();"] : [],
      `  return [${names.join(", ")}];`,
      `}${passes ? ", true" : ""});`,
      "// @ts-expect-error -- there is one value less",
      `r${depth}.post("${pattern}", (${more}) => "");`,
    );
  }

  text(): string {
    return `import { Engine, type Route } from "@framework/core";
const app = new Engine();
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
function isTrue<_ extends true>(): void {}
${this.lines.join("\n")}
const visits = ${JSON.stringify(this.visits)};
for (const [path, expected] of visits) {
  const response = await app.fetch(path as string);
  const text = await response.text();
  if (text !== JSON.stringify(expected)) console.log(path, response.status, text, JSON.stringify(expected));
}
console.log(visits.length + " visits");
`;
  }
}

Deno.test("a handler that compiles gets the values that it names, in 300 random trees of groups", async () => {
  const program = new Program();
  for (let index = 0; index < TREES; index++) program.tree(index);
  await using folder = new Folder({ "program.ts": program.text() });
  const imports = JSON.stringify({ imports: await absoluteImports() });
  const map = `data:application/json,${encodeURIComponent(imports)}`;
  const flags = ["-q", "--check", "--no-lock", `--import-map=${map}`];
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", ...flags, "program.ts"],
    cwd: folder.path,
    env: { NO_COLOR: "1" },
  }).output();
  const printed = new TextDecoder().decode(stdout) +
    new TextDecoder().decode(stderr);
  assertEquals(printed, `${program.visits.length} visits\n`);
});
