/**
 * Measures a page as sites have it, with session, guard, log and templates, against the same page with Hono and its own
 * middleware.
 */

import type { Case } from "./cases.ts";
import type { Script } from "./child.ts";
import { HONO, OURS, withServers } from "./contenders.ts";
import { pin, unpin } from "./cores.ts";
import type { Plan } from "./plan.ts";
import { newSamples, type Samples, takeTurn } from "./requests.ts";
import { figure, ratios, show, showRatio, table } from "./statistics.ts";
import type { Figures } from "./targets.ts";

const SCRIPTS: Readonly<Record<string, Script>> = {
  [OURS]: { file: "servers/site.ts", pinned: true },
  [HONO]: { file: "servers/site_by_hand.ts", pinned: true },
};

/** The page takes twenty times as long as a plain text. */
const SHARE = 10;

const PAGE: Case = {
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
export async function measureSite(
  plan: Plan,
  figures: Figures,
): Promise<string> {
  const { rounds, laps, requests, warmup } = plan;
  const samples = new Map<string, Samples>();
  for (const name in SCRIPTS) samples.set(name, newSamples());
  pin(Deno.pid, "load");
  for (let lap = 0; lap < laps; lap++) {
    await withServers(SCRIPTS, async (servers) => {
      for (let round = -1; round < rounds / laps; round++) {
        const order = [...servers];
        for (const [name, server] of round % 2 ? order : order.reverse()) {
          const sample = round < 0 ? newSamples() : samples.get(name)!;
          const count = (round < 0 ? warmup : requests) / SHARE;
          const page = await signedIn(server.port);
          await takeTurn(server, page, count, sample);
        }
      }
    });
  }
  unpin(Deno.pid);
  const [ours, hono] = [samples.get(OURS)!, samples.get(HONO)!];
  figures.set(`site / ${HONO}`, ratios(ours.cpu, hono.cpu));
  return print(samples);
}

/** The page as a visitor asks for it who has just signed in: an older session would be renewed by each request. */
async function signedIn(port: number): Promise<Case> {
  const response = await fetch(`http://127.0.0.1:${port}/login`);
  await response.body?.cancel();
  const cookies = response.headers.getSetCookie()
    .map((line) => line.split(";", 1)[0]);
  return { ...PAGE, headers: { ...PAGE.headers, Cookie: cookies.join("; ") } };
}

function print(samples: ReadonlyMap<string, Samples>): string {
  const ours = samples.get(OURS)!;
  return table(
    ["", "CPU µs a request", "framework × it", "p99 ms"],
    [...samples].map(([name, { cpu, p99 }]) => [
      name,
      show(figure(cpu), 1),
      showRatio(ratios(ours.cpu, cpu)),
      show(figure(p99), 2),
    ]),
  );
}
