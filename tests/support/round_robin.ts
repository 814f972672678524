/** Owns a proxy that gives each of several servers the next request. */

/** A running proxy. */
export class RoundRobin implements AsyncDisposable {
  readonly #origins: readonly string[];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  #next = 0;

  /** The origins are those of the servers. */
  constructor(origins: readonly string[]) {
    this.#origins = origins;
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => this.#pass(request),
    );
  }

  /** Where the proxy listens. */
  get origin(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  async #pass({ url, method, headers, body }: Request): Promise<Response> {
    const origin = this.#origins[this.#next++ % this.#origins.length]!;
    const { pathname, search } = new URL(url);
    const init = { method, headers, body, redirect: "manual" } as const;
    try {
      return await fetch(origin + pathname + search, init);
    } catch {
      return new Response(null, { status: 502 });
    }
  }
}
