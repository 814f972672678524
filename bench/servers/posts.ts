/** Owns the posts that the blogs are measured with. */

/** Makes a folder with a file `posts.json` of so many posts. It is left to the system to remove. */
export async function makePosts(count: number): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "blog-" });
  const posts = Array.from({ length: count }, (_, index) => ({
    slug: `post-${index}`,
    title: `Post ${index}`,
    content: "Some words about nothing in particular, & then some more.\n"
      .repeat(3),
  }));
  const text = JSON.stringify(posts, null, 2);
  await Deno.writeTextFile(`${folder}/posts.json`, text);
  return folder;
}
