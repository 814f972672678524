/** Owns the form in which a session is kept between requests: as the row of a store, or in its cookie. */

/** Keys with their values: a list, since a client may have chosen a key such as `__proto__`. */
export type Entries = [key: string, value: unknown][];

/** What the application keeps in a session. */
export interface Content {
  readonly values: Entries;
  readonly flashes: Entries;
}

/** What is kept of a session. Times are in seconds since 1970. */
export interface StoredSession extends Content {
  readonly id: string;
  /** When it began, or was renewed. */
  readonly started: number;
  /** When it was last used. */
  readonly used: number;
}

/** Whether nothing is left in a session. */
export function isEmpty({ values, flashes }: Content): boolean {
  return values.length + flashes.length === 0;
}

/** The row of a session, which a store keeps under the id. */
export function rowOf(
  { id: _id, ...row }: StoredSession,
): Record<string, unknown> {
  return row;
}

/** The session of a row; undefined for what is no row of a session. */
export function sessionOfRow(
  id: string,
  row: object,
): StoredSession | undefined {
  const { started, used, values, flashes }: Partial<Members> = row;
  return checked({ id, started, used, values, flashes });
}

/** A session as the content of its cookie, which is short on names. */
export function cookieOf(session: StoredSession): readonly unknown[] {
  const { id, started, used, values, flashes } = session;
  return [id, started, used, values, flashes];
}

/** The session of a cookie's content; undefined for what is no session. */
export function sessionOfCookie(
  [id, started, used, values, flashes]: readonly unknown[],
): StoredSession | undefined {
  return checked({ id, started, used, values, flashes });
}

/** All that a session has, unchecked. */
type Members = Record<keyof StoredSession, unknown>;

function checked(members: Members): StoredSession | undefined {
  const { id, started, used, values, flashes } = members;
  if (typeof id !== "string" || !isTime(started) || !isTime(used)) return;
  if (!isEntries(values) || !isEntries(flashes)) return;
  return { id, started, used, values, flashes };
}

function isTime(value: unknown): value is number {
  return Number.isFinite(value);
}

function isEntries(value: unknown): value is Entries {
  return Array.isArray(value) &&
    value.every((entry) =>
      Array.isArray(entry) && entry.length === 2 && typeof entry[0] === "string"
    );
}
