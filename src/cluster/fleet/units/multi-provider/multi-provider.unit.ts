import { type ContextOf, defineDaemon, onEach, type Wiring } from "../../../../daemons/index.ts";
import { backoffMs } from "../../../../kernel/index.ts";
import { reopened } from "../../decide.ts";
import { isOurs } from "../../label.ts";
import { isOpen } from "../../ledger-states.ts";
import { machineLimits, multiProviderLimits, provisionerLimits } from "../../limits.ts";
import { freshMachine } from "../../machine.ts";
import {
  changeMachine,
  enterMachine,
  forgetMachines,
  machineCalled,
  openMachines,
  storedFleetName,
} from "../../machine-rows.ts";
import type { Machine } from "../../provider.port.ts";
import type { FleetServices } from "../../services.ts";
import { providerRecords } from "../../state.ts";

const wiring = {
  name: "multi_provider",
  layer: 6,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["MULTI_PROVIDER", "NODE_AVAILABILITY"],
  alsoKnownAs: ["MultiProviderOrchestrator"],
  pattern: "WIRE",
  dependsOn: ["membership"],
  emits: [],
} as const satisfies Wiring;

interface Cache {
  /** When providers were asked last; 0 before that. */
  lookedAt: number;
  forgotAt: number;
}
type Context = ContextOf<typeof wiring, Cache>;

/**
 * Keeps the picture of all machines in step with what their providers show, whatever happened meanwhile: it asks for lists, opens the
 * row of a machine that should be gone, and enters one that bears our name and has no row. It remembers with whom it went
 * wrong. What becomes of open rows is decided by `provisioner` and `idle_shutdown`, from the same lists.
 */
export const multiProvider = (services: FleetServices, limits = multiProviderLimits) => {
  const { store, settings, inventory, nodesByLabel } = services;

  /** A machine under our name that no row knows: the database is older than it. One that works for us stays. */
  const enter = ({ rows, now, log }: Context, provider: string, machine: Machine, label: string) => {
    const node = nodesByLabel().get(label);
    const row = freshMachine(
      {
        label,
        provider,
        offer: JSON.stringify({ offer_id: "unknown" }),
        price_usd_hour: machine.price_usd_hour ?? 0,
        billing_step_ms: inventory.provider(provider).billingStepMs,
        intended_by: "multi_provider",
        reason: "it bears the name of this fleet, and the ledger did not know it",
        deadline_at: now,
      },
      now,
    );
    const found = { requested_at: now, machine_id: machine.machine_id, address: machine.address, seen_at: now };
    log.warn(`${label} was not in the ledger`, {
      provider,
      machine_id: machine.machine_id,
      adopted: node !== undefined,
    });
    rows.apply(
      enterMachine(
        node === undefined
          ? { ...row, ...found, state: "returning", forced: 1, return_reason: row.reason, return_by: "multi_provider" }
          : { ...row, ...found, state: "active", node_id: node.node_id, joined_at: now },
      ),
    );
  };

  /** Machines that bear our name and whose row is not open. */
  const settleStrays = (context: Context) => {
    const fleet = storedFleetName(store);
    if (fleet === undefined) return;
    const { rows, now, log } = context;
    for (const provider of inventory.names())
      for (const machine of inventory.listing(provider)?.machines ?? []) {
        const { label, state } = machine;
        if (!isOurs(fleet, label) || state === "gone" || state === "ending") continue;
        const row = machineCalled(store, label);
        if (row === undefined) enter(context, provider, machine, label);
        else if (!isOpen(row) && inventory.listing(provider)!.askedAt > row.state_since) {
          log.warn(`${label} had ended, and is there; it is ended again`, { provider });
          rows.apply(changeMachine({ label, from: row.state, changes: reopened(row, machine, now) }));
        }
      }
  };

  const isDue = ({ cache, now }: Context): boolean => {
    const since = now - cache.lookedAt;
    if (inventory.isHurried) return since >= Math.min(settings.lookMs, limits.everyMs);
    return since >= (openMachines(store).length > 0 ? settings.lookMs : Math.max(settings.lookMs, limits.quietLookMs));
  };

  const hurry = (_: unknown, { afterCommit }: Context) => afterCommit(() => inventory.hurry());

  return defineDaemon({
    ...wiring,
    state: {
      tables: { providerRecords },
      cache: (): Cache => ({ lookedAt: 0, forgotAt: 0 }),
    },
    on: {
      // Whoever comes, goes or falls silent may be a machine that its provider has something to say about.
      ...onEach(["HOST_ONLINE", "HOST_OFFLINE", "NODE_TERMINATED", "CLUSTER_STATUS_CHANGED"], hurry),
      NODE_PROVISIONED({ payload: { provider } }, { rows }) {
        if (rows.get(providerRecords, provider) !== undefined) rows.delete(providerRecords, provider);
      },
      NODE_PROVISION_FAILED({ payload: { provider, error } }, { rows, now }) {
        const failures = (rows.get(providerRecords, provider)?.failures ?? 0) + 1;
        const pauseMs = backoffMs(provisionerLimits.coolDown, failures, services.random);
        rows.put(providerRecords, provider, { failures, until: now + pauseMs, error: error.slice(0, 500) });
        inventory.forgetOffers(provider);
      },
    },
    loop: {
      everyMs: limits.everyMs,
      async tick(context) {
        const { cache, now, rows, signal, afterCommit } = context;
        if (inventory.names().length === 0 || !isDue(context)) return;
        await inventory.look(signal);
        settleStrays(context);
        if (now - cache.forgotAt >= limits.forgetEveryMs)
          rows.apply(forgetMachines({ before: now - machineLimits.keepMs, max: machineLimits.forgottenAtOnce }));
        afterCommit(() => {
          if (now - cache.forgotAt >= limits.forgetEveryMs) cache.forgotAt = now;
          cache.lookedAt = now;
        });
      },
    },
    health: ({ cache }) => {
      const troubled = inventory.names().filter((name) => inventory.trouble(name) !== undefined);
      const details = { providers: inventory.names().length, troubled, looked_at: cache.lookedAt / 1_000 };
      if (inventory.names().length === 0)
        return { status: "running", message: "no provider is set up: nothing is rented", details };
      return troubled.length === 0
        ? { status: "running", message: "", details }
        : { status: "degraded", message: inventory.trouble(troubled[0]!)!.message, details };
    },
  });
};
