/**
 * Owns the connections to the database: how many there are, how long a statement may take, and the 503 for
 * requests while the database cannot be used.
 *
 * A statement has a connection to itself. The database ends one that takes too long (`statement_timeout`), so
 * that no session waits there for a lock after its client has given up. A connection on which even that goes
 * unheard leads to a machine that has vanished: it is closed at once, before another takes its place.
 */

import { HttpError } from "@framework/core";
import { connect, type Socket } from "node:net";
import postgres from "npm:postgres@^3.4.9";

/** The driver's interface to one connection. */
export type Sql = ReturnType<typeof postgres>;

/** A transaction on one connection. */
export type Transaction = postgres.TransactionSql;

/** Seconds beyond its time after which a statement that the database has not ended is given up. */
const GRACE = 1;

/** Seconds that a transaction which no client waits for may take: a migration, an import. */
const TRANSACTION_TIMEOUT = 600;

/** Seconds after which a connection that nothing uses is closed. */
const IDLE_TIMEOUT = 5;

/** Seconds after which a client may try again. */
const RETRY_AFTER = 5;

/**
 * The classes of SQLSTATE for a database that cannot be used at the moment: connection exception, invalid
 * authorization, unknown database, insufficient resources, operator intervention (such as
 * `statement_timeout`), system error; and the state of a standby, which takes no writes.
 */
const UNAVAILABLE = /^(?:08|28|3D|53|57|58)|^25006$/;

/** A number of connections, each for one statement or transaction at a time. */
export class Connections implements AsyncDisposable {
  readonly #timeout: number;
  readonly #purpose: string;
  readonly #connections: readonly Connection[];
  readonly #free: Connection[];
  /** Takes over a connection that becomes free; the first has waited longest. */
  readonly #waiting = new Set<(connection: Connection) => void>();
  #isReachable = true;

  /**
   * Creates at most `size` connections, each when it is needed. A statement waits `timeout` seconds for one, and
   * may take as long then. The log ends "The database is reachable again" by the purpose.
   */
  constructor(url: string, size: number, timeout: number, purpose = "") {
    this.#timeout = timeout;
    this.#purpose = purpose;
    const make = (): Connection => new Connection(url, timeout);
    this.#connections = Array.from({ length: size }, make);
    this.#free = [...this.#connections];
  }

  /** Runs a statement of a request; rejects with a 503 when the database cannot be used. */
  async run<T>(statement: (sql: Sql) => Promise<T>): Promise<T> {
    try {
      const result = await this.#using((connection) => {
        const limit = this.#timeout + GRACE;
        return within(limit, statement(connection.sql), () => {
          connection.reset();
        });
      });
      this.#report(undefined);
      return result;
    } catch (cause) {
      if (!isUnavailable(cause)) throw cause;
      this.#report((cause as Error).message);
      throw new HttpError(503, "The posts are unavailable at the moment", {
        cause,
        headers: { "retry-after": `${RETRY_AFTER}` },
      });
    }
  }

  /** Runs a transaction that no client waits for. */
  async transact<T>(work: (sql: Transaction) => Promise<T>): Promise<void> {
    const timeout = `${TRANSACTION_TIMEOUT}s`;
    await this.#using(({ sql }) =>
      sql.begin(async (transaction) => {
        await transaction`select set_config('statement_timeout', ${timeout}, true)`;
        await work(transaction);
      })
    );
  }

  /** Closes the connections, once running statements have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    const options = { timeout: this.#timeout };
    await Promise.all(this.#connections.map(({ sql }) => sql.end(options)));
  }

  async #using<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = this.#free.pop() ?? await this.#nextFree();
    try {
      return await work(connection);
    } finally {
      const [first] = this.#waiting;
      if (first === undefined) this.#free.push(connection);
      else first(connection);
    }
  }

  async #nextFree(): Promise<Connection> {
    const { promise, resolve } = Promise.withResolvers<Connection>();
    const take = (connection: Connection): void => {
      this.#waiting.delete(take);
      resolve(connection);
    };
    this.#waiting.add(take);
    return await within(this.#timeout, promise, () => {
      this.#waiting.delete(take);
    });
  }

  /** Logs when the database becomes unreachable and when it is back, but not each request in between. */
  #report(problem: string | undefined): void {
    if (this.#isReachable === (problem === undefined)) return;
    this.#isReachable = !this.#isReachable;
    const state = this.#isReachable ? "reachable again" : "unreachable";
    const message = `The database is ${state}${this.#purpose}`;
    const reason = problem === undefined ? "" : `: ${problem}`;
    console.error(`${new Date().toISOString()} ${message}${reason}`);
  }
}

/** One connection, made when it is needed and closed when it is not. */
class Connection {
  readonly #make: () => Sql;
  #socket: Socket | undefined;
  #sql: Sql;

  constructor(url: string, timeout: number) {
    const options = {
      max: 1,
      connect_timeout: timeout,
      // An open connection keeps the process alive, even when its server has been drained.
      idle_timeout: IDLE_TIMEOUT,
      fetch_types: false,
      // Seconds between two attempts to connect; the driver's own grow up to 20.
      backoff: () => 0.1,
      connection: {
        application_name: "blog",
        statement_timeout: timeout * 1_000,
      },
      onnotice: () => {},
      socket: ({ host: [host], port: [port] }: Address) => {
        // The driver reads the host from its sockets, to check certificates.
        const address = { host: host!, port: port! };
        return this.#socket = Object.assign(connect(address), address);
      },
    };
    this.#make = () => postgres(url, options);
    this.#sql = this.#make();
  }

  get sql(): Sql {
    return this.#sql;
  }

  /** Closes the connection without waiting for the other end, which may have vanished. */
  reset(): void {
    this.#socket?.destroy();
    this.#sql.end({ timeout: 0 });
    this.#sql = this.#make();
  }
}

/** The hosts that the driver connects to, and their ports. */
interface Address {
  readonly host: readonly string[];
  readonly port: readonly number[];
}

/** Waits for a promise for that many seconds; then calls `giveUp` and rejects. */
async function within<T>(
  seconds: number,
  promise: Promise<T>,
  giveUp: () => void,
): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    giveUp();
    reject(new Deno.errors.TimedOut(`No result within ${seconds} s`));
  }, seconds * 1_000);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether an error says that the database cannot be used at the moment, and not that a statement is wrong. */
function isUnavailable(error: unknown): boolean {
  if (error instanceof Deno.errors.TimedOut) return true;
  const { code } = error as { code?: unknown };
  if (error instanceof postgres.PostgresError) {
    return UNAVAILABLE.test(`${code}`);
  }
  return typeof code === "string"; // of the socket, or of the driver's connection
}
