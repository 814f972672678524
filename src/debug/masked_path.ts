/** Owns the path of a request as a developer sees it: without the values of parameters that are secrets. */

import type { Exchange } from "../application/exchange.ts";
import { decodeEscapes } from "../path_text.ts";
import { MASK, SECRETS } from "../secrets.ts";

/** An encoded path with each segment hidden that has the value of a secret parameter, of a mounted application, too. */
export function maskedPath(path: string, { nesting }: Exchange): string {
  const secrets = nesting.flatMap(({ match }) =>
    Object.entries(match?.params ?? {})
  )
    .filter(([name, value]) => value && SECRETS.test(name))
    .map(([, value]) => value!);
  if (secrets.length === 0) return path;
  const hide = (segment: string): string => {
    const text = decodeEscapes(segment) ?? segment;
    return secrets.some((secret) => text.includes(secret)) ? MASK : segment;
  };
  return path.split("/").map(hide).join("/");
}
