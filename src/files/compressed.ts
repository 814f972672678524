/** Owns the choice of a compressed form: which ones exist next to a file, and which of them a client accepts. */

import type { FoundFile } from "../http.ts";
import { visibleFile } from "./visible_file.ts";

/** A file that was compressed beforehand. */
export interface Compressed extends FoundFile {
  /** The coding for `Content-Encoding`. */
  readonly coding: "br" | "gzip";
}

/** The codings and their extensions, the smaller form first. */
const CODINGS = [["br", ".br"], ["gzip", ".gz"]] as const;

/** Finds the compressed forms next to a file in a folder; one that is older than the file is out of date. */
export async function compressedForms(
  folder: string,
  name: string,
  { info: { mtime } }: FoundFile,
): Promise<Compressed[]> {
  const forms = CODINGS.map(async ([coding, extension]) => {
    const found = await visibleFile(folder, name + extension);
    const isCurrent = Number(found?.info.mtime) >= Number(mtime);
    return found && isCurrent ? [{ ...found, coding }] : [];
  });
  return (await Promise.all(forms)).flat();
}

/** The form that a client prefers by its `Accept-Encoding`; undefined for the file itself. */
export function preferredForm(
  forms: readonly Compressed[],
  accepted: string,
): Compressed | undefined {
  const qualities = forms.map(({ coding }) => qualityOf(coding, accepted));
  const best = Math.max(...qualities);
  const isBetter = best > 0 && best >= qualityOf("identity", accepted);
  return isBetter ? forms[qualities.indexOf(best)] : undefined;
}

/** How much a client wants a coding, from 0 to 1 (RFC 9110, section 12.5.3); what it does not name has 0. */
function qualityOf(coding: string, accepted: string): number {
  const items = accepted.toLowerCase().split(",")
    .map((item) => item.split(";").map((part) => part.trim()));
  const item = items.find(([name]) => name === coding) ??
    items.find(([name]) => name === "*");
  if (item === undefined) return 0;
  const [, quality = "1"] = /^q=(.*)/.exec(item[1] ?? "") ?? [];
  return Number(quality) || 0;
}
