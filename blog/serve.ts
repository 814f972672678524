/**
 * The blog as it is served, with a line in the log for each request. The default export is for `deno serve`, including
 * with `--parallel`; `main.ts` starts it on a port of its own. With `DATABASE_URL` its posts are a table of
 * PostgreSQL.
 */

import { Framework } from "@framework/core";
import { log } from "@framework/core/log";
import { join } from "@std/path/join";
import "./app.ts";
import type { PostFile, PostStore } from "./posts.ts";

const url = await databaseUrl();
if (url === undefined) {
  const file: PostFile = Framework.posts();
  await file.seed(join(import.meta.dirname!, "data", "seed.json"));
} else {
  const table = await openTable(url);
  Framework.map("posts", () => table);
}

log(Framework);

export default Framework;

/** The address of the database, if it is set and may be read. */
async function databaseUrl(): Promise<string | undefined> {
  const variable = "DATABASE_URL";
  const { state } = await Deno.permissions.query({ name: "env", variable });
  return state === "granted" ? Deno.env.get(variable) : undefined;
}

async function openTable(url: string): Promise<PostStore> {
  // With a literal, Deno would download the driver also for those who use the file.
  const address = import.meta.resolve("./postgres/table.ts");
  const { PostTable }: typeof import("./postgres/table.ts") = await import(
    address
  );
  try {
    return await PostTable.open(url);
  } catch (error) {
    console.error((error as Error).message);
    Deno.exit(1);
  }
}
