/** Owns reading and changing the rows of a store: no change brings back a session that has ended. */

import type { MaybePromise } from "../../mod.ts";
import { isPlainRecord } from "../plain_record.ts";
import { type SessionState, storedOf } from "./session.ts";
import {
  isEmpty,
  rowOf,
  sessionOfRow,
  type StoredSession,
} from "./stored_session.ts";

/**
 * Where sessions are kept when a cookie is too small, or a logout must end every copy. Each method may be
 * asynchronous; an error in one is an error of the request.
 */
export interface SessionStore {
  /** The values that were written last under an id, even when they have expired; undefined or null without any. */
  read(
    id: string,
  ): MaybePromise<Readonly<Record<string, unknown>> | null | undefined>;
  /**
   * Keeps the values under an id. Their form is that of the extension, which JSON can represent: keep data
   * to search by elsewhere. From `expires` on, the row may be deleted.
   */
  write(id: string, values: Record<string, unknown>, expires: Date): unknown;
  /** Deletes the row of an id, if there is one. */
  remove(id: string): unknown;
}

/** The changes under way in this process: the last one of each session, by id. */
const turns = new Map<string, Promise<unknown>>();

/** The new ids that this process has given to sessions lately, by the old ones. */
const renewed = new Map<string, string>();

/** How many renewals are remembered: only those during a logout matter. */
const MAX_RENEWED = 1_000;

/** The session that a store keeps under an id; undefined when there is none. Throws `TypeError` for anything else. */
export async function readSession(
  store: SessionStore,
  id: string,
): Promise<StoredSession | undefined> {
  const read: unknown = await store.read(id);
  if (read === undefined || read === null) return;
  const row: object = Object(read);
  // A store in memory may return the very object that other requests get.
  const stored = sessionOfRow(id, structuredClone(row));
  if (stored !== undefined) return stored;
  const rule = 'the store must return what "write" was given';
  throw new TypeError(`Cannot read the session: ${rule}, got ${kindOf(row)}`);
}

/** What a row is, without its values: the log is no place for them. */
function kindOf(row: object): string {
  return isPlainRecord(row)
    ? `a record with the names ${Deno.inspect(Object.keys(row))}`
    : Object.prototype.toString.call(row);
}

/** Deletes the row of a session, after the changes of it that are under way. */
export async function removeSession(
  store: SessionStore,
  id: string,
): Promise<void> {
  await inTurn(id, async () => {
    await store.remove(id);
  });
}

/**
 * Writes the keys that the request has changed into the row of its session, and deletes the row of a former id.
 * Resolves to `ended` when nothing is left in the session, and to `dropped` when it had ended before: then
 * nothing was written.
 */
export function changeSession(
  store: SessionStore,
  state: SessionState,
  expires: Date,
): Promise<"kept" | "ended" | "dropped"> {
  const { id, opened, isCleared } = state;
  return inTurn(opened ?? id, async () => {
    const isNew = opened === undefined || isCleared;
    const others = isNew ? undefined : await readSession(store, opened);
    if (!isNew && others === undefined) return "dropped";
    const stored = storedOf(state, others);
    const isEnded = isEmpty(stored);
    if (!isEnded) await store.write(id, rowOf(stored), expires);
    const isOver = isEnded || id !== opened;
    if (opened !== undefined && isOver) await store.remove(opened);
    if (!isNew && isOver && !isEnded) noteRenewal(opened, id);
    if (opened !== undefined && isCleared) await removeRenewed(store, opened);
    return isEnded ? "ended" : "kept";
  });
}

function noteRenewal(old: string, id: string): void {
  renewed.set(old, id);
  const [oldest] = renewed.keys();
  if (renewed.size > MAX_RENEWED) renewed.delete(oldest!);
}

/** Deletes the sessions that the old one was renewed to while this logout was under way. */
async function removeRenewed(store: SessionStore, old: string): Promise<void> {
  for (let id = renewed.get(old); id !== undefined; id = renewed.get(id)) {
    await removeSession(store, id);
  }
}

/** Runs work after the other work of this process on the same id. */
async function inTurn<Result>(
  id: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const earlier = turns.get(id) ?? Promise.resolve();
  const turn = earlier.catch(() => {}).then(work);
  turns.set(id, turn);
  try {
    return await turn;
  } finally {
    if (turns.get(id) === turn) turns.delete(id);
  }
}
