/** The journal, and what processes that were killed left beside it. */
import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { messageOf } from "../../../kernel/index.ts";
import { bytes, duration, plural } from "../../../surfaces/commands/index.ts";
import { ENDPOINT_FILE } from "../../../surfaces/index.ts";
import { lostJournal } from "../../data-folder/lost-journal.ts";
import { findHolder, isGone } from "../../data-folder/own-process.ts";
import { openFolder } from "../read-folder.ts";
import { type Check, type Finding, fail, ok, type Patient, warn } from "./finding.ts";

const RESTORE = "Stop, keep a copy of the data folder, and restore coordination.db from a backup.";
const MAX_AHEAD_MS = 60_000;

/** What the database says of itself, and when the newest event happened. */
function look(dataDir: string): { readonly problems: readonly string[]; readonly newestAt: number } {
  const folder = openFolder(dataDir)!;
  try {
    const rows = folder.read<{ quick_check: string }>("PRAGMA quick_check(5)");
    const problems = rows.map(({ quick_check }) => quick_check).filter((line) => line !== "ok");
    const known = folder.read("SELECT 1 FROM sqlite_schema WHERE name = 'events'").length > 0;
    const newest = "SELECT timestamp FROM events ORDER BY seq DESC LIMIT 1";
    const [event] = known ? folder.read<{ timestamp: number }>(newest) : [];
    return { problems, newestAt: (event?.timestamp ?? 0) * 1_000 };
  } finally {
    folder.close();
  }
}

/** The whole file is read for it, so it is done when nothing runs. */
export const checkJournal: Check = ({ dataDir, running, clock }) => {
  const path = join(dataDir, "coordination.db");
  const lost = lostJournal(dataDir);
  if (lost !== undefined) return fail("journal", lost.message, lost.hint ?? RESTORE);
  if (!existsSync(path)) return ok("journal", "none yet");
  const size = bytes(
    [path, `${path}-wal`].reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0),
  );
  if (running !== undefined) return ok("journal", `${size}, in use; it is checked when nothing runs`);
  try {
    const { problems, newestAt } = look(dataDir);
    if (problems.length > 0) return fail("journal", `damaged: ${problems[0]}`, RESTORE);
    const aheadMs = newestAt - clock.now();
    const sound = ok("journal", `${size}, sound`);
    if (aheadMs <= MAX_AHEAD_MS) return [sound];
    const text = `the newest event is ${duration(aheadMs)} ahead of the clock`;
    return [sound, warn("clock", text, "The clock went back: set it by NTP before you start.")];
  } catch (thrown) {
    return fail("journal", messageOf(thrown), RESTORE);
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

function ofEndpoint({ dataDir }: Patient): Finding | undefined {
  const path = join(dataDir, ENDPOINT_FILE);
  if (!existsSync(path)) return undefined;
  const hint = "The next start clears it away; 'ringrift events history' shows how far the journal came.";
  try {
    const { pid } = JSON.parse(readFileSync(path, "utf8")) as { pid: number };
    if (isGone(pid)) return warn("leftovers", `process ${pid} was killed and left its address behind`, hint);
    return warn("leftovers", `${path} names process ${pid}, which does not answer`, "'ringrift down' ends it.");
  } catch {
    return warn("leftovers", `${path} is damaged`, hint);
  }
}

export const checkLeftovers: Check = (patient) => {
  const { dataDir, exists, running } = patient;
  if (!exists || running !== undefined) return [];
  const holder = findHolder(dataDir);
  if (holder !== undefined)
    return fail(
      "leftovers",
      `process ${holder} holds the folder and does not answer`,
      "'ringrift down --force' ends it.",
    );
  const found = [ofEndpoint(patient) ?? []].flat();
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
      warn(
        "leftovers",
        `half-written: ${half.join(", ")}`,
        "A start was interrupted; the next start writes them again.",
      ),
    );
  return found.length === 0 ? [ok("leftovers", "none")] : found;
};
