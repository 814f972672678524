/** Owns the notices of calls that come after the response was sealed, and so change nothing. */

import { report } from "../errors.ts";
import { Reply } from "../response/reply.ts";
import { callSite } from "../stack.ts";

/** A reply that remembers which line has sealed it, and reports the lines that come too late. */
export class NoticingReply extends Reply {
  override seal(by: string): boolean {
    return super.seal(this.isSealed ? by : by + callSite());
  }

  override ignore(call: string): void {
    const place = callSite();
    report(
      `Ignored ${call}${place}: the response was sealed by ${this.sealedBy}`,
    );
  }
}
