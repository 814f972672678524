/** Owns the names of what is measured, and the files of its servers in `contenders/`. */

export const OURS = "framework";
export const HONO = "Hono";

/** Contenders by name, the bare server first. */
export const CONTENDERS: Readonly<Record<string, string>> = {
  bare: "bare.ts",
  floor: "floor.ts",
  [OURS]: "framework.ts",
  [HONO]: "hono.ts",
  "Hono, contextStorage": "hono_storage.ts",
};
