/**
 * Owns a PostgreSQL server for tests: Debian's package `postgresql`, run over a temporary folder on a free
 * port of 127.0.0.1. Where the tests run as root it runs as the user `postgres`, since it refuses root.
 */

import { freePort } from "./ports.ts";

const VERSIONS = "/usr/lib/postgresql";
const PASSWORD = "secret/of:the@tests";

/** No socket outside of its folder, connections for many workers, and no waiting for the disk. */
const SETTINGS = "-c listen_addresses=127.0.0.1 -c unix_socket_directories= " +
  "-c max_connections=200 -c fsync=off";

const programs = await findPrograms();

/** Whether PostgreSQL is not installed, so that the tests of the database are skipped. */
export const isMissing: boolean = programs === undefined;

if (isMissing) {
  console.warn(
    `THE TESTS OF THE DATABASE ARE SKIPPED: no PostgreSQL is installed in ${VERSIONS}`,
  );
}

/** The user and group that the programs run as; none of their own unless the tests run as root. */
interface Account {
  readonly uid?: number;
  readonly gid?: number;
}

/** A running server; it is stopped when the tests end, however they end. */
export class PostgresServer implements AsyncDisposable {
  readonly port: number;
  readonly #folder: string;
  readonly #account: Account;
  readonly #guard: Deno.ChildProcess;
  #databases = 0;

  private constructor(folder: string, account: Account) {
    this.port = freePort();
    this.#folder = folder;
    this.#account = account;
    // The pipe closes when this process ends.
    const script = 'read -r _; exec "$0" stop -D "$1" -m immediate';
    this.#guard = new Deno.Command("sh", {
      args: ["-c", script, `${programs}/pg_ctl`, `${folder}/data`],
      cwd: folder, // the account may not enter the current one
      stdin: "piped",
      stdout: "null",
      stderr: "null",
      ...account,
    }).spawn();
  }

  /** Starts a server without databases. */
  static async create(): Promise<PostgresServer> {
    const folder = await Deno.makeTempDir({ prefix: "postgres" });
    const account = await accountOfServer();
    const password = `${folder}/password`;
    await Deno.writeTextFile(password, PASSWORD);
    const { uid = null, gid = null } = account;
    await Deno.chown(folder, uid, gid);
    await Deno.chown(password, uid, gid);
    const server = new PostgresServer(folder, account);
    await server.#run("initdb", [
      `--pgdata=${folder}/data`,
      `--pwfile=${password}`,
      "--username=postgres",
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--locale=C",
      "--no-sync",
    ]);
    await server.start();
    return server;
  }

  url(database: string): string {
    const password = encodeURIComponent(PASSWORD);
    return `postgres://postgres:${password}@127.0.0.1:${this.port}/${database}`;
  }

  /** Creates an empty database and returns its name. */
  async createDatabase(): Promise<string> {
    const name = `test_${this.#databases++}`;
    await this.execute(`create database ${name}`);
    return name;
  }

  /** Executes a statement and returns the rows as `psql` prints them. */
  async execute(statement: string, database = "postgres"): Promise<string> {
    const output = await this.#run("psql", [
      "--no-psqlrc",
      "--tuples-only",
      "--no-align",
      "--quiet",
      "--set=ON_ERROR_STOP=1",
      `--command=${statement}`,
      this.url(database),
    ]);
    return output.trimEnd();
  }

  /** Starts the server again; resolves when it accepts connections. */
  async start(): Promise<void> {
    const log = `${this.#folder}/log`;
    const settings = `-p ${this.port} ${SETTINGS}`;
    await this.#control("start", "-l", log, "-o", settings);
  }

  /** Stops the server as a crash does. */
  async stop(): Promise<void> {
    await this.#control("stop", "-m", "immediate");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#guard.stdin.close();
    await this.#guard.status;
    await Deno.remove(this.#folder, { recursive: true });
  }

  async #control(action: string, ...options: string[]): Promise<void> {
    const data = `${this.#folder}/data`;
    await this.#run("pg_ctl", [action, "-w", "-s", "-D", data, ...options]);
  }

  async #run(program: string, args: string[]): Promise<string> {
    const { success, stdout, stderr } = await new Deno.Command(
      `${programs}/${program}`,
      { args, cwd: this.#folder, stdin: "null", ...this.#account },
    ).output();
    if (success) return new TextDecoder().decode(stdout);
    throw new Error(`${program} failed: ${new TextDecoder().decode(stderr)}`);
  }
}

/** The folder of the newest installed version. */
async function findPrograms(): Promise<string | undefined> {
  try {
    const versions = await Array.fromAsync(Deno.readDir(VERSIONS));
    const newest = Math.max(...versions.map(({ name }) => Number(name)));
    const folder = `${VERSIONS}/${newest}/bin`;
    await Deno.stat(`${folder}/initdb`);
    return folder;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

async function accountOfServer(): Promise<Account> {
  const id = async (...args: string[]): Promise<number> => {
    const { stdout } = await new Deno.Command("id", { args }).output();
    return Number(new TextDecoder().decode(stdout));
  };
  if (await id("-u") !== 0) return {};
  return { uid: await id("-u", "postgres"), gid: await id("-g", "postgres") };
}
