import { OperatingError } from "../../kernel/index.ts";
import { handle, type Route } from "../http/route.ts";
import * as wire from "./wire.ts";

export const fleetRoutes: readonly Route[] = [
  handle(wire.getFleet, ({ ports: { fleet } }) => fleet.status()),
  handle(wire.planFleet, ({ ports: { fleet }, body: { count, provider = null }, signal }) =>
    fleet.plan({ count, provider }, signal),
  ),
  handle(wire.raiseFleet, ({ ports: { fleet }, body, caller: { actor: by }, signal }) => {
    const { count, provider = null, dry_run: dryRun, reason = `asked for by ${by}` } = body;
    return fleet.up({ count, provider, reason, by, dryRun }, signal);
  }),
  handle(wire.lowerFleet, ({ ports: { fleet }, body, caller: { actor: by } }) => {
    const { machines, all, force, dry_run: dryRun, reason = `returned by ${by}` } = body;
    if (!all && machines.length === 0)
      throw OperatingError.invalid("INVALID_REQUEST", "no machine is named", {
        hint: "Name machines by their label or node, or say that all of them go.",
      });
    return fleet.down({ machines, all, force, reason, by, dryRun });
  }),
  handle(wire.getFleetCost, ({ ports: { fleet }, query: { days } }) => fleet.cost(days)),
  handle(wire.reconcileFleet, ({ ports: { fleet }, body: { dry_run }, signal }) => fleet.reconcile(dry_run, signal)),
];
