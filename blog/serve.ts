/**
 * Owns the blog as it is served: which store it uses, and where its files are. The default export is for
 * `deno serve`, also with `--parallel`; `main.ts` starts the same on a port of its own.
 */

import { Framework } from "@framework/core";
import { join } from "@std/path/join";
import { PostFile } from "./posts.ts";
import { declareBlog } from "./routes.ts";

const folder = import.meta.dirname!;
const data = join(folder, "data");

const posts = new PostFile(join(data, "posts.json"));
await posts.seed(join(data, "seed.json"));

declareBlog(Framework.app(), posts, {
  views: join(folder, "views"),
  cache: join(folder, "cache"),
  public: join(folder, "public"),
});

export default Framework;
