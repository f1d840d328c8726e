/** Whether harm may be done in a data folder: never to a champion that was made without it, unless somebody says so. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { translateFault } from "../../../../adapters/sqlite/faults.ts";
import { OperatingError } from "../../../../kernel/index.ts";

const markOf = (dataDir: string): string => join(dataDir, "chaos", "made-with-chaos");

function hasChampion(dataDir: string): boolean {
  const path = join(dataDir, "coordination.db");
  if (!existsSync(path)) return false;
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
    const isKnown = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'champion_history'").all().length > 0;
    return isKnown && db.prepare("SELECT 1 FROM champion_history LIMIT 1").all().length > 0;
  } catch (thrown) {
    throw translateFault(thrown);
  } finally {
    db?.close();
  }
}

/** Refuses a folder whose champion was made without chaos; otherwise marks it. */
export function allowChaos(dataDir: string, yes: boolean): void {
  if (!yes && !existsSync(markOf(dataDir)) && hasChampion(dataDir))
    throw new OperatingError("USAGE_CHAOS", `${dataDir} has a champion that was made without --chaos`, {
      hint: "Choose another --data-dir, or say --yes: files of this one will be damaged on purpose.",
    });
  mkdirSync(join(dataDir, "chaos"), { recursive: true, mode: 0o700 });
  writeFileSync(markOf(dataDir), "Harm was done here on purpose: see 'ringrift train --chaos'.\n", { mode: 0o600 });
}

/** What is made from here on is made without. */
export const forgetChaos = (dataDir: string): void => rmSync(markOf(dataDir), { force: true });
