/** Processes that are not our children, known by their number and by when they began. */
import { readFileSync } from "node:fs";
import { systemCode } from "../../../kernel/index.ts";

/** Fields after the name, which may hold anything. */
const STATE = 0;
const START_TIME = 19;

const statOf = (pid: number): string[] | undefined => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
};

/** When a process began, in ticks of the system; null where the system does not tell. */
export const startTimeOf = (pid: number): string | null => statOf(pid)?.[START_TIME] ?? null;

/** Whether this very process still runs. One that has ended and was not waited for does not. */
export function isAlive(pid: number, started: string | null): boolean {
  const stat = statOf(pid);
  if (stat !== undefined) return stat[STATE] !== "Z" && (started === null || stat[START_TIME] === started);
  if (started !== null) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return systemCode(thrown) === "EPERM";
  }
}
