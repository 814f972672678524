/** Tests that a tag which does not fit the version or the changelog releases nothing. */

import { assertEquals } from "@std/assert";

const ROOT = new URL("../", import.meta.url);

Deno.test("`tasks/release.ts` takes the tag of the version in `deno.json`, and no other", async () => {
  const { version } = JSON.parse(
    await Deno.readTextFile(new URL("deno.json", ROOT)),
  );
  assertEquals(await release(`v${version}`), "");
  assertEquals(
    await release("v9.9.9"),
    `Cannot release: the tag is "v9.9.9", the version ${version}\n`,
  );
});

/** The problems with a tag. */
async function release(tag: string): Promise<string> {
  const { stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-lock", "--allow-read", "tasks/release.ts", tag],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).output();
  return new TextDecoder().decode(stderr);
}
