/** Copies the posts of `blog/data/` into the empty table of the database that `DATABASE_URL` names. */

import { PostFile } from "../posts.ts";
import { databaseUrl } from "./address.ts";
import { PostTable } from "./table.ts";

const data = `${import.meta.dirname}/../data`;

try {
  const file = new PostFile(`${data}/posts.json`, `${data}/seed.json`);
  const posts = await file.all();
  await using table = await PostTable.open(databaseUrl());
  await table.import(posts);
  console.log(`Imported ${posts.length} posts`);
} catch (error) {
  console.error(`Cannot import the posts: ${(error as Error).message}`);
  Deno.exit(1);
}
