/** The room on the disk of a worker. */
import { statfsSync } from "node:fs";
import type { Settings } from "../settings.ts";

export const freeBytes = (folder: string) => (): number => {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
};

/** The room for jobs, as beats tell it; nothing where the disk itself does not answer. */
export const diskOf =
  ({ dataDir, worker }: Pick<Settings, "dataDir" | "worker">) =>
  (): { readonly free_bytes: number; readonly reserve_bytes: number } | undefined => {
    try {
      return { free_bytes: freeBytes(dataDir)(), reserve_bytes: worker.diskReserveBytes };
    } catch {
      return undefined;
    }
  };
