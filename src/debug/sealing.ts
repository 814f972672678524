/** Owns the reports of calls that change nothing, since the response is sealed. */

import { report } from "../report.ts";
import type { Reply } from "../response/reply.ts";
import { callSite } from "./frames.ts";

/** The line that sealed each reply; "" where it is not known. */
const sites = new WeakMap<Reply, string>();

/** Notes the line that has sealed a reply. */
export function sealed(reply: Reply): void {
  if (!sites.has(reply)) sites.set(reply, callSite());
}

/** Reports a call that responds although the reply is sealed, with both lines. */
export function ignored(reply: Reply, method: string): void {
  const site = sites.get(reply) ?? "";
  sites.set(reply, site);
  report(
    `Ignored ${method}()${callSite()}: the response was sealed by ${reply.sealedBy}${site}`,
  );
}
