/**
 * Owns the way of a request through `src/`: a copy in a temporary folder notes every function that is
 * entered from the request's arrival to its response, each on a connection of its own.
 */

import ts from "npm:typescript@5.9.3";
import { deno } from "./command.ts";

/** The requests by name; `form` is posted, the others are fetched. */
const PATHS = {
  text: "/user/42",
  json: "/json",
  unknown: "/nowhere",
  form: "/form",
} as const;

/** A request that is traced. */
export type Kind = keyof typeof PATHS;

/** The way of one request: the file and the name of each function entered, in order. */
export type Way = readonly (readonly [file: string, name: string])[];

/** The figures of a way that are limited. */
export interface WayFigures {
  readonly calls: number;
  readonly files: number;
  /** How many calls are in another file than the call before. */
  readonly changes: number;
}

/** The application that is asked; it prints the ways as JSON. Requests before the traced one warm it up. */
const APPLICATION = `
import { Framework } from "./mod.ts";

Framework.route("GET /user/@id", (id) => "User " + id);
Framework.route("/json", () => Framework.json({ hello: "world" }));
Framework.route("POST /form", () => "Hello " + Framework.request().data.name);

const ways = {};
let way;
const server = Deno.serve(
  { port: 0, hostname: "127.0.0.1", onListen() {} },
  async (request, info) => {
    way = [];
    globalThis.__enter = (file, name) => void way.push([file, name]);
    const response = await Framework.fetch(request, info);
    delete globalThis.__enter;
    return response;
  },
);
for (const [kind, path] of Object.entries(${JSON.stringify(PATHS)})) {
  for (let turn = 0; turn < 5; turn++) {
    const init = kind === "form"
      ? { method: "POST", body: new URLSearchParams({ name: "Ada" }) }
      : {};
    const url = "http://127.0.0.1:" + server.addr.port + path;
    await (await fetch(url, init)).text();
  }
  ways[kind] = way;
}
console.log(JSON.stringify(ways));
Deno.exit();
`;

/** Traces one request of each kind. */
export async function traceWays(): Promise<Record<Kind, Way>> {
  const folder = await Deno.makeTempDir({ prefix: "framework-trace-" });
  try {
    await Deno.copyFile("mod.ts", `${folder}/mod.ts`);
    await copyFolder("compat", folder, (_, text) => text);
    await copyFolder("src", folder, instrument);
    await Deno.writeTextFile(`${folder}/main.ts`, APPLICATION);
    const { success, output, report } = await deno([
      "run",
      "-q",
      "--allow-net=127.0.0.1",
      "--no-check",
      "--no-config",
      "--no-lock",
      `--import-map=${folder}/compat/import_map.json`,
      `${folder}/main.ts`,
    ]);
    if (!success) throw new Error(`Cannot trace a request: ${report}`);
    return JSON.parse(output);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Counts a way. */
export function figuresOf(way: Way): WayFigures {
  const files = way.map(([file]) => file);
  return {
    calls: way.length,
    files: new Set(files).size,
    changes: files.filter((file, at) => at > 0 && file !== files[at - 1])
      .length,
  };
}

async function copyFolder(
  path: string,
  to: string,
  change: (path: string, text: string) => string,
): Promise<void> {
  await Deno.mkdir(`${to}/${path}`);
  for await (const { name, isDirectory } of Deno.readDir(path)) {
    const entry = `${path}/${name}`;
    if (isDirectory) {
      await copyFolder(entry, to, change);
    } else {
      const text = await Deno.readTextFile(entry);
      await Deno.writeTextFile(`${to}/${entry}`, change(entry, text));
    }
  }
}

/** The source of a module whose functions note that they are entered. */
function instrument(path: string, text: string): string {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const insertions: [at: number, code: string][] = [];
  const visit = (node: ts.Node): void => {
    const note = `globalThis.__enter?.(${JSON.stringify(path)}, ${
      JSON.stringify(nameOf(node, source))
    })`;
    const body = bodyOf(node);
    if (body !== undefined && ts.isBlock(body)) {
      insertions.push([beginOf(body, source), `;${note};`]);
    } else if (body !== undefined) {
      insertions.push([body.getStart(source), `(${note}, `]);
      insertions.push([body.getEnd(), ")"]);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return insertions
    .sort(([one], [other]) => other - one)
    .reduce(
      (code, [at, added]) => code.slice(0, at) + added + code.slice(at),
      text,
    );
}

function bodyOf(node: ts.Node): ts.ConciseBody | undefined {
  return ts.isFunctionLike(node) && "body" in node
    ? node.body as ts.ConciseBody | undefined
    : undefined;
}

/** Where the first statement may stand: after the call of `super`, which must come first. */
function beginOf(body: ts.Block, source: ts.SourceFile): number {
  const parent = body.statements.find((statement) =>
    ts.isConstructorDeclaration(body.parent) &&
    statement.getText(source).startsWith("super(")
  );
  return parent?.getEnd() ?? body.getStart(source) + 1;
}

/** The function's name with its class, or that of what holds it, and its line. */
function nameOf(node: ts.Node, source: ts.SourceFile): string {
  const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
  const { parent } = node;
  const named = ts.isFunctionLike(node) && node.name ? node : parent;
  const name = ts.isConstructorDeclaration(node)
    ? "constructor"
    : named && "name" in named
    ? (named.name as ts.Node | undefined)?.getText(source)
    : undefined;
  const owner = parent && ts.isClassLike(parent) && parent.name
    ? `${parent.name.text}.`
    : "";
  return `${owner}${name ?? "(anonymous)"}:${line + 1}`;
}
