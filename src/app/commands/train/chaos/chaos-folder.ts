/** Whether harm may be done in a data folder: never to a champion that was made without it, unless somebody says so. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OperatingError } from "../../../../kernel/index.ts";
import { readFolder } from "../../read-folder.ts";

const markOf = (dataDir: string): string => join(dataDir, "chaos", "made-with-chaos");

const hasChampion = (dataDir: string): boolean =>
  readFolder(dataDir, "champion_history", (read) => read("SELECT 1 FROM champion_history LIMIT 1").length > 0) ?? false;

/** Refuses a folder whose champion was made without chaos; otherwise marks it. */
export function allowChaos(dataDir: string, yes: boolean): void {
  if (!yes && !existsSync(markOf(dataDir)) && hasChampion(dataDir))
    throw OperatingError.invalid("USAGE_CHAOS", `${dataDir} has a champion that was trained without --chaos`, {
      hint: "Choose another --data-dir. Or give --yes: then files in this folder will be damaged on purpose.",
    });
  mkdirSync(join(dataDir, "chaos"), { recursive: true, mode: 0o700 });
  writeFileSync(markOf(dataDir), "Harm was done here on purpose: see 'ringrift train --chaos'.\n", { mode: 0o600 });
}

/** What is made from here on is made without. */
export const forgetChaos = (dataDir: string): void => rmSync(markOf(dataDir), { force: true });
