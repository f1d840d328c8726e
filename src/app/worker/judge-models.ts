/**
 * A model that cannot be read would spoil whatever is made with it: the next games fail on every node that is honest, and the first
 * model of a config becomes its champion without a match. So it is looked at before the run that brought it counts.
 */
import type { StructureReader } from "../../workloads/arena/index.ts";
import { ARENA, type NamedWorkload, workloadFor } from "./workload-list.ts";

const TRAINING = "training";
/** What a run of the arena brings, by the first part of the file's name. */
const KINDS = ["model", "checkpoint"] as const;

export interface ModelJudgePorts {
  readonly workloads: readonly NamedWorkload[];
  readonly read: StructureReader["read"];
  readonly pathOf: (sha256: string) => string;
}

/** Models of other programs are theirs to judge. */
export function judgeModels({ workloads, read, pathOf }: ModelJudgePorts) {
  return async (
    { work_type, config_key }: { readonly work_type: string; readonly config_key: string | null },
    { name, sha256 }: { readonly name: string; readonly sha256: string },
  ): Promise<string | undefined> => {
    if (work_type !== TRAINING || workloadFor(workloads, TRAINING, config_key)?.name !== ARENA) return undefined;
    const kind = KINDS.find((each) => name === each || name.startsWith(`${each}.`));
    if (kind === undefined) return undefined;
    const found = await read(pathOf(sha256), { replay: true });
    if (!found.sound) return `cannot be read: ${found.message}`;
    if (found.kind !== kind) return `is no ${kind} of the arena`;
    return found.config_key === config_key
      ? undefined
      : `is of ${found.config_key ?? "no config"}, not of ${config_key}`;
  };
}
