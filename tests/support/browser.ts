/**
 * Owns the browser of a test file: it starts before the tests of the importing file and stops after them, since a
 * start takes longer than most of them. The tests are skipped where no Chromium is installed.
 */

import { type BrowserContext, Chromium } from "./chromium.ts";

const program = await Chromium.find();
if (program === undefined) {
  console.warn("The browser tests are skipped: no Chromium is installed");
}

let running: Chromium | undefined;

Deno.test.beforeAll(async () => {
  if (program !== undefined) running = await Chromium.launch(program);
});

Deno.test.afterAll(async () => {
  await running?.[Symbol.asyncDispose]();
});

/** Declares a test with a browser, in which no other test has left anything. */
export function browserTest(
  name: string,
  test: (browser: BrowserContext) => Promise<void>,
): void {
  Deno.test({ name, ignore: program === undefined }, async () => {
    await using browser = await running!.createContext();
    await test(browser);
  });
}
