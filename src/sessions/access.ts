/**
 * Owns what an application has of the session of a request. An application that is mounted shares the session of the
 * one around it, which keeps it: two cookies of one name would undo each other.
 */

import type { HttpRequest } from "../../mod.ts";
import { OUTER_REQUEST } from "../extension_keys.ts";
import { type CookieRules, pathOf } from "./seal.ts";
import type { SessionState } from "./session.ts";
import type { SessionStore } from "./store.ts";

/** The options, checked, with the defaults. */
export interface Rules extends CookieRules {
  readonly maxAge: number;
  readonly idle: number;
  readonly store?: SessionStore;
}

/** What one application has of the session of one request. */
export class Access {
  readonly rules: Rules;
  /** That of the application around it, when the session is shared. */
  readonly outer: Access | undefined;
  /** The headers of the response, once the filter of `send` has had them. */
  headers: Headers | undefined;
  #state: SessionState | undefined;
  #closed: string | undefined;

  constructor(request: HttpRequest, rules: Rules) {
    this.rules = rules;
    this.outer = accessAround(request, rules);
  }

  /** The session; undefined until it was opened or used. */
  get state(): SessionState | undefined {
    return this.outer === undefined ? this.#state : this.outer.state;
  }

  set state(state: SessionState | undefined) {
    if (this.outer === undefined) this.#state = state;
    else this.outer.state = state;
  }

  /** Why the session cannot be changed; undefined while it can. */
  get closed(): string | undefined {
    return this.#closed ?? this.outer?.closed;
  }

  close(why: string): void {
    this.#closed = why;
  }
}

/** The sessions that a request shares with mounted applications: an application may have several. */
const shared = new WeakMap<HttpRequest, Access[]>();

/** Lets the applications that are mounted share a session. */
export function share(request: HttpRequest, access: Access): void {
  const others = shared.get(request) ?? [];
  shared.set(request, [...others, access]);
}

/** What the nearest application around has of the session that rules describe. */
function accessAround(
  { [OUTER_REQUEST]: outer }: HttpRequest,
  rules: Rules,
): Access | undefined {
  if (outer === undefined) return;
  const access = shared.get(outer)
    ?.find((each) => isOneSession(each.rules, rules));
  return access ?? accessAround(outer, rules);
}

/** The rules with the path that the cookie has. */
function withPath(rules: Rules): Rules {
  return { ...rules, path: pathOf(rules) };
}

/** Whether two rules describe one session, wherever their applications are on the site. */
export function isOneSession(one: Rules, other: Rules): boolean {
  return isSame(one, other) || isSame(withPath(one), withPath(other));
}

function isSame(one: Rules, other: Rules): boolean {
  return one.store === other.store && textOfRules(one) === textOfRules(other);
}

/**
 * All other options, so that a new one counts, unless it is a function. The base of an application counts by the path
 * of the cookie alone.
 */
function textOfRules(
  { store: _store, baseUrl: _baseUrl, ...compared }: Rules,
): string {
  const given = Object.entries(compared)
    .filter(([, value]) => value !== undefined);
  return JSON.stringify(given.sort());
}
