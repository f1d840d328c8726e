/** The journal, and what processes that were killed left beside it. */
import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { translateFault } from "../../../adapters/sqlite/faults.ts";
import { messageOf } from "../../../kernel/index.ts";
import { bytes, duration, plural } from "../../../surfaces/cli/index.ts";
import { ENDPOINT_FILE } from "../../../surfaces/index.ts";
import { findHolder, isGone } from "../own-process.ts";
import { type Check, type Finding, fail, ok, type Patient, warn } from "./finding.ts";

const RESTORE = "Stop, keep a copy of the data folder, and restore coordination.db from a backup.";
const MOST_AHEAD_MS = 60_000;

function look(path: string): { readonly problems: readonly string[]; readonly newestAt: number | null } {
  let db: DatabaseSync | undefined;
  try {
    const open = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
    db = open;
    const rows = open.prepare("PRAGMA quick_check(5)").all() as { quick_check: string }[];
    const problems = rows.map(({ quick_check }) => quick_check).filter((line) => line !== "ok");
    const known = open.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'events'").all();
    const [newest] =
      known.length === 0
        ? []
        : (open.prepare("SELECT timestamp FROM events ORDER BY seq DESC LIMIT 1").all() as { timestamp: number }[]);
    return { problems, newestAt: newest === undefined ? null : newest.timestamp * 1_000 };
  } finally {
    db?.close();
  }
}

/** The whole file is read for it, so it is done when nothing runs. */
export const checkJournal: Check = ({ dataDir, running, clock }) => {
  const path = join(dataDir, "coordination.db");
  if (!existsSync(path)) return [ok("journal", "none yet")];
  const size = bytes(
    [path, `${path}-wal`].reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0),
  );
  if (running !== undefined) return [ok("journal", `${size}, in use; it is checked when nothing runs`)];
  try {
    const { problems, newestAt } = look(path);
    if (problems.length > 0) return [fail("journal", `damaged: ${problems[0]}`, RESTORE)];
    const aheadMs = (newestAt ?? 0) - clock.now();
    const sound = ok("journal", `${size}, sound`);
    if (aheadMs <= MOST_AHEAD_MS) return [sound];
    const text = `the newest event is ${duration(aheadMs)} ahead of the clock`;
    return [sound, warn("clock", text, "The clock went back: set it by NTP before you start.")];
  } catch (thrown) {
    return [fail("journal", messageOf(translateFault(thrown)), RESTORE)];
  }
};

/** Processes that have files of the folder open although no main process runs, where the system shows them. */
function strangers(dataDir: string): number[] {
  if (process.platform !== "linux") return [];
  const within = `${realpathSync(dataDir)}${sep}`;
  const reaches = (pid: string): boolean => {
    try {
      const folder = join("/proc", pid, "fd");
      return readdirSync(folder).some((fd) => readlinkSync(join(folder, fd)).startsWith(within));
    } catch {
      // It has ended, or is not ours to look at.
      return false;
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid && reaches(name))
    .map(Number);
}

function ofEndpoint({ dataDir }: Patient): Finding[] {
  const path = join(dataDir, ENDPOINT_FILE);
  if (!existsSync(path)) return [];
  const hint = "The next start clears it away; 'ringrift events history' shows how far the journal came.";
  try {
    const { pid } = JSON.parse(readFileSync(path, "utf8")) as { pid: number };
    if (isGone(pid)) return [warn("leftovers", `process ${pid} was killed and left its address behind`, hint)];
    return [warn("leftovers", `${path} names process ${pid}, which does not answer`, "'ringrift down' ends it.")];
  } catch {
    return [warn("leftovers", `${path} is damaged`, hint)];
  }
}

export const checkLeftovers: Check = (patient) => {
  const { dataDir, exists, running } = patient;
  if (!exists || running !== undefined) return [];
  const holder = findHolder(dataDir);
  if (holder !== undefined)
    return [
      fail("leftovers", `process ${holder} holds the folder and does not answer`, "'ringrift down --force' ends it."),
    ];
  const found = ofEndpoint(patient);
  const pids = strangers(dataDir);
  if (pids.length > 0)
    found.push(
      warn(
        "leftovers",
        `${plural(pids.length, "process", "processes")} ${pids.length === 1 ? "has" : "have"} files of the folder open: ${pids.slice(0, 10).join(", ")}`,
        "Are they workers of a main process that was killed? End them by their numbers.",
      ),
    );
  const half = readdirSync(dataDir).filter((name) => name.endsWith(".new"));
  if (half.length > 0)
    found.push(
      warn("leftovers", `half-written: ${half.join(", ")}`, "A start was cut off; the next one writes them anew."),
    );
  return found.length === 0 ? [ok("leftovers", "none")] : found;
};
