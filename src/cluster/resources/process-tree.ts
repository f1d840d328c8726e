/** The processes that a process has started, and theirs: what each takes of the machine. Linux tells it through /proc. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

export interface ProcessFigures {
  readonly pid: number;
  readonly parent: number;
  /** What it is, in a few words. */
  readonly name: string;
  readonly rssBytes: number | null;
  /** Open files and connections; null where we may not look. */
  readonly fds: number | null;
  readonly cpuSeconds: number;
  /** Processes that it has started itself and that still run. */
  readonly children: number;
}

/** On a machine with more processes than this, those of ours beyond it are not seen. */
const MAX_PROCESSES = 4_096;
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4_096;
const NAME_CHARACTERS = 80;
/** Fields of /proc/<pid>/stat, counted from the one after the name. */
const FIELD = { parent: 1, user: 11, system: 12, rssPages: 21 } as const;

interface Stat {
  readonly pid: number;
  readonly fields: readonly number[];
}

/** The name in brackets may hold anything; the fields follow its last bracket. */
const statOf = (pid: number, text: string): Stat => ({
  pid,
  fields: text
    .slice(text.lastIndexOf(")") + 2)
    .split(" ")
    .map(Number),
});

const orNull = async <T>(look: Promise<T>): Promise<T | null> => look.catch(() => null);

/** The words of the program, without the path of Node and of the program's file. */
const nameOf = (cmdline: string): string =>
  cmdline
    .split("\0")
    .filter((word) => word !== "")
    .map((word, i) => (i < 2 ? (word.split("/").at(-1) ?? word) : word))
    .join(" ")
    .slice(0, NAME_CHARACTERS);

/** A process and all that came of it, in the order in which they were started; empty where the system does not tell. */
export async function processTree(pid: number, root = "/"): Promise<ProcessFigures[]> {
  const proc = join(root, "proc");
  const pids = ((await orNull(readdir(proc))) ?? []).filter((name) => /^\d+$/.test(name)).slice(0, MAX_PROCESSES);
  const stats = (
    await Promise.all(
      pids.map(async (name) => {
        const text = await orNull(readFile(join(proc, name, "stat"), "utf8"));
        return text === null ? [] : [statOf(Number(name), text)];
      }),
    )
  ).flat();
  const childrenOf = Map.groupBy(stats, ({ fields }) => fields[FIELD.parent]!);
  const ours: Stat[] = stats.filter((stat) => stat.pid === pid);
  for (const stat of ours) ours.push(...(childrenOf.get(stat.pid) ?? []));
  return Promise.all(
    ours.map(async ({ pid: own, fields }) => ({
      pid: own,
      parent: fields[FIELD.parent]!,
      name: nameOf((await orNull(readFile(join(proc, String(own), "cmdline"), "utf8"))) ?? ""),
      rssBytes: fields[FIELD.rssPages]! * PAGE_BYTES,
      fds: (await orNull(readdir(join(proc, String(own), "fd"))))?.length ?? null,
      cpuSeconds: (fields[FIELD.user]! + fields[FIELD.system]!) / TICKS_PER_SECOND,
      children: childrenOf.get(own)?.length ?? 0,
    })),
  );
}
