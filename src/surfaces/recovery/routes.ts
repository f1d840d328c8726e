import { handle, type Route } from "../http/route.ts";
import { planRecovery, recoveryHistory, runRecovery } from "./wire.ts";

export const recoveryRoutes: readonly Route[] = [
  handle(planRecovery, ({ ports }) => ports.recovery.plan()),
  handle(recoveryHistory, ({ ports, query: { node, limit } }) => ({
    acts: ports.recovery.history({ nodeId: node && ports.nodes.book.find(node).node_id, limit }),
  })),
  handle(runRecovery, ({ ports, params: { id }, body: { rung, reason, dry_run: dryRun }, caller: { actor } }) =>
    ports.recovery.wish(id, rung, { actor, reason, dryRun }),
  ),
];
