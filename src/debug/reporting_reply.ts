/** Owns the reports of calls that change nothing, since the response is sealed. */

import { Context } from "../application/exchange.ts";
import { report } from "../report.ts";
import { routeName } from "../routing/match.ts";
import { Reply, RETURNED, type Section } from "../response/reply.ts";
import { callSite } from "./frames.ts";
import { innermost } from "../state/current.ts";

/** A reply that remembers the line that sealed it, and reports later calls. */
export class ReportingReply extends Reply {
  override seal(by: string, section?: Section): boolean {
    return super.seal(this.isSealed ? by : by + callPlace(by), section);
  }

  override ignore(call: string): void {
    super.ignore(call);
    const state = this.isMade
      ? 'the web response had already been made; in a "send" filter, change that response instead'
      : this.isSealed
      ? `the response was sealed by ${this.sealedBy}`
      : "the body is a stream, bytes, or a web response, to which nothing can be added";
    report(`Ignored ${call}${callPlace(call)}: ${state}`);
  }
}

/** The line that called the framework; for a returned value, which no line passes on, the route. */
function callPlace(call: string): string {
  if (call !== RETURNED) return callSite();
  const context = innermost();
  if (!(context instanceof Context)) return "";
  const { failure, exchange: { match } } = context;
  if (failure !== undefined) return ` (of ${failure.page}())`;
  return match === undefined ? "" : ` (of ${routeName(match)})`;
}
