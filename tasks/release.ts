/**
 * Owns what must agree before a release: the tag, the version of `deno.json`, and the newest dated part of the
 * changelog. Exits with 1 when they do not.
 *
 *     deno run --no-lock --allow-read tasks/release.ts v0.2.0
 */

/** The heads of the changelog's parts: `## Unreleased`, then `## 0.2.0 (2026-01-31)`. */
const HEADS = /^## (.*)$/gm;
const DATED = /^(\d+\.\d+\.\d+\S*) \(\d{4}-\d{2}-\d{2}\)$/;

const tag = Deno.args[0] ?? "";
const { version } = JSON.parse(await Deno.readTextFile("deno.json"));
const changelog = await Deno.readTextFile("CHANGELOG.md");
const [first, newest] = [...changelog.matchAll(HEADS)].map(([, head]) => head!);
const problems = [
  tag === `v${version}` ? "" : `the tag is "${tag}", the version ${version}`,
  first === "Unreleased" ? "" : `the changelog begins with "${first}"`,
  DATED.exec(newest ?? "")?.[1] === version
    ? ""
    : `the newest part of the changelog is "${newest}"`,
].filter((problem) => problem !== "");
for (const problem of problems) console.error(`Cannot release: ${problem}`);
Deno.exit(problems.length === 0 ? 0 : 1);
