/** Measures a page as sites have it, with session, guard, log and layout, against the same by hand with Hono. */

import { HONO, OURS } from "./contenders.ts";
import { measureServers } from "./cpu.ts";
import type { Measurement } from "./measurement.ts";
import type { Plan } from "./plan.ts";
import type { Row } from "./rows.ts";
import type { Server } from "./server.ts";

const SITES = { [OURS]: "site.ts", [HONO]: "site_by_hand.ts" };

const PAGE: Row = {
  path: "/",
  headers: {
    "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
    "Accept-Language": "en",
    "Sec-Fetch-Site": "none",
    "User-Agent": "Mozilla/5.0",
  },
  status: 200,
  contains: "Signed in as Ada",
};

/** Measures the page of a visitor who is signed in. */
export async function* measureSite(plan: Plan): AsyncGenerator<Measurement> {
  const name = "a page of a site";
  const [cpu] = await measureServers(name, SITES, signedIn, plan);
  yield cpu;
}

/** The page as asked for right after signing in: an older session would be renewed by each request. */
async function signedIn({ port }: Server): Promise<Row> {
  const response = await fetch(`http://127.0.0.1:${port}/login`);
  await response.body?.cancel();
  const cookies = response.headers.getSetCookie()
    .map((line) => line.split(";", 1)[0]);
  return { ...PAGE, headers: { ...PAGE.headers, Cookie: cookies.join("; ") } };
}
