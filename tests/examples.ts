/** Owns taking examples out of README and `docs/`, for the tests that run what `deno test --doc` cannot. */

const ROOT = new URL("../", import.meta.url);

/** A block of TypeScript; `ignore` keeps it out of `deno test --doc`. */
const EXAMPLE = /^```ts( ignore)?\n(.*?)^```$/gms;

/** The example of a page that has a text in it. */
export async function example(page: string, text: string): Promise<string> {
  const all = [...(await read(page)).matchAll(EXAMPLE)];
  const [found, ...others] = all.filter(([, , code]) => code!.includes(text));
  if (found !== undefined && others.length === 0) return found[2]!;
  throw new Error(
    `Cannot find the example with "${text}" in ${page}: it is in ${
      found ? others.length + 1 : 0
    } examples`,
  );
}

/** The examples of a page that `deno test --doc` leaves out. */
export async function ignoredExamples(page: string): Promise<string[]> {
  const all = [...(await read(page)).matchAll(EXAMPLE)];
  return all.filter(([, ignore]) => ignore).map(([, , code]) => code!);
}

async function read(page: string): Promise<string> {
  return await Deno.readTextFile(new URL(page, ROOT));
}
