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

/** What says nothing about what a program does: flags of Node, and where the data and the settings are. */
const NOISE = /^(--max-old-space-size|--max-semi-space-size)=|^--no-warnings$/;
const PLACES = new Set(["--data-dir", "--config"]);

/** The words of the program, without the path of Node and of the program's file. */
const nameOf = (cmdline: string): string =>
  cmdline
    .split("\0")
    .filter((word, i, all) => word !== "" && !NOISE.test(word) && !PLACES.has(word) && !PLACES.has(all[i - 1] ?? ""))
    .map((word, i) => (i < 2 ? (word.split("/").at(-1) ?? word) : word))
    .join(" ")
    .slice(0, NAME_CHARACTERS);

/** Processes, each followed by all that came of it; empty where the system does not tell. */
export async function processTree(roots: readonly number[], root = "/"): Promise<ProcessFigures[]> {
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
  const ours = new Set<Stat>();
  const enter = (stat: Stat): void => {
    ours.add(stat);
    for (const child of childrenOf.get(stat.pid) ?? []) if (!ours.has(child)) enter(child);
  };
  for (const stat of roots.flatMap((pid) => stats.filter((each) => each.pid === pid))) if (!ours.has(stat)) enter(stat);
  return Promise.all(
    [...ours].map(async ({ pid: own, fields }) => ({
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
