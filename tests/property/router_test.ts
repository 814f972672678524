/**
 * The router finds what a linear scan would: random routes on an engine, random paths through `fetch`, compared with
 * one regular expression for each pattern, which is written together with the pattern. Seeded.
 */

import { assert, assertEquals } from "@std/assert";
import { Engine, type Route } from "@framework/core";
import { visit } from "../support/forms.ts";
import { numbers } from "../support/random.ts";

type Random = (limit: number) => number;

const METHODS = ["", "", "GET ", "POST ", "GET|POST ", "OPTIONS "];
const ASKED = ["GET", "POST", "HEAD", "PUT", "OPTIONS"];
const WORDS = ["a", "b", "B", "ab", "a-b", "x.y", "Ü", "12", "a-b-c"];

/** Segments of patterns, and the expressions for them. `#` stands for a parameter, `=` for its name. */
const SEGMENTS: [pattern: string, expression: string][] = [
  ...["a", "b", "A", "ab", "ü"].map((text): [string, string] => [text, text]),
  ["x.y", "x\\.y"],
  ["#", "(?<=>[^/]+)"],
  ["#", "(?<=>[^/]+)"],
  ["#:[0-9]+", "(?<=>[0-9]+)"],
  ["#:a|b", "(?<=>a|b)"],
  ["#:[^b-]+", "(?<=>[^b/-]+)"],
  ["[0-9]+", "[0-9]+"],
  ["(?:a|b)", "(?:a|b)"],
  ["a(b)", "a(?:b)?"],
  ["a-#", "a-(?<=>[^/]+)"],
  ["#-#", "(?<=>[^/]+)-(?<=>[^/]+)"],
  ["#.y", "(?<=>[^/]+)\\.y"],
  ["#:[ab]+-#", "(?<=>[ab]+)-(?<=>[^/]+)"],
];

function pick<Value>(random: Random, list: readonly Value[]): Value {
  return list[random(list.length)]!;
}

interface Declared {
  readonly pattern: string;
  readonly methods: readonly string[];
  readonly names: readonly string[];
  /** What its decoded paths look like. */
  readonly expression: string;
}

/** A pattern of up to four segments, one of them perhaps a star, some of them optional. */
function somePattern(random: Random): Declared {
  let [path, expression, open] = ["", "", 0];
  const starAt = random(3) === 0 ? random(4) : -1;
  const count = random(5);
  for (let place = 0; place < count; place++) {
    // Behind a star, several readings fit: which one counts is no promise.
    const mayOpen = starAt === -1 || place <= starAt;
    if (mayOpen && random(4) === 0) {
      path += "(";
      expression += "(?:";
      open++;
    }
    const isStar = place === starAt;
    const [text, match] = pick(random, SEGMENTS);
    path += isStar ? "/*" : `/${text}`;
    // A star takes the fewest segments, also none.
    expression += isStar ? "(?:/.*?)??" : `/${match}`;
    if (open > 0 && random(3) === 0) {
      path += ")";
      expression += ")?";
      open--;
    }
  }
  path += ")".repeat(open) + (random(8) === 0 ? "/" : "");
  expression += ")?".repeat(open);
  const methods = pick(random, METHODS);
  let [names, groups] = [0, 0];
  return {
    pattern: methods + (path.replaceAll("#", () => `@p${names++}`) || "/"),
    expression: expression.replaceAll("<=>", () => `<p${groups++}>`),
    methods: methods.trim().split("|").filter((method) => method !== ""),
    names: Array.from({ length: names }, (_, n) => `p${n}`),
  };
}

function somePath(random: Random): string {
  let path = "";
  for (let count = random(6); count > 0; count--) {
    path += `/${random(12) === 0 ? "" : pick(random, WORDS)}`;
  }
  return path + (random(4) === 0 ? "/" : "") || "/";
}

/** Places of the routes that match, and their values, as a linear scan finds them. */
function scan(
  routes: readonly Declared[],
  method: string,
  path: string,
  caseSensitive: boolean,
): unknown[] {
  const found: unknown[] = [];
  for (const [place, { methods, names, expression }] of routes.entries()) {
    const takesMethod = methods.length === 0 || methods.includes(method) ||
      method === "HEAD" && methods.includes("GET");
    if (!takesMethod) continue;
    const flags = caseSensitive ? "u" : "iu";
    const regex = new RegExp(`^${expression}/?$`, flags);
    const match = regex.exec(path);
    if (match === null) continue;
    found.push([place, names.map((name) => match.groups?.[name] ?? null)]);
  }
  return found;
}

/** An engine with these routes, each of which passes on, and what a path calls of them. */
function follower(
  routes: readonly Declared[],
  caseSensitive: boolean,
): (method: string, path: string) => Promise<unknown[]> {
  const app = new Engine();
  app.set("framework.case_sensitive", caseSensitive);
  let found: unknown[] = [];
  for (const [place, { pattern }] of routes.entries()) {
    app.route(pattern, (...values: unknown[]) => {
      found.push([place, values]);
      return true;
    });
  }
  return async (method, path) => {
    found = [];
    await (await visit(app, path, { method })).body?.cancel();
    return found;
  };
}

for (const [tables, size] of [[300, 6], [100, 25], [10, 200]] as const) {
  Deno.test(`the router finds what a scan would among up to ${size} routes`, async () => {
    const random = numbers(size);
    for (let table = 0; table < tables; table++) {
      const routes = Array.from(
        { length: 1 + random(size) },
        () => somePattern(random),
      );
      const caseSensitive = random(2) === 0;
      const follow = follower(routes, caseSensitive);
      for (let look = 0; look < 10; look++) {
        const [method, path] = [pick(random, ASKED), somePath(random)];
        assertEquals(
          await follow(method, path),
          scan(routes, method, path, caseSensitive),
          `${method} ${path} in ${routes.map(({ pattern }) => pattern)}`,
        );
      }
    }
  });
}

Deno.test("`getUrl()` makes URLs that match with the same parameters", async () => {
  const random = numbers(4);
  const texts = ["a", "1", "x-y", "a b", "é/%", "B.y", "..a", "ab", "+"];
  let made = 0;
  for (let count = 0; count < 2_000; count++) {
    const { pattern, names, methods: [method = "GET"] } = somePattern(random);
    const values = names.filter(() => random(5) > 0)
      .map((name): [string, string] => [name, pick(random, texts)]);
    const app = new Engine();
    let params: unknown;
    app.route(
      pattern,
      (...passed: unknown[]) => {
        ({ params } = passed.pop() as Route);
      },
      true,
      "it",
    );
    let url: string;
    try {
      url = app.getUrl("it", Object.fromEntries(values));
    } catch (error) {
      assert(error instanceof TypeError || error instanceof RangeError);
      continue;
    }
    made++;
    await visit(app, url, { method });
    const given = Object.entries(params ?? {}).filter(([, text]) =>
      text !== null
    );
    assertEquals<unknown>(given, values, `${pattern} gave ${url}`);
  }
  assert(made > 500, `only ${made} URLs were made`);
});
