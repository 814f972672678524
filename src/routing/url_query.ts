/** Owns the query of a URL that `getUrl` makes. */

import { wrongKind } from "../errors.ts";
import { checkRecord } from "../options.ts";
import { isPrintable, type UrlParameters } from "./pattern.ts";

/** The values of a query by name. A list repeats the name; null and undefined are left out. */
export type UrlQuery = Readonly<
  Record<string, UrlParameters[string] | readonly UrlParameters[string][]>
>;

/** The encoded query with its question mark, or nothing. Throws `TypeError` for what is not a record of values. */
export function queryText(query: UrlQuery): string {
  const action = "make the query of a URL";
  checkRecord(action, "it must be a record of values by name", query);
  const fields = new URLSearchParams();
  for (const [name, values] of Object.entries(query)) {
    for (const value of [values].flat()) {
      if (value === null || value === undefined) continue;
      if (!isPrintable(value)) {
        const rule = `"${name}" must be text, a number, a boolean or a list`;
        throw wrongKind(action, rule, value);
      }
      fields.append(name, String(value));
    }
  }
  return fields.size > 0 ? `?${fields}` : "";
}
