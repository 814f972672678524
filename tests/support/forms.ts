/**
 * Owns running a test on an application of its own: an `Engine` or, where the test shows that the static form
 * does the same, `Framework` with a new engine behind it, too.
 */

import { Engine, Framework } from "@framework/core";

// deno-lint-ignore no-explicit-any -- a test maps, registers and calls what it likes
type Anything = any;

/** What both forms have in common, with the calls of mapped names that a test may make. */
export interface App extends
  Pick<
    Engine,
    Exclude<keyof Engine, "map" | "register" | "app" | "original">
  > {
  map(name: string, callback: Anything, passRoute?: boolean): unknown;
  register(
    name: string,
    type: Anything,
    params?: unknown[],
    callback?: Anything,
  ): unknown;
  original(name: string): Anything;
}

/** Declares a test for each form; the name says which one it is on. */
export function onBothForms(
  name: string,
  test: (app: App, t: Deno.TestContext) => unknown,
): void {
  Deno.test(`Engine: ${name}`, async (t) => {
    await test(new Engine() as App, t);
  });
  Deno.test(`Framework: ${name}`, async (t) => {
    const before = Framework.app();
    Framework.app(new Engine());
    try {
      await test(Framework as App, t);
    } finally {
      Framework.app(before);
    }
  });
}

/** Calls a mapped method or registered class by its name. */
export function call(
  app: App,
  name: string,
  ...params: unknown[]
): Anything {
  return (app as Anything)[name](...params);
}

/** Requests a path of an application, as `GET` unless the init says otherwise. */
export async function visit(
  app: Pick<App, "fetch">,
  path: string,
  init?: RequestInit,
): Promise<Response> {
  return await app.fetch(new Request(`http://localhost${path}`, init));
}
