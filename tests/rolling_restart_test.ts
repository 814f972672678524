/** Tests restarts of two processes behind nginx; `deno task rolling` does the same with 20,000 requests. */

import { assertEquals } from "@std/assert";
import { isMissing } from "./nginx.ts";
import { restartUnderLoad, type Way, WAYS } from "./rolling_restart.ts";

/** Declares a test of 2,000 requests for a way of serving. */
function restartTest(name: string, way: Way, hasForms: boolean): void {
  Deno.test({ name, ignore: isMissing }, async () => {
    const load = { requests: 2_000, hasForms };
    const { failures } = await restartUnderLoad(way, load);
    assertEquals(failures, []);
  });
}

for (const way of WAYS) {
  restartTest(
    `no page fails while two processes behind nginx restart in turn (${way})`,
    way,
    false,
  );
  restartTest(
    `no form fails where nginx leaves a process before it restarts (${way})`,
    way,
    true,
  );
}
