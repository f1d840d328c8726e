/**
 * A model that cannot be read would spoil whatever is made with it: the next games fail on every node that is honest, and the first
 * model of a config becomes its champion without a match. So it is looked at before the run that brought it counts.
 */
import { CONFIG_KEYS, formatOfName, type StructureReader } from "../../workloads/arena/index.ts";
import { ARENA, JUDGED_FILES, type NamedWorkload, workloadFor } from "./workload-list.ts";

const TRAINING = "training";

export interface ModelJudgePorts {
  readonly workloads: readonly NamedWorkload[];
  readonly structures: Pick<StructureReader, "read" | "faultOfModel">;
  readonly pathOf: (sha256: string) => string;
}

/** Whether the built-in games are what a config trains. */
const isBuiltIn = (workload: NamedWorkload | undefined, configKey: string | null): boolean =>
  workload?.name === ARENA && configKey !== null && CONFIG_KEYS.includes(configKey);

/**
 * Models of the built-in games are read to the last weight. Those of other programs are theirs to understand: they must be within the
 * declared size, and readable as what they are declared to be, or as what their names say.
 */
export function judgeModels({ workloads, structures, pathOf }: ModelJudgePorts) {
  return async (
    { work_type, config_key }: { readonly work_type: string; readonly config_key: string | null },
    { name, sha256 }: { readonly name: string; readonly sha256: string },
  ): Promise<string | undefined> => {
    if (work_type !== TRAINING) return undefined;
    const kind = JUDGED_FILES.find((each) => name === each || name.startsWith(`${each}.`));
    if (kind === undefined) return undefined;
    const path = pathOf(sha256);
    const workload = workloadFor(workloads, TRAINING, config_key);
    if (!isBuiltIn(workload, config_key)) {
      const {
        format = formatOfName(name),
        minBytes = 1,
        maxBytes = Number.MAX_SAFE_INTEGER,
      } = workload?.files?.[kind] ?? {};
      return structures.faultOfModel(path, { format, minBytes, maxBytes });
    }
    const found = await structures.read(path, { replay: true });
    if (!found.sound) return `cannot be read: ${found.message}`;
    if (found.kind !== kind) return `is no ${kind} of the arena`;
    return found.config_key === config_key
      ? undefined
      : `is of ${found.config_key ?? "no config"}, not of ${config_key}`;
  };
}

/** Configs of other programs: only use can show whether a first model of theirs plays. */
export const isOfOthers =
  (workloads: readonly NamedWorkload[]) =>
  (configKey: string): boolean =>
    !isBuiltIn(workloadFor(workloads, "evaluation", configKey), configKey);
