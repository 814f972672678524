/**
 * What the compiler says to the commonest mistakes: each message names the thing and the way out. And an application
 * that augments the module.
 */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { Folder } from "../support/folder.ts";
import { absoluteImports } from "../support/import_map.ts";

/** Mistakes, a line of code each, and what the message includes. */
const MISTAKES: [name: string, code: string, says: string][] = [
  [
    "a context that callbacks do not get",
    'Framework.route("/", (c) => c.text("Hello"));',
    "Target signature provides too few arguments. Expected 1 or more, but got 0",
  ],
  [
    "a route without passRoute",
    'Framework.route("/@id", (id, route) => id + route.pattern);',
    "Target signature provides too few arguments. Expected 2 or more, but got 1",
  ],
  [
    "a number returned",
    'Framework.route("/", () => 404);',
    "Type 'number' is not assignable to type 'RouteResult'",
  ],
  [
    "a promise in a returned object",
    'Framework.route("/", () => ({ user: load() }));',
    '"a promise cannot be sent as JSON: await it"',
  ],
  [
    "a missing await of validate()",
    "const post = Framework.request().validate(schema); console.log(post.title);",
    "Did you forget to use 'await'?",
  ],
  [
    "middleware in the place of passRoute",
    'Framework.route("/", () => "x", () => true);',
    "is not assignable to parameter of type 'boolean | undefined'",
  ],
  [
    "a guard that returns another value",
    'Framework.route("/", () => "x").addMiddleware(() => 5);',
    "is not assignable to",
  ],
];

/** Codes of what only follows an error: a parameter is left without a type, and the hint to `await`. */
const CONSEQUENCES = ["TS7006", "TS2773"];

const DECLARATIONS = `
import { Framework, type Schema } from "@framework/core";
declare const schema: Schema<{ title: string }>;
declare function load(): Promise<string>;
`;

const AUGMENTED = `
  import { Engine, Framework } from "@framework/core";

  interface User {
    name: string;
  }
  declare module "@framework/core" {
    interface Engine {
      hello(name: string): string;
    }
    namespace Framework {
      function hello(name: string): string;
    }
    interface Variables {
      user: User;
    }
  }
  const hello = (name: string) => "Hello, " + name;
  const greet = (app: Engine): string => app.hello("Ada");
  greet(new Engine().map("hello", hello));
  Framework.hello("Grace");
  // @ts-expect-error -- the parameter is a string
  Framework.hello(5);

  const app = new Engine();
  app.set("user", { name: "Ada" });
  app.set({ user: { name: "Ada" }, other: 1 });
  export const name: string | undefined = app.get("user")?.name;
  export const other: number | undefined = app.get<number>("other");
  // @ts-expect-error -- there may be none
  app.get("user").name;
  // @ts-expect-error -- a user has a name
  app.set("user", { nmae: "Ada" });
  // halt() never returns, so that no "!" is needed.
  export const user = (): User => Framework.get("user") ?? Framework.halt(401);
`;

/** What the compiler says to files by their names; the application may be stricter than the framework asks for. */
async function check(files: Record<string, string>): Promise<string> {
  const strict = { compilerOptions: { noUncheckedIndexedAccess: true } };
  const config = { "deno.json": JSON.stringify(strict) };
  await using folder = new Folder({ ...files, ...config });
  const imports = JSON.stringify({ imports: await absoluteImports() });
  const map = `data:application/json,${encodeURIComponent(imports)}`;
  const { stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["check", "-q", "--no-lock", `--import-map=${map}`, "."],
    cwd: folder.path,
    env: { NO_COLOR: "1" },
  }).output();
  return new TextDecoder().decode(stderr);
}

/** The messages by the lines that they are about. */
function messagesByLine(report: string): Map<number, string> {
  const messages = new Map<number, string>();
  let message = "";
  for (const line of report.split("\n")) {
    message += `${line}\n`;
    const [, place] = /^ +at file:.*:(\d+):\d+$/.exec(line) ?? [];
    if (place === undefined) continue;
    const known = messages.get(Number(place)) ?? "";
    messages.set(Number(place), known + message);
    message = "";
  }
  return messages;
}

Deno.test("the compiler tells a mistake in one error", async (t) => {
  const code = MISTAKES.map(([, code]) => code).join("\n");
  const report = await check({ "mistakes.ts": DECLARATIONS + code });
  const messages = messagesByLine(report);
  const before = DECLARATIONS.split("\n").length;
  for (const [place, [name, , says]] of MISTAKES.entries()) {
    await t.step(name, () => {
      const message = messages.get(before + place) ?? "";
      const codes = message.match(/^TS\d+/gm) ?? [];
      const errors = codes.filter((code) => !CONSEQUENCES.includes(code));
      assertEquals(errors.length, 1, message);
      assertStringIncludes(message, says);
    });
  }
});

Deno.test("a module augmentation types mapped names on both forms, and the variables", async () => {
  assertEquals(await check({ "augmented.ts": AUGMENTED }), "");
});
