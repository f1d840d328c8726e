import { type ContextOf, defineCoordinator, type Wiring } from "../../../daemons/index.ts";
import { shortageLimits } from "../../limits.ts";
import { nodeShortages } from "../../node-policy.ts";

const wiring = {
  name: "global_task_coordinator",
  layer: 1,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "tasks",
  alsoKnownAs: ["TaskCoordinator"],
  pattern: "WIRE",
  dependsOn: ["event_router"],
  emits: [],
} as const satisfies Wiring;

/** What a node is short of, as people read it. */
const shortageWords = (resource: string, usage: number): string => {
  const percent = `${Math.round(usage * 100)} %`;
  return resource === "cpu" ? `machine busy (${percent})` : `its ${resource} is ${percent} in use`;
};

type Context = ContextOf<typeof wiring>;

/**
 * Grants or refuses the right to start one more task. What runs is counted where it is true, in the queue's own rows; what
 * nodes are short of is kept here. `storedNodePolicy` puts both together at every claim.
 */
export const globalTaskCoordinator = (limits = shortageLimits) => {
  // One more job fills a disk; short of anything else, one job at a time goes on.
  const note = (
    { node_id, resource, usage }: { node_id: string; resource: string; usage: number },
    isHard: boolean,
    forMs: number,
    { rows, now }: Context,
  ) =>
    rows.put(nodeShortages, `${node_id}/${resource}`, {
      reason: shortageWords(resource, usage),
      until: now + forMs,
      leaves: resource === "disk" && isHard ? 0 : 1,
    });
  return defineCoordinator({
    ...wiring,
    state: { tables: { nodeShortages } },
    on: {
      RESOURCE_CONSTRAINT({ payload }, context) {
        const { level } = payload;
        const key = `${payload.node_id}/${payload.resource}`;
        // Below the marks that matter a node may go on; the lowest ones are for those who plan ahead.
        if (["hard", "high", "critical", "stop"].includes(level))
          note(payload, level === "critical" || level === "stop", limits.shortMs, context);
        else if (context.rows.get(nodeShortages, key) !== undefined) context.rows.delete(nodeShortages, key);
      },
      RESOURCE_CONSTRAINT_DETECTED: ({ payload }, context) => note(payload, true, limits.shortMs, context),
      MEMORY_PRESSURE: ({ payload: { node_id, memory_kind, usage } }, context) =>
        note({ node_id, resource: memory_kind === "gpu" ? "gpu" : "memory", usage }, false, limits.memoryMs, context),
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
