/**
 * Owns an nginx for tests: a process of its own on 127.0.0.1, unprivileged, with its files in a temporary folder.
 * Its `server` blocks are those of `docs/in_production.md`, or a test's own.
 */

import { Process } from "../../tasks/process.ts";
import { freePort } from "./ports.ts";
import { findProgram } from "./system_program.ts";

const DOCUMENT = new URL("../../docs/in_production.md", import.meta.url);

const WORKER = /start worker process \d/;

const program = await findProgram("nginx");

/** Whether nginx is not installed, so that its tests are skipped. */
export const isMissing: boolean = program === undefined;

if (isMissing) {
  console.warn("THE TESTS BEHIND NGINX ARE SKIPPED: nginx is not installed");
}

/** Makes what stands inside of `http { … }`, for the port to listen on and the folder of the server's files. */
export type Configure = (port: number, folder: string) => string;

/** A running nginx; it is killed when the tests end, however they end. */
export class Nginx implements AsyncDisposable {
  readonly #folder: string;
  readonly #process: Process;

  private constructor(
    readonly port: number,
    folder: string,
    command: readonly string[],
  ) {
    const [program = "", ...args] = command;
    this.#folder = folder;
    this.#process = new Process([program, ...args], { limit: 600 });
  }

  /** Starts it with the given files in its folder. */
  static async start(
    configure: Configure,
    files: Readonly<Record<string, string>> = {},
  ): Promise<Nginx> {
    const folder = await Deno.makeTempDir({ prefix: "nginx" });
    await Deno.chmod(folder, 0o777);
    const port = freePort();
    const all = {
      ...files,
      "nginx.conf": whole(folder, configure(port, folder)),
    };
    for (const [name, content] of Object.entries(all)) {
      await Deno.writeTextFile(`${folder}/${name}`, content);
    }
    const args = ["-e", "stderr", "-p", folder, "-c", `${folder}/nginx.conf`];
    const command = [...asNobody(), program!, ...args];
    const nginx = new Nginx(port, folder, command);
    await nginx.#process.prints(WORKER);
    return nginx;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/**
 * The configuration of the documentation, with other servers (`127.0.0.1:8000`) behind nginx, which listens on
 * its port: by TLS with the certificate in its folder, or else without.
 */
export async function documented(
  servers: readonly string[],
  isSecure = false,
): Promise<Configure> {
  const text = await Deno.readTextFile(DOCUMENT);
  const [, block = ""] = /```nginx\n([^]*?)```/.exec(text) ?? [];
  const lines = servers.map((server) => `server ${server};\n`);
  const secure = block
    .replace(/(?: *server 127\.0\.0\.1:.*\n)+/, lines.join(""));
  const chosen = isSecure ? secure : secure
    .replace(/ *ssl_certificate.*\n/g, "")
    .replace("listen 443 ssl http2", "listen 443");
  return (port, folder) =>
    chosen
      .replace("listen 80;", `listen unix:${folder}/redirects;`)
      .replace("listen 443", `listen 127.0.0.1:${port}`)
      .replaceAll("/etc/ssl/example.com", `${folder}/site`);
}

/** The command that runs another as nobody, where the tests run as root. */
function asNobody(): string[] {
  const { stdout } = new Deno.Command("id", { args: ["-u"] }).outputSync();
  if (new TextDecoder().decode(stdout).trim() !== "0") return [];
  return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"];
}

/** A whole configuration, around what stands inside of `http { … }`. */
function whole(folder: string, http: string): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`);
  return `
    daemon off;
    worker_processes 1;
    pid ${folder}/pid;
    error_log stderr notice;
    events {}
    http {
      access_log off;
      ${temporary.join("\n")}
      ${http}
    }`;
}
