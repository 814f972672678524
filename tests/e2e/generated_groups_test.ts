/**
 * DESIGN 4, row `group`: a handler that compiles gets the values that it names. A program of random trees of groups,
 * resources, mounts and optional parts is checked by the compiler, and then run.
 */

import { assertEquals } from "@std/assert";
import { Folder } from "../support/folder.ts";
import { absoluteImports } from "../support/import_map.ts";
import { numbers } from "../support/random.ts";

const TREES = 300;

/** A parameter of a pattern, with the value that the visit gives it; null for an optional part that it leaves out. */
interface Value {
  readonly name: string;
  readonly isOptional: boolean;
  readonly given: string | null;
}

/** A piece of a pattern, and what a visit sends for it. */
interface Piece {
  readonly pattern: string;
  readonly path: string;
  readonly values: readonly Value[];
}

/** Writes the program. */
class Program {
  readonly lines: string[] = [];
  readonly visits: [path: string, expected: (string | null)[]][] = [];
  readonly #random = numbers(20_261_128);
  #count = 0;

  piece(mayBeOptional = true): Piece {
    const n = this.#count++;
    const name = `p${n}`;
    const given = `v${n}`;
    const value = (isOptional: boolean, given: string | null): Value[] => [
      { name, isOptional, given },
    ];
    switch (this.#random(mayBeOptional ? 5 : 3)) {
      case 0:
        return { pattern: `/s${n}`, path: `/s${n}`, values: [] };
      case 1:
        return {
          pattern: `/@${name}`,
          path: `/${given}`,
          values: value(false, given),
        };
      case 2:
        return {
          pattern: `/x${n}/@${name}`,
          path: `/x${n}/${given}`,
          values: value(false, given),
        };
      case 3:
        return {
          pattern: `/o${n}(/@${name})`,
          path: `/o${n}/${given}`,
          values: value(true, given),
        };
      default:
        return {
          pattern: `/n${n}(/y/@${name})`,
          path: `/n${n}`,
          values: value(true, null),
        };
    }
  }

  tree(index: number): void {
    this.lines.push(`app.group("/t${index}", (r0) => {`);
    this.group([{ pattern: "", path: `/t${index}`, values: [] }], 0);
    this.lines.push("});");
  }

  group(around: readonly Piece[], depth: number): void {
    for (let n = 0; n <= this.#random(2); n++) this.route(around, depth);
    if (depth < 3 && this.#random(3) > 0) {
      const piece = this.piece();
      this.lines.push(
        `r${depth}.group("${piece.pattern}", (r${depth + 1}) => {`,
      );
      this.group([...around, piece], depth + 1);
      this.lines.push("});");
    }
    if (this.#random(4) === 0) this.resource(around, depth);
    const isFixed = around.every(({ values }) =>
      values.every(({ isOptional }) => !isOptional)
    );
    if (isFixed && this.#random(4) === 0) this.mount(around, depth);
  }

  route(around: readonly Piece[], depth: number): void {
    const end = this.#count++;
    const own = this.piece();
    const pattern = `/e${end}${own.pattern}`;
    const values = [...around, own].flatMap((piece) => piece.values);
    const passes = this.#random(3) === 0;
    const names = values.map(({ name }) => name);
    const path = around.map((piece) => piece.path).join("");
    this.visits.push([
      `${path}/e${end}${own.path}`,
      values.map(({ given }) => given),
    ]);
    const params = [...names, ...passes ? ["route"] : []].join(", ");
    const type = values.map(({ isOptional }) =>
      isOptional ? "string | null" : "string"
    ).join(", ");
    this.lines.push(
      `r${depth}.get("${pattern}", (${params}) => {`,
      `  isTrue<Same<[${
        names.map((name) => `typeof ${name}`).join(", ")
      }], [${type}]>>();`,
      ...passes ? ["  isTrue<Same<typeof route, Route>>();"] : [],
      `  return [${names.join(", ")}];`,
      `}${passes ? ", true" : ""});`,
      "// @ts-expect-error -- there is one value less",
      `r${depth}.post("${pattern}", (${
        [...names, "more"].map((name) => `${name}: string`).join(", ")
      }) => "");`,
    );
  }

  resource(around: readonly Piece[], depth: number): void {
    const n = this.#count++;
    const values = around.flatMap((piece) => piece.values);
    const names = [...values.map(({ name }) => name), "id"];
    const params = values.map(({ name, isOptional }) =>
      `${name}: string${isOptional ? " | null" : ""}`
    );
    const path = around.map((piece) => piece.path).join("");
    this.visits.push([`${path}/r${n}/7`, [
      ...values.map(({ given }) => given),
      "7",
    ]]);
    this.lines.push(
      `r${depth}.resource("/r${n}", {`,
      `  show: (${[...params, "id: string"].join(", ")}) => [${
        names.join(", ")
      }],`,
      '}, { only: ["show"] });',
      "// @ts-expect-error -- the id is the last value",
      `r${depth}.resource("/w${n}", { show: (${
        [...params, "id: string", "more: string"].join(", ")
      }) => "" }, {`,
      '  only: ["show"],',
      "});",
    );
  }

  mount(around: readonly Piece[], depth: number): void {
    const n = this.#count++;
    const path = around.map((piece) => piece.path).join("");
    this.visits.push([`${path}/m${n}/in/8`, ["8"]]);
    this.lines.push(
      `r${depth}.mount("/m${n}", inner);`,
    );
  }

  text(): string {
    return `import { Engine, type Route } from "@framework/core";
const app = new Engine();
const inner = new Engine();
inner.get("/in/@id", (id) => [id]);
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
