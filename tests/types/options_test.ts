/** Options of the core are checked where they are given: by the compiler, and when code without types runs. */

import { assertThrows } from "@std/assert";
import { Engine } from "@framework/core";

/** What takes options, a misspelled one, and the end of the message. */
const CALLS: [name: string, call: (app: Engine) => unknown, problem: string][] =
  [
    [
      "start",
      // @ts-expect-error -- it is "hostname"
      (app) => app.start({ host: "0.0.0.0" }),
      'Cannot start the server: there is no option "host"; it takes "port", "hostname"',
    ],
    [
      "mount",
      // @ts-expect-error -- a group has the middleware
      (app) => app.mount("/inner", new Engine(), [() => false]),
      "Cannot mount an application with middleware: mount it in a group() that has the middleware",
    ],
    [
      "before",
      // @ts-expect-error -- one filter at a time
      (app) => app.before("start", () => {}, () => {}),
      "Cannot call before() with several filters: call it once for each",
    ],
    [
      "fetch",
      // @ts-expect-error -- a request has its options
      (app) => app.fetch("/", { method: "POST" }),
      "Cannot fetch with options: pass a new Request(url, options)",
    ],
  ];

for (const [name, call, problem] of CALLS) {
  Deno.test(`\`${name}()\` ignores nothing: ${problem}`, () => {
    assertThrows(() => call(new Engine()), TypeError, problem);
  });
}
