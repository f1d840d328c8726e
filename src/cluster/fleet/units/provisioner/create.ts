/** Asks a provider for the machine of a row, once, and writes down what came of it. */
import { isOperatingError, messageOf } from "../../../../kernel/index.ts";
import type { MachineChanges, MachineRow } from "../../machine.ts";
import { changeMachine } from "../../machine-rows.ts";
import type { NodeStart } from "../../node-start.ts";
import type { MachineOffer, MachineProvider } from "../../provider.port.ts";
import { machineIdOf, madeNothing } from "../../provider-errors.ts";
import type { FleetServices } from "../../services.ts";

/** Why it is certain that nothing was made, and in which state that leaves the row; undefined where something was, or may have been. */
export type Failed = { readonly thrown: unknown; readonly from: "intended" | "requested" } | undefined;

/**
 * That the provider is asked is on disk before it is: after a crash nobody asks for this row again, and what was made is found by
 * its label. Only where it is certain that nothing was made is the row over at once.
 */
export async function createMachine(services: FleetServices, row: MachineRow, signal: AbortSignal): Promise<Failed> {
  const { store, clock, inventory, log } = services;
  const { label, provider: name, price_usd_hour } = row;
  let provider: MachineProvider;
  let start: NodeStart;
  try {
    provider = inventory.provider(name);
    start = await services.startOf(row);
  } catch (thrown) {
    // The store has its own troubles, which pass; whatever else is wrong will be wrong again.
    if (!isOperatingError(thrown) || thrown.retryable) throw thrown;
    return { thrown, from: "intended" };
  }
  await store.commit([
    changeMachine({
      label,
      from: "intended",
      changes: { state: "requested", state_since: clock.now(), requested_at: clock.now() },
    }),
  ]);
  const note = (changes: MachineChanges) =>
    store.commit([changeMachine({ label, from: "requested", changes })]).catch((thrown: unknown) => {
      // The next list tells the same.
      log.warn(`${label}: what its provider answered was not written down`, { error: messageOf(thrown) });
    });
  const offer = JSON.parse(row.offer) as MachineOffer;
  try {
    const made = await inventory.ask(provider, "create", signal, (within) =>
      provider.create({ label, offer, max_price_usd_hour: price_usd_hour, start }, within),
    );
    const now = clock.now();
    await note({
      state: "starting",
      state_since: now,
      machine_id: made.machine_id,
      address: made.address,
      seen_at: now,
      seen_state: made.state,
    });
    log.info(`${label} was rented at ${name}`, { machine_id: made.machine_id, price_usd_hour });
    return undefined;
  } catch (thrown) {
    if (madeNothing(thrown)) return { thrown, from: "requested" };
    log.warn(`${label}: whether ${name} made it is not known yet`, { error: messageOf(thrown) });
    const machine_id = machineIdOf(thrown);
    await note({ error: messageOf(thrown).slice(0, 500), ...(machine_id === null ? {} : { machine_id }) });
    inventory.hurry();
    return undefined;
  }
}
