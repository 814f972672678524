/** Owns reading and changing the rows of a store: no change brings back a session that has ended. */

import type { MaybePromise } from "../../mod.ts";
import { sessionOf, type SessionState } from "./session.ts";

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

/**
 * Writes the keys that the request has changed into the row of its session, and deletes the row of a former id.
 * Resolves to `ended` when nothing is left in the session, and to `dropped` when it had ended before: then
 * nothing was written.
 */
export function changeRow(
  store: SessionStore,
  state: SessionState,
  expires: Date,
): Promise<"kept" | "ended" | "dropped"> {
  const { id, found, values, isCleared } = state;
  return inTurn(found ?? id, async () => {
    let kept = [...values];
    if (found && !isCleared) {
      const others = sessionOf(found, await store.read(found));
      if (others === undefined) return "dropped";
      kept = state.mergedInto(others.values);
    }
    if (kept.length > 0) await store.write(id, state.row(kept), expires);
    const isOver = kept.length === 0 || id !== found;
    if (found && isOver) await store.remove(found);
    return kept.length > 0 ? "kept" : "ended";
  });
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
