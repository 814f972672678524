/**
 * Owns the choices that optional parts leave: it turns the pieces of a pattern into plain rows of
 * segments, one for every choice.
 */

import type { Part } from "./segment.ts";

/** What a pattern is made of, in order; a group is an optional part. */
export type Piece =
  | Flat
  | { readonly kind: "group"; readonly pieces: readonly Piece[] };

type Flat = Part | { readonly kind: "slash" };

/** One choice of optional parts. */
export interface Row {
  readonly segments: readonly (readonly Part[])[];
  /** Whether a slash was written at the end. */
  readonly slash: boolean;
}

/** Ends with an error about the pattern. */
type Fail = (problem: string, at: number) => never;

/** How many choices a pattern may leave: those of ten independent parts. */
const mostRows = 1_024;

/** Every choice, in the order in which they are tried: a part that is there comes first. */
export function rowsOf(pieces: readonly Piece[], fail: Fail): Row[] {
  return choices(pieces, fail).map((row) => rowOf(row, fail));
}

function choices(pieces: readonly Piece[], fail: Fail): Flat[][] {
  let rows: Flat[][] = [[]];
  for (const piece of pieces) {
    const added = piece.kind === "group"
      ? [...choices(piece.pieces, fail), []]
      : [[piece]];
    rows = rows.flatMap((row) => added.map((more) => [...row, ...more]));
    if (rows.length > mostRows) {
      fail(`has over ${mostRows} choices of optional parts`, 0);
    }
  }
  return rows;
}

/** Cuts a row at its slashes. Empty segments, which doubled slashes leave, do not count. */
function rowOf(pieces: readonly Flat[], fail: Fail): Row {
  const segments: Part[][] = [[]];
  for (const piece of pieces) {
    if (piece.kind === "slash") segments.push([]);
    else segments.at(-1)!.push(piece);
  }
  const filled = segments.filter((parts) => parts.length > 0);
  for (const parts of filled) {
    const star = parts.find((part) => part.kind === "star");
    if (star && parts.length > 1) {
      fail("has a * that does not stand alone between slashes", star.at);
    }
  }
  const slash = segments.at(-1)!.length === 0 && filled.length > 0;
  return { segments: filled, slash };
}
