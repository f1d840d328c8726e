/** The reports of the runs of a folder: one file for each, and the newest under a name that stays. */
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = "reports";
const NEWEST = "report.html";
/** The oldest give way: a folder that is trained in for years stays small. */
const MAX_REPORTS = 50;

/** The moment as a name that sorts by time, on every file system. */
const nameOf = (at: number): string => `${new Date(at).toISOString().slice(0, 19).replaceAll(":", "-")}Z.html`;

/** Keeps a report; gives the file that always holds the newest. */
export function keepReport(dataDir: string, html: string, at: number, max = MAX_REPORTS): string {
  const folder = join(dataDir, FOLDER);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const kept = join(folder, nameOf(at));
  writeFileSync(kept, html, { mode: 0o600 });
  const newest = join(dataDir, NEWEST);
  copyFileSync(kept, newest);
  const reports = readdirSync(folder).filter((name) => name.endsWith(".html"));
  for (const old of reports.sort().slice(0, -max)) rmSync(join(folder, old), { force: true });
  return newest;
}
