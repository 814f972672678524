/**
 * Owns the address of the database: reads it from `DATABASE_URL`, and prints it for the permissions of
 * `deno task blog:postgres`.
 */

/** Where a database is. */
export interface DatabaseAddress {
  /** Host and port, as a permission for the network names them. */
  readonly host: string;
  /** The database and its host, for messages: without user and password. */
  readonly name: string;
}

const PORT = "5432";

/** Reads a URL such as `postgres://user:password@host:5432/name`; throws unless it has these parts. */
export function addressOf(url: string): DatabaseAddress {
  const { protocol, hostname, port, username, pathname } = URL.parse(url) ?? {};
  if (
    !/^postgres(?:ql)?:$/.test(protocol ?? "") || !hostname || !username ||
    !pathname?.slice(1)
  ) {
    // The URL is not quoted: it may hold a password.
    throw new TypeError(
      "Cannot read DATABASE_URL: it must look like postgres://user:password@host:5432/name",
    );
  }
  const host = `${hostname}:${port || PORT}`;
  return {
    host,
    name: `"${decodeURIComponent(pathname.slice(1))}" at ${host}`,
  };
}

if (import.meta.main) {
  try {
    console.log(addressOf(Deno.env.get("DATABASE_URL") ?? "").host);
  } catch (error) {
    console.error((error as Error).message);
    Deno.exit(1);
  }
}
