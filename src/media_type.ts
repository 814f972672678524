/** Owns which media types are JSON, in requests and in responses. */

/** Matches a Content-Type of JSON, such as `application/json` or `application/problem+json`. */
export const JSON_TYPE =
  /^\s*(?:(?:application|text)\/|[^/;\s]+\/[^;\s]+\+)json\s*(?:;|$)/i;
