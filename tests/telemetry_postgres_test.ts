/** Tests that spans around queries of PostgreSQL belong to the request that made them. */

import { assertEquals } from "@std/assert";
import { Collector } from "./collector.ts";
import { isMissing } from "./postgres.ts";
import { ServerProcess } from "./server_child.ts";
import { server } from "./stores.ts";

/** Two connections, for which the requests wait: a query begins in the callback of another request's. */
const SOURCE = `
  import { Framework } from "@framework/core";
  import { telemetry } from "@framework/core/telemetry";
  import { trace } from "npm:@opentelemetry/api@^1.9.0";
  import postgres from "npm:postgres@^3.4.9";

  const sql = postgres("DATABASE", { max: 2, fetch_types: false });
  const tracer = trace.getTracer("database");
  telemetry(Framework);
  Framework.route("/row/@id", (id) =>
    tracer.startActiveSpan(\`select \${id}\`, async (span) => {
      const [row] = await sql\`select \${id} as id, pg_sleep(0.01)\`;
      span.end();
      tracer.startSpan(\`after \${id}\`).end();
      return row!.id;
    }));
  Framework.start({ port: 0, onShutdown: () => sql.end() });
`;

Deno.test({
  name: "spans around queries are children of the request that made them",
  ignore: isMissing,
}, async () => {
  const url = server().url(await server().createDatabase());
  await using collector = new Collector();
  await using process = await ServerProcess.start(
    SOURCE.replace("DATABASE", url),
    { env: collector.env, permissions: ["--allow-net", "--allow-env"] },
  );
  const port = await process.port();
  const ids = Array.from({ length: 20 }, (_, index) => `${index}`);
  const texts = ids.map(async (id) =>
    await (await fetch(`http://127.0.0.1:${port}/row/${id}`)).text()
  );
  assertEquals(await Promise.all(texts), ids);
  for (const id of ids) {
    const request = await collector.spanOf(`/row/${id}`);
    const query = await collector.spanNamed(`select ${id}`);
    const after = await collector.spanNamed(`after ${id}`);
    assertEquals([query.parent, after.parent], [request.id, query.id]);
  }
});
