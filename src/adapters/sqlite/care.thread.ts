/** One chore on the database, on a thread and a connection of its own; the thread ends with it. */
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "../../kernel/index.ts";
import { translateFault } from "./faults.ts";
import { openReader } from "./writer.ts";

export interface CareOptions {
  readonly path: string;
  readonly chore: "check" | "truncate_wal";
}

/** What was found wrong, or whether it was done. */
export type CareAnswer =
  | { readonly problems: readonly string[] }
  | { readonly done: boolean }
  | { readonly error: string };

/** More say nothing new. */
const MAX_PROBLEMS = 20;
/** While the log is cut, commits wait: nobody may make them wait longer than this. */
const CUT_TIMEOUT_MS = 100;

function check(path: string): CareAnswer {
  const db = openReader(path);
  try {
    const rows = db.prepare(`PRAGMA quick_check(${MAX_PROBLEMS})`).all() as { quick_check: string }[];
    return { problems: rows.map((row) => row.quick_check).filter((line) => line !== "ok") };
  } catch (thrown) {
    // What cannot even be read through is found here as well.
    return { problems: [messageOf(translateFault(thrown))] };
  } finally {
    db.close();
  }
}

function truncateWal(path: string): CareAnswer {
  const db = new DatabaseSync(path, { timeout: CUT_TIMEOUT_MS });
  try {
    // First what needs nobody to wait; then little is left to copy while commits do.
    db.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
    const { busy } = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get() as { busy: number };
    return { done: busy === 0 };
  } finally {
    db.close();
  }
}

function run({ path, chore }: CareOptions): CareAnswer {
  try {
    return chore === "check" ? check(path) : truncateWal(path);
  } catch (thrown) {
    return { error: messageOf(translateFault(thrown)) };
  }
}

parentPort?.postMessage(run(workerData as CareOptions));
