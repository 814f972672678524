/** Owns sealed cookies: opening them, and the lines by which clients keep and forget them. */

import { defaults, seal, unseal } from "npm:iron-webcrypto@^2.0.0";
import type { Engine, Framework } from "../../mod.ts";
import { basePath } from "../paths.ts";
import type { Rules } from "./options.ts";

/** The keys of iron, both of 256 bits. */
interface Keys {
  readonly encryption: Uint8Array;
  readonly integrity: Uint8Array;
}

/** The keys of each secret: iron would derive them again for each cookie, in half of its time. */
const derived = new Map<string, Promise<Keys>>();

/** A cookie whose content clients can neither read nor change. */
export class SealedCookie {
  constructor(
    readonly app: Engine | typeof Framework,
    readonly rules: Rules,
    readonly name: string,
  ) {}

  /** Whether the client has sent it. */
  get isSent(): boolean {
    return this.app.request().cookies[this.name] !== undefined;
  }

  /** The content; undefined when the client has sent none, or it was not sealed here. */
  async open(): Promise<unknown[] | undefined> {
    const cookie = this.app.request().cookies[this.name];
    if (cookie === undefined) return;
    for (const secret of this.rules.secrets) {
      const keys = { default: await keysOf(secret) };
      const content = await unseal(cookie, keys, defaults).catch(() => {});
      // The name is sealed, too, so that one cookie is not taken for another.
      if (Array.isArray(content) && content[0] === this.name) {
        return content.slice(1);
      }
    }
  }

  /** Adds the cookie to the headers of a response: in `send`, it is too late for `response().cookie()`. */
  async append(
    headers: Headers,
    content: readonly unknown[],
    seconds: number,
  ): Promise<void> {
    const keys = await keysOf(this.rules.secrets[0]!);
    const sealed = await seal([this.name, ...content], keys, defaults);
    const maxAge = this.rules.persistent ? Math.ceil(seconds) : undefined;
    this.#appendLine(headers, sealed, maxAge);
  }

  /** Has a client that has sent the cookie forget it. */
  remove(headers: Headers): void {
    if (this.isSent) this.#appendLine(headers, "", 0);
  }

  #appendLine(headers: Headers, value: string, maxAge?: number): void {
    const { domain, sameSite, secure = this.app.request().secure } = this.rules;
    const line = [
      `${this.name}=${value}`,
      maxAge !== undefined && `Max-Age=${maxAge}`,
      `Path=${this.#path}`,
      domain !== undefined && `Domain=${domain}`,
      "HttpOnly",
      `SameSite=${sameSite}`,
      (secure || sameSite === "None") && "Secure",
    ];
    headers.append("set-cookie", line.filter(Boolean).join("; "));
    forbidSharing(headers);
  }

  get #path(): string {
    const isHost = this.rules.name.startsWith("__Host-"); // RFC 6265bis, section 4.1.3.2
    const base = isHost ? "" : this.app.get("framework.base_url");
    return this.rules.path ?? (basePath(base) || "/");
  }
}

function keysOf(secret: string): Promise<Keys> {
  const keys = derived.get(secret) ?? deriveKeys(secret);
  derived.set(secret, keys);
  return keys;
}

/** Both keys from a random secret. */
async function deriveKeys(secret: string): Promise<Keys> {
  const bytes = new TextEncoder().encode(`session ${secret}`);
  const hash = await crypto.subtle.digest("SHA-512", bytes);
  return {
    encryption: new Uint8Array(hash, 0, 32),
    integrity: new Uint8Array(hash, 32),
  };
}

/** Keeps shared caches from storing the cookie. */
function forbidSharing(headers: Headers): void {
  const directives = (headers.get("cache-control") ?? "").split(",")
    .map((directive) => directive.trim())
    .filter((directive) => !/^(?:(?:public|private)\b.*)?$/i.test(directive));
  headers.set("cache-control", [...directives, "private"].join(", "));
}
