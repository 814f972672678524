/** Prints how many milliseconds the import of the module takes that the argument names. */

const begin = performance.now();
await import(Deno.args[0]!);
console.log(performance.now() - begin);
