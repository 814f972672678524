/**
 * Tests what the compiler says to the commonest mistakes: each message names the thing and the way out, as far
 * as TypeScript lets it. What it cannot see is said when it runs.
 */

import {
  assertEquals,
  assertFalse,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Engine } from "@framework/core";
import { logOf } from "./log.ts";
import { ServerProcess } from "./server_child.ts";

interface Mistake {
  readonly name: string;
  readonly code: string;
  /** Lines of the message, in order; where one is too long, its beginning. */
  readonly says: readonly string[];
}

const NO_SUCH_PARAMETER =
  '"a callback gets the parameters of its pattern and, with passRoute, the route; use request() and response() for the rest"';

const MISTAKES: readonly Mistake[] = [
  {
    name: "a wrong type of a parameter",
    code: 'Framework.route("/user/@id", (id: number) => `${id}`);',
    says: [
      "Types of parameters 'id' and 'values_0' are incompatible.",
      "Type 'string' is not assignable to type 'number'.",
    ],
  },
  {
    name: "a context that callbacks do not get",
    code: 'Framework.route("/", (c) => c.text("Hello"));',
    says: [
      `Type '(c: any) => any' is not assignable to type '() => ${NO_SUCH_PARAMETER}'.`,
      "Target signature provides too few arguments. Expected 1 or more, but got 0.",
    ],
  },
  {
    name: "a context of an async callback",
    code: 'Framework.route("/", async (c) => await c.text("Hello"));',
    says: [
      `is not assignable to type '() => PromiseLike<${NO_SUCH_PARAMETER}>'.`,
    ],
  },
  {
    name: "a route without true",
    code: 'Framework.route("/@id", (id, route) => id + route.pattern);',
    says: [
      `is not assignable to type '(values_0: string) => ${NO_SUCH_PARAMETER}'.`,
      "Target signature provides too few arguments. Expected 2 or more, but got 1.",
    ],
  },
  {
    name: "a number returned",
    code: 'Framework.route("/", () => 404);',
    says: [
      `Type 'number' is not assignable to type '"a number is not a response: set a status with response().status(), or return text with String()"'.`,
    ],
  },
  {
    name: "a Map that a route returns",
    code: 'Framework.route("/", async () => new Map([[await load(), 1]]));',
    says: [
      `is not assignable to type '"a Map or a Set is not a response: return Object.fromEntries(map) or [...set]"'.`,
    ],
  },
  {
    name: "a Set that a route returns",
    code: 'Framework.get("/", () => new Set([1]));',
    says: [
      `is not assignable to type '"a Map or a Set is not a response: return Object.fromEntries(map) or [...set]"'.`,
    ],
  },
  {
    name:
      "the parameters of other frameworks, of a callback that returns nothing",
    code:
      'Framework.route("/", (_request: any, reply: any) => { reply.send(); });',
    says: [
      `is not assignable to type '() => void | "a callback gets the parameters of its pattern`,
    ],
  },
  {
    name: "a misspelled setting",
    code: 'Framework.set("framework.debgu", true);',
    says: [
      `Argument of type '"framework.debgu"' is not assignable to parameter of type '"framework.debug"'.`,
    ],
  },
  {
    name: "a misspelled setting in a record",
    code: 'Framework.set({ "framework.bodylimit": 1 });',
    says: [
      `Type 'number' is not assignable to type '"there is no such setting: did you mean framework.body_limit?" | "there is no such setting: did you mean framework.body_timeout?"'.`,
    ],
  },
  {
    name: "a setting of another type",
    code: 'Framework.set("framework.body_limit", "8 MiB");',
    says: [
      "Argument of type 'string' is not assignable to parameter of type 'number'.",
    ],
  },
  {
    name: "a missing await of validate()",
    code:
      "const post = Framework.request().validate(schema); console.log(post.title);",
    says: [
      "Property 'title' does not exist on type 'Promise<{ title: string; }>'.",
      "Did you forget to use 'await'?",
    ],
  },
  {
    name: "middleware in the place of passRoute",
    code: 'Framework.route("/", () => "x", () => true);',
    says: [
      `Argument of type '() => boolean' is not assignable to parameter of type '"true or false: add middleware with addMiddleware() on the returned route"'.`,
    ],
  },
  {
    name: "an alias in the place of passRoute",
    code: 'Framework.post("/@id", (id) => id, "posts.store");',
    says: [
      `is not assignable to parameter of type '"true or false: the alias is the fourth argument"'.`,
    ],
  },
  {
    name: "a list of middleware in the place of passRoute",
    code: 'Framework.get("/", () => "x", [() => true]);',
    says: [
      `is not assignable to parameter of type '"true or false: add middleware with addMiddleware() on the returned route"'.`,
    ],
  },
  {
    name: "a filter of a method in another case",
    code: 'Framework.before("notfound", () => {});',
    says: [
      `Argument of type '"notfound"' is not assignable to parameter of type '"notFound"'.`,
    ],
  },
  {
    name: "a promise in a returned object",
    code: 'Framework.route("/", () => ({ user: load() }));',
    says: [
      `Type '{ user: Promise<string>; }' is not assignable to type '"a promise cannot be sent as JSON: await it"'.`,
    ],
  },
  {
    name: "a promise in an object that `get()` returns",
    code: 'Framework.get("/@id", () => ({ user: Promise.resolve(1) }));',
    says: [
      "is not assignable to type '\"a promise cannot be sent as JSON: await it\"'",
    ],
  },
  {
    name: "a number that `get()` returns",
    code: 'Framework.get("/@id", () => 404);',
    says: [
      `Type 'number' is not assignable to type '"a number is not a response`,
    ],
  },
  {
    name: "a method without its class",
    code: `Framework.post("/@id", "show");`,
    says: [`Argument of type '"show"'`],
  },
  {
    name: "a name in the place of middleware",
    code: 'Framework.group("/x", () => {}, ["guard"]);',
    says: ["Type 'string' is not assignable to type 'Middleware'"],
  },
  {
    name: "a promise in json()",
    code: "Framework.json({ user: load() });",
    says: [
      `Type '{ user: Promise<string>; }' is not assignable to type '"a promise cannot be sent as JSON: await it"'.`,
    ],
  },
];

/** Codes of what only follows the error: a parameter is left without a type, and the hint to `await`. */
const CONSEQUENCES = ["TS7006", "TS2773"];

const DECLARATIONS = `
import { Framework, type Schema } from "@framework/core";
declare const schema: Schema<{ title: string }>;
declare function load(): Promise<string>;
`;

Deno.test("the compiler names the mistake and the way out, in one error", async (t) => {
  const codes = MISTAKES.map(({ code }) => code).join("\n");
  await using child = await ServerProcess.start(DECLARATIONS + codes, {
    command: ["run", "--check", "-q"],
    permissions: [],
  });
  assertEquals((await child.ended()).success, false);
  // "The call would have succeeded against this implementation"
  assertFalse(child.printed.includes("TS2793"), child.printed);
  const messages = messagesByLine(child.printed);
  const before = DECLARATIONS.split("\n").length - 1;
  for (const [place, { name, says }] of MISTAKES.entries()) {
    await t.step(name, () => {
      const message = messages.get(before + place + 1) ?? "";
      const errors = (message.match(/^TS\d+/gm) ?? [])
        .filter((code) => !CONSEQUENCES.includes(code));
      assertEquals(errors.length, 1, message);
      let from = 0;
      for (const line of says) {
        assertStringIncludes(message.slice(from), line);
        from = message.indexOf(line, from) + line.length;
      }
    });
  }
});

/** The messages of the compiler by the line of the mistake. */
function messagesByLine(printed: string): Map<number, string> {
  const messages = new Map<number, string>();
  let message = "";
  for (const line of printed.split("\n")) {
    message += `${line}\n`;
    const [, place] = /^ +at file:.*:(\d+):\d+$/.exec(line) ?? [];
    if (place === undefined) continue;
    const known = messages.get(Number(place)) ?? "";
    messages.set(Number(place), known + message);
    message = "";
  }
  return messages;
}

Deno.test("what the compiler cannot see is said when it runs", async () => {
  const app = new Engine();
  // The name may be that of a method which is mapped later.
  const unknown = assertThrows(() => app.before("rendr", () => {}), TypeError);
  assertStringIncludes(
    unknown.message,
    'Cannot add a filter before "rendr": there is no such method: did you mean "render"?',
  );
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/home.vto`, "<h1>{{ title }}</h1>");
  app.set({ "framework.views.path": folder, "framework.debug": true });
  app.route("/", () => app.render("home", { tilte: "Welcome" }));
  const log = await logOf(() => app.fetch(new Request("http://localhost/")));
  await Deno.remove(folder, { recursive: true });
  assertEquals(log, [
    'The template "home" uses the undefined name "title" at line 1: did you mean "tilte"?',
  ]);
});
