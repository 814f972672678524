/** Serves the contender that the argument names on a free port of 127.0.0.1, and prints the port. */

const { fetch, start } = await import(`./contenders/${Deno.args[0]}`);
const options = {
  hostname: "127.0.0.1",
  port: 0,
  onListen: (address: Deno.Addr) => console.log((address as Deno.NetAddr).port),
};
if (start) start(options); // Where it has a way of its own.
else Deno.serve(options, fetch);
