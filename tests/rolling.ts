/**
 * Restarts two processes behind nginx in turn while clients send 20,000 requests, or the number given as the
 * argument, for each way of serving: none may fail. Serves and connects on 127.0.0.1 alone.
 */

import { restartUnderLoad, WAYS } from "./rolling_restart.ts";

const requests = Number(Deno.args[0] ?? 20_000);

for (const way of WAYS) {
  for (const hasForms of [false, true]) {
    const { sent, restarts, failures } = await restartUnderLoad(way, {
      requests,
      hasForms,
    });
    const what = hasForms ? "requests with forms" : "requests";
    console.log(
      `${way}: ${sent} ${what}, ${restarts} restarts, ${failures.length} failed`,
    );
    for (const failure of new Set(failures)) console.error(failure);
    if (failures.length > 0) Deno.exitCode = 1;
  }
}
