/**
 * Copies the posts of a file, `blog/data/posts.json` unless another is given, into the empty table of the
 * database that `DATABASE_URL` names.
 */

import { join } from "@std/path/join";
import { PostTable } from "./table.ts";
import { PostFile } from "../posts.ts";

const path = Deno.args[0] ??
  join(import.meta.dirname!, "..", "data", "posts.json");

try {
  await Deno.stat(path); // A store without a file is empty, an import without one is a mistake.
  const posts = await new PostFile(path).export();
  await using table = await PostTable.open(Deno.env.get("DATABASE_URL") ?? "");
  await table.import(posts);
  console.log(`Imported ${posts.length} posts from "${path}"`);
} catch (error) {
  console.error(`Cannot import the posts: ${(error as Error).message}`);
  Deno.exit(1);
}
