/**
 * Owns the check that concurrent requests do not affect each other: each is sent alone, then all of them
 * together, in many orders, and every response must stay the same. Only for tests.
 */

import { checkOptions } from "../options.ts";
import type { Door } from "./visitor.ts";

/** How {@linkcode assertIsolated} runs the requests, and what it compares. */
export interface IsolationOptions {
  /** How many times the requests run together, 20 by default. */
  readonly rounds?: number;
  /** The headers and cookies, by name, that may differ, such as a request ID. */
  readonly ignore?: readonly string[];
}

/**
 * Runs requests together, in many orders and with delays between their starts, and compares every
 * response with the one that the same request gets alone. The requests must be repeatable: sent alone
 * twice, each must get the same response. The `Date` header is not compared.
 *
 * Rejects with an `Error` that shows the first line in which a response differs, and with `TypeError` without requests
 * or for an unknown option.
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
  checkOptions("compare requests", options, ["rounds", "ignore"]);
  if (requests.length === 0) { // which would pass for every application
    throw new TypeError("Cannot compare requests: there are none");
  }
  const { rounds = 20, ignore = [] } = options;
  const all: IsolatedRequest[] = [];
  for (const request of requests) {
    const make = typeof request === "string"
      ? () => new Request(new URL(request, "http://localhost"))
      : request;
    const name = `${make().method} ${make().url}`;
    const send = async () => await textOf(await app.fetch(make()), ignore);
    const alone = await send();
    const problem = "its responses differ even when it runs alone";
    compare(await send(), alone, `Cannot compare ${name}: ${problem}`);
    all.push({ name, send, alone });
  }
  const problem = "gets a different response when other requests run with it";
  for (let round = 0; round < rounds; round++) {
    const results = all.map(async ({ name, send, alone }, index) => {
      // Five orders in turn, one of them without delays: the same in each run.
      const delay = (index + 1) * round % 5;
      if (delay > 0) await new Promise((start) => setTimeout(start, delay));
      compare(await send(), alone, `${name} ${problem}`);
    });
    await Promise.allSettled(results); // none is left running after a failure
    await Promise.all(results);
  }
}

interface IsolatedRequest {
  readonly name: string;
  /** Sends the request; returns the response as text. */
  readonly send: () => Promise<string>;
  /** The response when no other request runs. */
  readonly alone: string;
}

/** A response as text: status, headers in order, body. */
async function textOf(
  response: Response,
  ignore: readonly string[],
): Promise<string> {
  const names = ["date", ...ignore.map((name) => name.toLowerCase())];
  const headers = [...response.headers].filter(([name, value]) =>
    !names.includes(name) &&
    !(name === "set-cookie" && ignore.includes(value.split("=", 1)[0]!))
  );
  const lines = headers.map((header) => header.join(": "));
  return [response.status, ...lines, "", await response.text()].join("\n");
}

/** Throws an `Error` that shows the first line in which two texts differ. */
function compare(actual: string, expected: string, problem: string): void {
  if (actual === expected) return;
  const [lines, others] = [expected.split("\n"), actual.split("\n")];
  let at = 0;
  while (lines[at] === others[at]) at++;
  const shown = [lines[at], others[at]].map((line) => line ?? "(missing)");
  throw new Error(`${problem}: line ${at + 1}\n\n  ${shown.join("\n  ")}`);
}
