import { readdir, readFile, stat } from "node:fs/promises";

const namesIn = (folder: string): Promise<string[] | undefined> => readdir(folder).catch(() => undefined);

/**
 * Whether some process may still write into a file that it has opened, as far as this one is allowed to look. Where the
 * system does not tell, somebody may.
 */
export async function isOpenForWriting({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): Promise<boolean> {
  const processes = (await namesIn("/proc"))?.filter((name) => /^\d+$/.test(name)) ?? [];
  if (processes.length === 0) return true;
  for (const pid of processes)
    for (const fd of (await namesIn(`/proc/${pid}/fd`)) ?? []) {
      const held = await stat(`/proc/${pid}/fd/${fd}`, { bigint: true }).catch(() => undefined);
      if (held?.ino !== ino || held.dev !== dev) continue;
      const about = await readFile(`/proc/${pid}/fdinfo/${fd}`, "utf8").catch(() => "");
      const [, flags] = /^flags:\s*([0-7]+)/m.exec(about) ?? [];
      // The last two bits say how it was opened: 0 to read, 1 to write, 2 for both.
      if (flags === undefined || (Number.parseInt(flags, 8) & 3) !== 0) return true;
    }
  return false;
}
