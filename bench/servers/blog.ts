/** The sample blog, over a copy of its folders with as many posts as the argument says. */

import { PostFile } from "../../blog/posts.ts";
import { declareBlog } from "../../blog/routes.ts";
import { Framework } from "../../mod.ts";
import { makePosts } from "./posts.ts";

const blog = new URL("../../blog/", import.meta.url).pathname;
const folder = await makePosts(Number(Deno.args[0]));

declareBlog(Framework.app(), new PostFile(`${folder}/posts.json`), {
  views: `${blog}views`,
  cache: `${folder}/cache`,
  public: `${blog}public`,
});
Framework.start({
  port: 0,
  onListen: (address) => console.log((address as Deno.NetAddr).port),
});
