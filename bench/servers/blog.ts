/** The sample blog, with as many posts as the argument says. */

import { PostFile } from "../../blog/posts.ts";
import "../../blog/app.ts";
import { Framework } from "../../mod.ts";
import { makePosts } from "./posts.ts";

const folder = await makePosts(Number(Deno.args[0]));

Framework.register("posts", PostFile, [`${folder}/posts.json`]);
Framework.start({
  port: 0,
  onListen: (address) => console.log((address as Deno.NetAddr).port),
});
