/** The processes of a program and of all that it started, as /proc shows them. Where there is no /proc, nothing is known. */
import { readdirSync, readFileSync } from "node:fs";

interface Row {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly memoryBytes: number;
}

const PAGE_BYTES = 4_096;

const rowOf = (pid: number): Row | undefined => {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    // It ended while we looked.
    return undefined;
  }
  // The name stands in brackets and may hold anything.
  const [state, parent, group, session, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // One that is dead and only waits to be asked for its exit code runs no more.
  if (state === "Z" || state === "X") return undefined;
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    memoryBytes: Number(rest[17]) * PAGE_BYTES,
  };
};

/** All processes that run now; undefined where the system does not tell. */
export function processTable(): readonly Row[] | undefined {
  let names: string[];
  try {
    names = readdirSync("/proc");
  } catch {
    return undefined;
  }
  const rows = names.flatMap((name) => (/^\d+$/.test(name) ? (rowOf(Number(name)) ?? []) : []));
  return rows.length === 0 ? undefined : rows;
}

const carries = (pid: number, cookie: string): boolean => {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").includes(cookie);
  } catch {
    return false;
  }
};

export interface Watched {
  /** A text in the environment that the program hands on to all that it starts. */
  readonly cookie: string;
  /** Its process, which leads a group and a session; unknown until it has started. */
  readonly pid: number | undefined;
}

/**
 * Who belongs to a program: its group, its session, whoever descends from one of them, and, with `thorough`, whoever has
 * left all of these and still carries the cookie.
 */
export function membersOf(rows: readonly Row[], { pid, cookie }: Watched, thorough: boolean): Row[] {
  const members = new Set<number>();
  for (const row of rows)
    if (
      (pid !== undefined && (row.pid === pid || row.group === pid || row.session === pid)) ||
      (thorough && row.pid !== process.pid && carries(row.pid, cookie))
    )
      members.add(row.pid);
  for (let grown = members.size > 0; grown; ) {
    grown = false;
    for (const row of rows)
      if (members.has(row.parent) && !members.has(row.pid)) {
        members.add(row.pid);
        grown = true;
      }
  }
  return rows.filter((row) => members.has(row.pid));
}
