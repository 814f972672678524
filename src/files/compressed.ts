/** Owns the choice of a compressed form: which ones exist next to a file, and which of them a client accepts. */

import { type VisibleFile, visibleFile } from "./visible_file.ts";

/** A file that was compressed beforehand. */
export interface Compressed extends VisibleFile {
  /** The coding for `Content-Encoding`. */
  readonly coding: "br" | "gzip";
}

/** The codings and their extensions, the smaller form first. */
const CODINGS = [["br", ".br"], ["gzip", ".gz"]] as const;

/** Finds the compressed forms next to a file in a folder; one that is older than the file is out of date. */
export async function compressedForms(
  folder: string,
  { name, fileInfo: { mtime } }: VisibleFile,
): Promise<Compressed[]> {
  const forms = CODINGS.map(async ([coding, extension]) => {
    const found = await visibleFile(folder, name + extension);
    if (!found?.fileInfo.isFile) return [];
    const isCurrent = Number(found.fileInfo.mtime) >= Number(mtime);
    return isCurrent ? [{ ...found, coding }] : [];
  });
  return (await Promise.all(forms)).flat();
}

/**
 * The form that a client prefers by its `Accept-Encoding`; undefined for the file itself, as without the
 * header (RFC 9110, section 12.5.3).
 */
export function preferred(
  forms: readonly Compressed[],
  accepted: string,
): Compressed | undefined {
  const qualities = qualitiesOf(accepted);
  const others = qualities.get("*") ?? 0;
  let best: Compressed | undefined;
  let most = qualities.get("identity") ?? 0;
  for (const form of forms) {
    const quality = qualities.get(form.coding) ?? others;
    const isBetter = best === undefined ? quality >= most : quality > most;
    if (quality > 0 && isBetter) [best, most] = [form, quality];
  }
  return best;
}

function qualitiesOf(accepted: string): Map<string, number> {
  const qualities = new Map<string, number>();
  for (const item of accepted.toLowerCase().split(",")) {
    const [coding, ...params] = item.split(";").map((part) => part.trim());
    const quality = params.find((param) => /^q\s*=/.test(param));
    if (coding) qualities.set(coding, qualityOf(quality));
  }
  return qualities;
}

function qualityOf(param = "q=1"): number {
  const quality = Number(param.slice(param.indexOf("=") + 1));
  return quality >= 0 && quality <= 1 ? quality : 0;
}
