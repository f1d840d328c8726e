/** Power over rented machines, for whoever repairs nodes. */
import { OperatingError } from "../../kernel/index.ts";
import type { NodePower } from "../recovery/node-power.port.ts";
import type { Priced } from "./inventory.ts";
import { changeMachine, openMachines } from "./machine-rows.ts";
import type { FleetServices } from "./services.ts";

const MAX_KEPT = 1_000;

/** Providers reboot where they can; every rented machine can be given back, and another comes in its place. */
export function fleetPower(fleet: () => FleetServices): NodePower {
  const rowOf = (nodeId: string) => openMachines(fleet().store).find(({ node_id }) => node_id === nodeId);
  /** Acts that were accepted: a try after an answer that was lost changes nothing. */
  const accepted = new Set<string>();
  return {
    ableTo(nodeId, act) {
      const { inventory } = fleet();
      const row = rowOf(nodeId);
      if (row === undefined || !inventory.has(row.provider)) return undefined;
      return act === "replace" || inventory.provider(row.provider).reboot !== undefined ? row.provider : undefined;
    },
    async carryOut(nodeId, act, { actId, reason }) {
      const services = fleet();
      const { store, clock, inventory } = services;
      if (accepted.has(actId)) return;
      const row = rowOf(nodeId);
      if (row === undefined || row.machine_id === null)
        throw OperatingError.conflict("NODE_POWER_MISSING", `node ${nodeId} is no rented machine`, {
          hint: "Do it by hand.",
        });
      const provider = inventory.provider(row.provider);
      const { label, machine_id, state } = row;
      if (act === "reboot") {
        const signal = new AbortController().signal;
        await inventory.ask(provider, "reboot", signal, async (within) => provider.reboot?.(machine_id, within));
      } else if (state === "active" || state === "draining") {
        const changes = { return_reason: reason, return_by: "node_recovery", state_since: clock.now(), forced: 1 };
        await store.commit([changeMachine({ label, from: state, changes: { ...changes, state: "returning" } })]);
        const offer: Priced = { ...JSON.parse(row.offer), provider: row.provider };
        // Where the money does not suffice, the minimum and the jobs that wait decide about another one.
        await services.intend([offer], "node_recovery", `in the place of ${label}: ${reason}`.slice(0, 500));
      }
      if (accepted.size >= MAX_KEPT) accepted.clear();
      accepted.add(actId);
    },
  };
}
