/** Owns which methods change nothing, and which a form may ask for. */

/** The methods that change nothing (RFC 9110, section 9.2.1): `guard` lets them pass. */
export const SAFE_METHODS: ReadonlySet<string> = new Set(
  ["GET", "HEAD", "OPTIONS", "TRACE"],
);

/** The methods that a form can ask for by `_method`. None is safe: another site could make a form pass by it. */
export const OVERRIDES: readonly string[] = ["PUT", "PATCH", "DELETE"];
