/**
 * Owns the choice between the standard library and its stand-ins, where the cache does not hold the
 * real one already: prints the flag that takes the stand-ins when JSR does not answer in time.
 * Network that swallows packets would otherwise hold a command up for minutes.
 */

/** How many milliseconds JSR gets to hand out one small module. */
const LIMIT = 1_500;
const MODULE = "jsr:@std/assert@1/assertion-error";

if (await Promise.race([loads(MODULE), late()])) {
  console.error("Standard library: @std from JSR");
} else {
  console.error(
    "Standard library: the stand-ins of compat/, since JSR is out of reach",
  );
  console.log("--import-map=compat/import_map.json");
}
Deno.exit();

async function loads(specifier: string): Promise<boolean> {
  try {
    await import(specifier);
    return true;
  } catch {
    return false;
  }
}

function late(): Promise<boolean> {
  return new Promise((resolve) => setTimeout(() => resolve(false), LIMIT));
}
