/** Owns the notices of calls that come after the response was sealed, and so change nothing. */

import { Context } from "../application/exchange.ts";
import { report } from "../errors.ts";
import { routeName } from "../handling/respond.ts";
import { Reply } from "../response/reply.ts";
import { callSite } from "./frames.ts";
import { innermost } from "../state/current.ts";

/** A reply that remembers which line has sealed it, and reports the lines that come too late. */
export class NoticingReply extends Reply {
  override seal(by: string): boolean {
    return super.seal(this.isSealed ? by : by + placeOf(by));
  }

  override ignore(call: string): void {
    const state = `the response was sealed by ${this.sealedBy}`;
    report(`Ignored ${call}${placeOf(call)}: ${state}`);
  }
}

/** The line that has called the framework; for what a callback returned, which no line of it does, its route. */
function placeOf(call: string): string {
  if (call !== "a returned Response") return callSite();
  const context = innermost();
  if (!(context instanceof Context)) return "";
  const { failure, exchange: { match } } = context;
  if (failure !== undefined) return ` (of ${failure.name}())`;
  return match === undefined ? "" : ` (of ${routeName(match)})`;
}
