/** Measures the sample blog against a page written by hand with Hono and Vento. */

import type { Case } from "./cases.ts";
import { OURS, withServers } from "./contenders.ts";
import { send } from "./load.ts";
import type { Plan } from "./plan.ts";
import { figure, ratios, show, table } from "./statistics.ts";

const HAND = "Hono and Vento by hand";

const SIZES = [10, 1_000, 10_000];

/** The work of one turn: a page of 10,000 posts takes a thousand times that of a plain text. */
const WORK = 20_000;

const CREATE: Case = {
  method: "POST",
  path: "/create",
  form: "title=A+new+post&content=Some+words",
  status: 303,
  contains: "",
};

/** Measures the home page with more and more posts, and creating one more among the most. */
export async function measureBlog(plan: Plan): Promise<string> {
  const rows: string[][] = [];
  for (const size of SIZES) {
    const home: Case = {
      path: "/",
      status: 200,
      contains: `/post/post-${size - 1}"`,
    };
    const requests = Math.max(10, Math.round(WORK / (size + 10)));
    rows.push([
      `home, ${size} posts`,
      ...await measure(home, size, requests, 8, plan),
    ]);
  }
  const most = SIZES.at(-1)!;
  rows.push([
    `create, ${most} posts`,
    ...await measure(CREATE, most, 10, 1, plan),
  ]);
  return table(["", "blog, CPU µs", `${HAND}, CPU µs`, "ratio"], rows);
}

async function measure(
  asked: Case,
  size: number,
  requests: number,
  connections: number,
  { rounds }: Plan,
): Promise<string[]> {
  const args = [String(size)];
  const scripts = {
    [OURS]: { file: "servers/blog.ts", args },
    [HAND]: { file: "servers/blog_by_hand.ts", args },
  };
  return await withServers(scripts, async (servers) => {
    const cpu = new Map<string, number[]>();
    for (let round = -2; round < rounds; round++) {
      for (const [name, server] of servers) {
        const before = server.cpu();
        await send(server.port, asked, { requests, connections });
        const spent = (server.cpu() - before) / (requests + 1);
        if (round === -2) cpu.set(name, []);
        else if (round >= 0) cpu.get(name)!.push(spent);
      }
    }
    const ours = cpu.get(OURS)!;
    const hand = cpu.get(HAND)!;
    return [
      show(figure(ours), 0),
      show(figure(hand), 0),
      show(ratios(ours, hand), 2),
    ];
  });
}
