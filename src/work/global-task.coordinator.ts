import { defineCoordinator, type UnitContext } from "../daemons/index.ts";
import { nodeShortages } from "./node-policy.ts";

export interface GlobalTaskSettings {
  /** How long a node that is short of something gets no more work, unless the news is renewed. */
  readonly shortMs: number;
  /** Memory is filled and freed within seconds. */
  readonly memoryMs: number;
}

export const globalTaskDefaults: GlobalTaskSettings = { shortMs: 120_000, memoryMs: 30_000 };

type Context = UnitContext<never>;

/**
 * Grants or refuses the right to start one more task. What runs is counted where it is true, in the queue's own rows; what
 * nodes are short of is kept here. `storedNodePolicy` puts both together at every claim.
 */
export const globalTaskCoordinator = (given: Partial<GlobalTaskSettings> = {}) => {
  const settings = { ...globalTaskDefaults, ...given };
  const note = (nodeId: string, resource: string, reason: string, forMs: number, { rows, now }: Context) =>
    rows.put(nodeShortages, `${nodeId}/${resource}`, { reason, until: now + forMs });
  const percent = (usage: number) => `${Math.round(usage * 100)} %`;
  return defineCoordinator({
    name: "global_task_coordinator",
    layer: 1,
    placement: "leader",
    alsoKnownAs: ["TaskCoordinator"],
    pattern: "WIRE",
    dependsOn: ["event_router"],
    emits: [],
    state: { tables: { nodeShortages } },
    on: {
      RESOURCE_CONSTRAINT({ payload: { node_id, resource, level, usage } }, context) {
        const key = `${node_id}/${resource}`;
        // Below the marks that matter a node may go on; the lowest ones are for those who plan ahead.
        if (["hard", "high", "critical", "stop"].includes(level))
          note(node_id, resource, `its ${resource} is ${percent(usage)} in use`, settings.shortMs, context);
        else if (context.rows.get(nodeShortages, key) !== undefined) context.rows.delete(nodeShortages, key);
      },
      RESOURCE_CONSTRAINT_DETECTED: ({ payload: { node_id, resource, usage } }, context) =>
        note(node_id, resource, `its ${resource} is ${percent(usage)} in use`, settings.shortMs, context),
      MEMORY_PRESSURE: ({ payload: { node_id, memory_kind, usage } }, context) =>
        note(
          node_id,
          memory_kind === "gpu" ? "gpu" : "memory",
          `its memory (${memory_kind}) is ${percent(usage)} in use`,
          settings.memoryMs,
          context,
        ),
      HOST_ONLINE({ payload: { node_id } }, { rows }) {
        for (const [key] of rows.list(nodeShortages))
          if (key.startsWith(`${node_id}/`)) rows.delete(nodeShortages, key);
      },
    },
    health: ({ rows, now }) => {
      const short = rows.list(nodeShortages).filter(([, { until }]) => until > now);
      return {
        status: "running",
        message: "",
        details: { short: Object.fromEntries(short.map(([key, { reason }]) => [key, reason])) },
      };
    },
  });
};
