/** Owns reading the address of a client, as a connection or a proxy gives it. */

/** An address, perhaps in brackets, with a port, or IPv4 mapped to IPv6. */
const ADDRESS =
  /^(?:::ffff:)?(?<ip4>\d+(?:\.\d+){3})(?::\d+)?$|^\[?(?<ip6>[\da-f:.]+)(?:\](?::\d+)?)?$/i;

/**
 * The first address of a list such as `192.0.2.1:80, [2001:db8::1]:80`, also of a mapped one
 * (`::ffff:192.0.2.1`) or `for="[2001:db8::1]";proto=https` (RFC 7239, section 4); "" when it is not valid.
 */
export function addressOf(list: string): string {
  const first = list.split(",", 1)[0]!;
  const node = /(?:^|;)\s*for="?([^;"]*)/i.exec(first)?.[1] ?? first;
  const { ip4, ip6 } = ADDRESS.exec(node.trim())?.groups ?? {};
  const address = ip4 ?? ip6 ?? "";
  const host = ip6 === undefined ? address : `[${ip6}]`;
  return URL.canParse(`http://${host}`) ? address : "";
}
