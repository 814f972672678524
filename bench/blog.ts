/** Measures the sample blog against the same pages written by hand with Hono and Vento. */

import type { Case } from "./cases.ts";
import { OURS, withServers } from "./contenders.ts";
import { send } from "./load.ts";
import type { Plan } from "./plan.ts";
import { figure, ratios, show, showRatio, table } from "./statistics.ts";

const HAND = "Hono and Vento by hand";

const SIZES = [10, 1_000, 10_000];

/** The work of one round: a page of 10,000 posts takes a thousand times that of a plain text. */
const WORK = 20_000;

/** The rounds before the first that counts. */
const WARMUP = 2;

const STYLESHEET: Case = {
  path: "/public/style.css",
  status: 200,
  contains: "text/css",
};

const UNKNOWN: Case = {
  path: "/missing",
  status: 404,
  contains: "Page not found",
};

const CREATE: Case = {
  method: "POST",
  path: "/create",
  body: [
    "application/x-www-form-urlencoded",
    "title=A+new+post&content=Some+words",
  ],
  status: 303,
  contains: "",
};

/** One measurement: the posts there are, the requests in turns, and over how many connections. */
interface Work {
  readonly size: number;
  readonly cases: readonly Case[];
  readonly requests: number;
  readonly connections: number;
}

/** Measures a mix of pages, the home page of more and more posts, and creating one among the most. */
export async function measureBlog(plan: Plan): Promise<string> {
  const most = SIZES.at(-1)!;
  const works: Readonly<Record<string, Work>> = {
    "home, post, stylesheet, unknown path": {
      size: 10,
      cases: [home(10), post(5), STYLESHEET, UNKNOWN],
      requests: 2_000,
      connections: 8,
    },
    ...Object.fromEntries(SIZES.map((size) => [`home, ${size} posts`, {
      size,
      cases: [home(size)],
      requests: Math.max(10, Math.round(WORK / (size + 10))),
      connections: 8,
    }])),
    [`create, ${most} posts`]: {
      size: most,
      cases: [CREATE],
      requests: 10,
      connections: 1,
    },
  };
  const rows: string[][] = [];
  for (const [name, work] of Object.entries(works)) {
    rows.push([name, ...await measure(work, plan)]);
  }
  return table(["", "blog, CPU µs", `${HAND}, CPU µs`, "ratio"], rows);
}

function home(size: number): Case {
  return { path: "/", status: 200, contains: `/post/post-${size - 1}"` };
}

function post(index: number): Case {
  const contains = `Post ${index}</h1>`;
  return { path: `/post/post-${index}`, status: 200, contains };
}

async function measure(
  { size, cases, requests, connections }: Work,
  { rounds }: Plan,
): Promise<string[]> {
  const args = [String(size)];
  const scripts = {
    [OURS]: { file: "servers/blog.ts", args },
    [HAND]: { file: "servers/blog_by_hand.ts", args },
  };
  return await withServers(scripts, async (servers) => {
    const cpu = new Map<string, number[]>();
    for (let round = -WARMUP; round < rounds; round++) {
      for (const [name, server] of servers) {
        const before = server.cpu();
        await send(server.port, cases, { requests, connections });
        const spent = server.cpu() - before;
        if (round === -WARMUP) cpu.set(name, []);
        if (round < 0) continue;
        cpu.get(name)!.push(spent / (requests + cases.length));
      }
    }
    const ours = cpu.get(OURS)!;
    const hand = cpu.get(HAND)!;
    return [
      show(figure(ours), 0),
      show(figure(hand), 0),
      showRatio(ratios(ours, hand)),
    ];
  });
}
