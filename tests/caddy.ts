/**
 * Owns running a Caddy of its own: unprivileged, on a free port, with all of its files in a temporary folder. Its site
 * is that of `docs/in_production.md`, or a test's own.
 */

import { Process } from "../tasks/process.ts";
import { freePort } from "./ports.ts";
import { asNobody, findProgram, folderForNobody } from "./system_program.ts";

const DOCUMENT = new URL("../docs/in_production.md", import.meta.url);

const program = await findProgram("caddy");

/** Whether Caddy is not installed, so that its tests are skipped. */
export const isMissing: boolean = program === undefined;

if (isMissing) {
  console.warn("THE TESTS BEHIND CADDY ARE SKIPPED: Caddy is not installed");
}

/** Makes what stands in a site, for the folder of the server's files. */
export type Configure = (folder: string) => string;

/** A running Caddy; it is killed when the tests end, however they end. */
export class Caddy implements AsyncDisposable {
  readonly #folder: string;
  readonly #process: Process;

  private constructor(
    readonly port: number,
    folder: string,
    command: readonly string[],
  ) {
    const [program = "", ...args] = command;
    // Its own folders, in place of those of the home.
    const env = { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    this.#folder = folder;
    this.#process = new Process([program, ...args], { env });
  }

  /** Starts it for `http` or `https` with the given files in its folder. */
  static async start(
    scheme: string,
    configure: Configure,
    files: Readonly<Record<string, string>>,
  ): Promise<Caddy> {
    const folder = await folderForNobody("caddy", files);
    const port = freePort();
    const text = `
      {
        admin off
        auto_https off
      }
      ${scheme}://127.0.0.1:${port} {
        bind 127.0.0.1
        ${configure(folder)}
      }`;
    const config = `${folder}/Caddyfile`;
    await Deno.writeTextFile(config, text);
    const args = ["run", "--config", config];
    const command = [...await asNobody(), program!, ...args];
    const caddy = new Caddy(port, folder, command);
    await caddy.#process.prints(/serving initial configuration/);
    return caddy;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/**
 * The site of the documentation, with another server (`127.0.0.1:8000`) behind Caddy: by TLS with the certificate in
 * its folder, or else without.
 */
export async function documented(
  server: string,
  isSecure: boolean,
): Promise<Configure> {
  const text = await Deno.readTextFile(DOCUMENT);
  const [, site = ""] = /```\nexample\.com\n([^]*?)```/.exec(text) ?? [];
  const behind = site.replace(/(?:127\.0\.0\.1:\d+ )+/, `${server} `);
  return (folder) =>
    isSecure ? `tls ${folder}/site.pem ${folder}/site.key\n${behind}` : behind;
}
