/**
 * Tests what the compiler says to the commonest mistakes: each message names the thing and the way out, as far
 * as TypeScript lets it. What it cannot see is said when it runs. It takes an application that augments the module,
 * and a new site.
 */

import {
  assert,
  assertEquals,
  assertFalse,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Engine } from "@framework/core";
import { deno, type Outcome } from "../tasks/command.ts";
import { absoluteImports } from "./import_map.ts";
import { logOf } from "./log.ts";

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

/**
 * An application that augments the module: with methods, whose names are typed in all its files, and with the types
 * of its variables.
 */
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

  function greet(app: Engine): string {
    return app.hello("Ada");
  }
  const hello = (name: string) => "Hello, " + name;
  console.log(greet(new Engine().map("hello", hello)));
  Framework.map("hello", hello);
  console.log(Framework.hello("Grace"));
  // @ts-expect-error -- the parameter is a string
  Framework.hello(5);
  // @ts-expect-error -- the parameter is a string
  new Engine().map("hello", hello).hello(5);

  const app = new Engine();
  app.set("user", { name: "Ada" });
  app.set({ user: { name: "Ada" }, other: 1 });
  const name: string | undefined = app.get("user")?.name;
  const other: number | undefined = app.get<number>("other");
  // @ts-expect-error -- there may be none
  app.get("user").name;
  // @ts-expect-error -- a user has a name
  app.set("user", { nmae: "Ada" });
  // @ts-expect-error -- a user has a name
  app.set({ user: "Ada" });

  // What a guard has set is read without "!": halt() never returns.
  function user(): User {
    return Framework.get("user") ?? Framework.halt(401);
  }
  Framework.route("/in", () => "Hello, " + user().name)
    .addMiddleware(() => Framework.set("user", { name: "Grace" }));
  Framework.route("/out", () => "Hello, " + user().name);
  for (const path of ["/in", "/out"]) {
    const request = new Request("http://localhost" + path);
    const response = await Framework.fetch(request);
    console.log(response.status, await response.text());
  }
  console.log(name, other);
`;

/** The flags that let a program outside of the project import the framework. */
const FLAGS = [
  "-q",
  "--no-lock",
  `--import-map=data:application/json,${
    encodeURIComponent(JSON.stringify({ imports: await absoluteImports() }))
  }`,
];

/** An application may be stricter than the framework asks for. */
const STRICT = { compilerOptions: { noUncheckedIndexedAccess: true } };

let folder: string;

/** What the compiler says to all programs: read at once, since the framework takes it longest. */
let checked: Outcome;

Deno.test.beforeAll(async () => {
  folder = await Deno.makeTempDir();
  const codes = MISTAKES.map(({ code }) => code).join("\n");
  await Deno.writeTextFile(`${folder}/mistakes.ts`, DECLARATIONS + codes);
  await Deno.writeTextFile(`${folder}/augmented.ts`, AUGMENTED);
  await Deno.writeTextFile(`${folder}/deno.json`, JSON.stringify(STRICT));
  const create = new URL("../src/create/mod.ts", import.meta.url).href;
  const site = await deno(["run", ...FLAGS, "-RW=.", create, "site"], {
    cwd: folder,
  });
  assert(site.success, site.report);
  checked = await deno(["check", ...FLAGS, "."], { cwd: folder });
});

Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

Deno.test("the compiler names the mistake and the way out, in one error", async (t) => {
  assertEquals(checked.success, false);
  // "The call would have succeeded against this implementation"
  assertFalse(checked.report.includes("TS2793"), checked.report);
  const messages = messagesByLine(checked.report);
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

/** The messages of the compiler about the mistakes, by their lines. */
function messagesByLine(printed: string): Map<number, string> {
  const messages = new Map<number, string>();
  let message = "";
  for (const line of printed.split("\n")) {
    message += `${line}\n`;
    const [, file, place] = /^ +at file:.*\/(.+):(\d+):\d+$/.exec(line) ?? [];
    if (place === undefined) continue;
    if (file === "mistakes.ts") {
      const known = messages.get(Number(place)) ?? "";
      messages.set(Number(place), known + message);
    }
    message = "";
  }
  return messages;
}

Deno.test("a module augmentation types a name everywhere, on both forms, and `interface Variables` the variables", async () => {
  assertFalse(filesWithErrors().has("augmented.ts"), checked.report);
  const command = ["run", "--no-check", ...FLAGS, "augmented.ts"];
  const { output, report } = await deno(command, { cwd: folder });
  const methods = "Hello, Ada\nHello, Grace\n";
  const variables = "200 Hello, Grace\n401 \nAda 1\n";
  assertEquals(output, methods + variables, report);
});

Deno.test("a new site compiles, and so does the framework, with `noUncheckedIndexedAccess`", () => {
  assertEquals(filesWithErrors(), new Set(["mistakes.ts"]), checked.report);
});

/** The names of the files in which the compiler finds errors. */
function filesWithErrors(): Set<string> {
  const places = checked.report.matchAll(/^ +at file:.*\/(.+):\d+:\d+$/gm);
  return new Set([...places].map(([, file]) => file!));
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
