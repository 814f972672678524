/** Owns ports for servers that start again on the same one. */

/** The first port, and how many there are: systems give higher ones to connections, and to servers that ask for any. */
const [FIRST, COUNT] = [20_000, 10_000];

/** A port of 127.0.0.1 that nothing listens on. */
export function freePort(): number {
  for (let tries = 0; tries < 100; tries++) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    try {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
  throw new Error(`Cannot find a free port from ${FIRST} on`);
}
