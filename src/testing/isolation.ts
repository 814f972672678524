/**
 * Owns the check that concurrent requests do not affect each other: each is sent alone, then all of them
 * together, in many orders, and every response must stay the same. Only for tests.
 */

import { wrongKind } from "../errors.ts";
import { ofProgram } from "../extension_keys.ts";
import { checkOptions } from "../options.ts";
import type { Door } from "./visitor.ts";

/** How {@linkcode assertIsolated} runs the requests, and what it compares. */
export interface IsolationOptions {
  /** How many times the requests run together, 20 by default. */
  readonly rounds?: number;
  /** The seed for the orders and delays, 1 by default: the same seed makes the same run. */
  readonly seed?: number;
  /** The headers and cookies, by name, that may differ, such as a request ID. */
  readonly ignore?: readonly string[];
}

/**
 * Runs requests together, in many orders and with delays between their starts, and compares every
 * response with the one that the same request gets alone. The requests must be repeatable: sent alone
 * twice, each must get the same response. The `Date` header is not compared.
 *
 * Rejects with an `Error` that shows the first line in which a response differs; with `TypeError` without requests or
 * for an unknown option, and with `RangeError` when `rounds` is not a whole number, at least 1.
 *
 * @example
 * ```ts
 * import { Engine } from "@framework/core";
 * import { assertIsolated } from "@framework/core/testing";
 *
 * const app = new Engine();
 * app.route("/@name", async (name) => {
 *   app.set("name", name);
 *   await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
 *   return app.get("name");
 * });
 *
 * await assertIsolated(app, ["/ada", "/grace", "/edsger"]);
 * ```
 */
export async function assertIsolated(
  app: Door,
  requests: readonly (string | (() => Request))[],
  options: IsolationOptions = {},
): Promise<void> {
  checkComparison(requests, options);
  const { rounds = 20, seed = 1, ignore = [] } = options;
  const all: RepeatableRequest[] = [];
  for (const request of requests) {
    all.push({ request, alone: await textAlone(app, request, ignore) });
  }
  const random = seededRandom(seed);
  for (let round = 0; round < rounds; round++) {
    const results = shuffled(all, random).map(async ({ request, alone }) => {
      await pause(random());
      const together = await textOf(app, request, ignore);
      if (together === alone) return;
      throw new Error(
        `${
          nameOf(request)
        } gets a different response when other requests run at the same time\n\n` +
          difference(["alone", alone], [`in round ${round}`, together]),
      );
    });
    await Promise.allSettled(results); // none is left running after a failure
    await Promise.all(results);
  }
}

/** Refuses what would compare nothing: it would pass for every application. */
function checkComparison(
  requests: readonly unknown[],
  options: IsolationOptions,
): void {
  const action = "compare requests";
  checkOptions(action, options, ["rounds", "seed", "ignore"]);
  if (!Array.isArray(requests) || requests.length === 0) {
    const rule = 'they must be a list such as ["/ada", "/grace"]';
    throw wrongKind(action, rule, requests);
  }
  const { rounds = 1 } = options;
  if (Number.isInteger(rounds) && rounds >= 1) return;
  throw new RangeError(
    `Cannot ${action}: "rounds" must be a whole number, at least 1, got "${rounds}"`,
  );
}

/** A request with the response that it gets alone. */
interface RepeatableRequest {
  readonly request: string | (() => Request);
  readonly alone: string;
}

/** The response of a request that is sent alone, twice. */
async function textAlone(
  app: Door,
  request: string | (() => Request),
  ignore: readonly string[],
): Promise<string> {
  const first = await textOf(app, request, ignore);
  const second = await textOf(app, request, ignore);
  if (first === second) return first;
  throw new Error(
    `Cannot compare ${
      nameOf(request)
    }: its responses differ even when it runs alone\n\n` +
      difference(["first", first], ["second", second]),
  );
}

/** The first line in which two texts differ, from each of them. */
function difference(...texts: readonly [name: string, text: string][]): string {
  const [one, other] = texts.map(([, text]) => text.split("\n"));
  const at = one!.findIndex((line, index) => line !== other![index]);
  const line = at < 0 ? one!.length : at;
  return texts.map(([name, text]) =>
    `${name}, line ${line + 1}: ${text.split("\n")[line] ?? "(missing)"}`
  ).join("\n");
}

/** A response as text: status, headers in order, body. */
async function textOf(
  app: Door,
  request: string | (() => Request),
  ignore: readonly string[],
): Promise<string> {
  const made = typeof request === "string"
    ? new Request(new URL(request, "http://localhost"))
    : request();
  const response = await app.fetch(ofProgram(made));
  const names = ["date", ...ignore.map((name) => name.toLowerCase())];
  const headers = [...response.headers].filter(([name, value]) =>
    !names.includes(name) &&
    !(name === "set-cookie" && ignore.includes(value.split("=", 1)[0]!))
  );
  return [
    response.status,
    ...headers.map((header) => header.join(": ")),
    "",
    await response.text(),
  ].join("\n");
}

function nameOf(request: string | (() => Request)): string {
  if (typeof request === "string") return `GET ${request}`;
  const { method, url } = request();
  return `${method} ${url}`;
}

/** No wait, the rest of the turn, or up to three milliseconds. */
async function pause(chance: number): Promise<void> {
  if (chance < 0.3) return;
  if (chance < 0.6) return await undefined;
  await new Promise((resolve) => setTimeout(resolve, (chance - 0.6) * 7));
}

function shuffled<Item>(
  source: readonly Item[],
  random: () => number,
): Item[] {
  const items = [...source];
  for (let last = items.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [items[last], items[other]] = [items[other]!, items[last]!];
  }
  return items;
}

/** The Mulberry32 generator: numbers from 0 to 1 that depend on the seed alone. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
