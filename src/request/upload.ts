/** Owns uploaded files: storing one, in a folder under a safe name. `multipart.ts` finds them in a form. */

import { track } from "../state/current.ts";

const FOLDER_END = Deno.build.os === "windows" ? /[/\\]$/ : /\/$/;

/** Makes a client's file name safe: each pattern is replaced by the text beside it. */
const NAME_RULES: readonly (readonly [RegExp, string])[] = [
  [/^.*[/\\]/s, ""], // folders, of either kind of system
  [/^.+(?=.{60}$)/su, ""], // all but the last 60 characters, where the type is: a name may have 255 bytes
  [/\p{C}/gu, ""], // NUL, control and invisible characters, such as those that reverse the direction
  [/[<>:"|?*]/g, "_"], // what Windows refuses, or reads as a stream of another file
  [/^[.\s]+|[.\s]+$/gu, ""], // "..", hidden files, and ends that Windows drops
  [/^(?=(?:aux|con|nul|prn|com[\d¹²³]|lpt[\d¹²³])\s*(?:\.|$))/i, "_"], // the devices of Windows
  [/^$/, "upload"],
];

/** The failures of storing for which the message says more than Deno's. */
const FAILURES = [
  [Deno.errors.NotFound, "the folder does not exist"],
  [Deno.errors.AlreadyExists, "a file already exists there"],
] as const;

/**
 * An uploaded file of a form. The client chose its `name` and `type`: show them, but never use the
 * name as a path.
 *
 * @example
 * ```ts
 * import { Engine, UploadedFile } from "@framework/core";
 * import { assertEquals } from "@std/assert";
 *
 * const folder = await Deno.makeTempDir();
 * const app = new Engine();
 * app.route("POST /photo", async () => {
 *   const { photo } = app.request().files;
 *   if (!(photo instanceof UploadedFile)) return app.halt(422, "A photo?");
 *   return await photo.moveTo(`${folder}/`);
 * });
 *
 * const body = new FormData();
 * body.set("photo", new File(["pixels"], "../me.png"));
 * const init = { method: "POST", body };
 * const request = new Request("http://localhost/photo", init);
 * assertEquals(await (await app.fetch(request)).text(), `${folder}/me.png`);
 * assertEquals(await Deno.readTextFile(`${folder}/me.png`), "pixels");
 * ```
 */
export class UploadedFile extends File {
  /**
   * Stores the file and returns the path it was written to. When the path ends with a slash, or is that of an
   * existing folder, the file is stored there under the client's name, sanitized; any other path is that of the
   * file. Needs permission to write the path, and to read it when a folder is given without a slash.
   *
   * @throws {Deno.errors.AlreadyExists} A file already exists there; it stays as it was.
   * @throws {Deno.errors.NotFound} The folder does not exist.
   */
  moveTo(path: string): Promise<string> {
    return track("moveTo", this.#move(path));
  }

  async #move(path: string): Promise<string> {
    const isFolder = FOLDER_END.test(path);
    const target = isFolder ? path + safeName(this.name) : path;
    try {
      await this.#write(target);
      return target;
    } catch (error) {
      const failure = FAILURES.find(([kind]) => error instanceof kind);
      if (failure === undefined) throw error;
      // A path that cannot be read or does not exist is not a folder.
      const taken = await Deno.stat(path).catch(() => undefined);
      if (!isFolder && taken?.isDirectory) return this.#move(`${path}/`);
      const [Failure, state] = failure;
      const upload = JSON.stringify(this.name);
      throw new Failure(
        `Cannot move the upload ${upload} to "${target}": ${state}`,
      );
    }
  }

  async #write(target: string): Promise<void> {
    const file = await Deno.open(target, { write: true, createNew: true });
    try {
      await this.stream().pipeTo(file.writable);
    } catch (error) {
      await Deno.remove(target); // half a file must not look like a whole one
      throw error;
    }
  }
}

/** The client's name as the name of a file that stays in its folder on every system. */
function safeName(name: string): string {
  return NAME_RULES.reduce(
    (safe, [unsafe, instead]) => safe.replace(unsafe, instead),
    name.normalize("NFC"),
  );
}
