/** Where a person can sit down: at the built-in games, and at those of workloads that declare the kind `play`. */
import { didYouMean, OperatingError } from "../../../kernel/index.ts";
import type { ArenaConsole } from "../../../workloads/arena/index.ts";
import { PLAY_KIND } from "../../../workloads/process/index.ts";
import { type NamedWorkload, workloadFor } from "../../worker/workload-list.ts";
import type { PlayTable, TableRequest } from "./play-table.ts";
import type { TableEdges } from "./workload-table.ts";

/** What the command asks for. */
export interface Tables {
  readonly defaultConfigKey: string;
  /** Of the built-in games. */
  readonly baselines: readonly string[];
  /** Who plays where nobody was named and there is no champion. */
  usualBaseline(configKey: string): string | undefined;
  /** `folder` is for this game alone. */
  open(request: TableRequest, folder: string): Promise<PlayTable>;
}

const USUAL_BASELINE = "mcts-1000";

type Arena = Pick<ArenaConsole, "baselines" | "defaultConfigKey" | "open" | "list">;

export function createTables(
  arena: Arena,
  workloads: () => readonly NamedWorkload[],
  edges: Omit<TableEdges, "folder">,
): Tables {
  const isBuiltIn = (configKey: string) => arena.list().some(({ config_key }) => config_key === configKey);
  const ownFor = (configKey: string): NamedWorkload | undefined => {
    const all = workloads();
    const found = workloadFor(all, PLAY_KIND, configKey);
    const known = all.find(({ configKeys }) => configKeys?.includes(configKey));
    if (found !== undefined || known === undefined || isBuiltIn(configKey)) return found;
    throw OperatingError.conflict(
      "PLAY_NOT_DECLARED",
      `workload '${known.name}' of ${configKey} does not declare the kind '${PLAY_KIND}'`,
      { hint: "docs/41-workloads.md shows how a program lists its moves and plays." },
    );
  };
  return {
    defaultConfigKey: arena.defaultConfigKey,
    baselines: arena.baselines,
    usualBaseline(configKey) {
      const own = ownFor(configKey);
      return own === undefined ? USUAL_BASELINE : own.baselines?.at(-1);
    },
    async open(request, folder) {
      const own = ownFor(request.configKey);
      if (own === undefined) return arena.open(request);
      const { baselines = [] } = own;
      if (request.baseline !== undefined && baselines.length > 0 && !baselines.includes(request.baseline))
        throw OperatingError.invalid(
          "UNKNOWN_BASELINE",
          `There is no baseline "${request.baseline}" of ${request.configKey}.${didYouMean(request.baseline, baselines)}`,
          { hint: `There are: ${baselines.join(", ")}.` },
        );
      const { openWorkloadTable } = await import("./workload-table.ts");
      return openWorkloadTable(own, request, { ...edges, folder });
    },
  };
}
