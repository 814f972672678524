/** Exports the `app` of another server, named by the first argument, for `deno serve`. */

const { app } = await import(Deno.args[0]!);

export default app;
