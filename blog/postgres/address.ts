/**
 * Owns the address of the database: reads it from `DATABASE_URL`, and prints its host and port for the permissions of
 * `deno task blog:postgres`.
 */

/** The value of `DATABASE_URL`; throws, without quoting the password, unless it names user, host and database. */
export function databaseUrl(): string {
  const url = Deno.env.get("DATABASE_URL") ?? "";
  const { protocol = "", username, hostname, pathname } = URL.parse(url) ?? {};
  const isPostgres = /^postgres(ql)?:$/.test(protocol);
  if (isPostgres && username && hostname && pathname?.slice(1)) return url;
  throw new TypeError(
    "Cannot read DATABASE_URL: it must look like postgres://user:password@host:5432/name",
  );
}

if (import.meta.main) {
  try {
    const { hostname, port } = new URL(databaseUrl());
    console.log(`${hostname}:${port || 5432}`);
  } catch (error) {
    console.error((error as Error).message);
    Deno.exit(1);
  }
}
