/** The blog with its posts in the database that `DATABASE_URL` names. `main.ts` starts it. */

import { Framework } from "@framework/core";
import "../app.ts";
import { databaseUrl } from "./address.ts";
import { PostTable } from "./table.ts";

try {
  const table = await PostTable.open(databaseUrl());
  Framework.map("posts", () => table);
} catch (error) {
  console.error(`Cannot open the posts: ${(error as Error).message}`);
  Deno.exit(1);
}

export default Framework;
