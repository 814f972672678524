/** Owns which statuses have no body. */

/** The statuses without a body (Fetch standard, "null body status"), but 103, which Deno never sends. */
export const NULL_BODY: ReadonlySet<number> = new Set([101, 204, 205, 304]);
