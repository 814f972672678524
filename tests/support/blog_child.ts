/**
 * Owns running a copy of the blog as a process, with the permissions that `deno task blog` and `deno task
 * blog:postgres` give it.
 */

import { Process } from "../../tasks/process.ts";
import { ProjectCopy } from "../../tasks/project_copy.ts";
import { absoluteImports } from "./import_map.ts";

/** The folder of the project. */
const ROOT = new URL("../../", import.meta.url);

/** What `deno task blog:postgres` runs. */
export const OVER_POSTGRES = "blog/postgres/main.ts";

/** The posts of a copy. */
const POSTS = ["one", "two", "three"].map((name) => ({
  slug: `post-${name}`,
  title: `Post ${name}`,
  content: `The first line of ${name}.\n\nAnd its second paragraph.`,
}));

/** A copy of the project in a temporary folder, whose blog has three posts. */
export class BlogCopy implements AsyncDisposable {
  private constructor(readonly project: ProjectCopy) {}

  static async make(): Promise<BlogCopy> {
    const copy = new BlogCopy(await ProjectCopy.make());
    await Deno.writeTextFile(copy.posts, JSON.stringify(POSTS, null, 2));
    const imports = JSON.stringify({ imports: await absoluteImports() });
    await Deno.writeTextFile(`${copy.folder}/import_map.json`, imports);
    return copy;
  }

  get folder(): string {
    return this.project.folder;
  }

  /** The file of the posts. */
  get posts(): string {
    return `${this.folder}/blog/data/posts.json`;
  }

  /** The titles of the posts in the file. */
  async titles(): Promise<string[]> {
    const posts: { title: string }[] = JSON.parse(
      await Deno.readTextFile(this.posts),
    );
    return posts.map(({ title }) => title);
  }

  /** Starts the blog on a free port, with the flags of its task as `change` returns them. */
  async start(
    change: (flags: string[]) => string[] = (flags) => flags,
  ): Promise<BlogProcess> {
    return await this.#started(runArguments(change(await taskFlags())));
  }

  /** Starts the blog over a database on a free port, with the flags of its task. */
  async startOver(database: string): Promise<BlogProcess> {
    const args = runArguments(await taskFlags(database), 0, OVER_POSTGRES);
    return await this.#started(args, { DATABASE_URL: database });
  }

  async #started(
    args: readonly string[],
    env: Record<string, string> = {},
  ): Promise<BlogProcess> {
    const child = new BlogProcess(this.folder, args, env);
    await child.listening;
    if (child.origin !== "") return child;
    throw new Error(`The blog did not start: ${child.printed}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.project[Symbol.asyncDispose]();
  }
}

/** A running blog. */
export class BlogProcess extends Process {
  /** The address it listens on; empty when it has ended without listening. */
  origin = "";
  /** Resolves when it listens, or has ended. */
  readonly listening: Promise<void>;

  /** Starts Deno in the folder. */
  constructor(
    folder: string,
    args: readonly string[],
    env: Record<string, string> = {},
  ) {
    super([Deno.execPath(), ...args], { cwd: folder, env });
    this.listening = this.prints(/Listening on (http:\/\/[\d.]+:\d+)/)
      .then(([, origin]) => void (this.origin = origin!), () => {});
  }

  /** Creates a post and returns the status; 0 when there was no response. */
  async create(title: string): Promise<number> {
    return await createPost(this.origin, title);
  }

  /** Sends a signal and returns the exit code. */
  async end(signal: Deno.Signal = "SIGTERM"): Promise<number> {
    this.kill(signal);
    return (await this.ended()).code;
  }
}

/** The arguments that start the blog with the given flags; port 0 is a free one. */
export function runArguments(
  flags: readonly string[],
  port = 0,
  main = "blog/main.ts",
): string[] {
  return [
    "run",
    "-q",
    "--no-lock",
    "--import-map=import_map.json",
    ...flags,
    main,
    `--port=${port}`,
  ];
}

/**
 * The permissions of `deno task blog`, or of `deno task blog:postgres` for a database, for a free port in
 * place of 8000.
 */
export async function taskFlags(database?: string): Promise<string[]> {
  const { tasks } = JSON.parse(
    await Deno.readTextFile(new URL("deno.json", ROOT)),
  );
  const task = tasks[database === undefined ? "blog" : "blog:postgres"];
  const command: string = task.command.replaceAll(
    "$(deno task -q blog:database)",
    database === undefined ? "" : new URL(database).host,
  );
  return (command.match(/--(?:allow|ignore)-\S+/g) ?? []).map((flag) =>
    flag.replace(":8000", ":0")
  );
}

/** The statuses of home page, form, style sheet, creation and the new post's page. */
export async function statusesOf(origin: string): Promise<number[]> {
  const status = async (path: string): Promise<number> => {
    const response = await fetch(origin + path);
    await response.body?.cancel();
    return response.status;
  };
  return [
    await status("/"),
    await status("/create"),
    await status("/public/style.css"),
    await createPost(origin, "One more"),
    await status("/post/one-more"),
  ];
}

/** Creates a post on a blog and returns the status; 0 when there was no response. */
export async function createPost(
  origin: string,
  title: string,
): Promise<number> {
  try {
    const body = new URLSearchParams({ title, content: `About ${title}` });
    const response = await fetch(`${origin}/create`, {
      method: "POST",
      body,
      redirect: "manual",
    });
    await response.body?.cancel();
    return response.status;
  } catch {
    return 0;
  }
}
