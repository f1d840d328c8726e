/** Ends a machine at its provider, and writes down what came of it. */
import { backoffMs, isOperatingError, messageOf } from "../../kernel/index.ts";
import { idleLimits } from "./limits.ts";
import type { MachineRow } from "./machine.ts";
import { changeMachine } from "./machine-rows.ts";
import type { Machine } from "./provider.port.ts";
import type { FleetServices } from "./services.ts";

type Needed = Pick<FleetServices, "store" | "clock" | "random" | "inventory" | "log">;

/** Whether it is time to tell the provider: the more often it failed, the later. */
const isDue = ({ terminate_tries: tries, tried_at }: MachineRow, now: number, random: Needed["random"]): boolean =>
  tried_at === null || now - tried_at >= backoffMs(idleLimits.retry, tries, random);

/** The row is `returning` on disk before the provider is told; what it answers is written down before anything else. */
export async function terminateMachine(services: Needed, row: MachineRow, signal: AbortSignal): Promise<void> {
  const { store, clock, random, inventory, log } = services;
  const { label, machine_id, provider: name, state } = row;
  if (machine_id === null || !inventory.has(name) || !isDue(row, clock.now(), random)) return;
  const provider = inventory.provider(name);
  const note = (changes: Parameters<typeof changeMachine>[0]["changes"]) =>
    store.commit([changeMachine({ label, from: state, changes })]);
  try {
    await inventory.ask(provider, "terminate", signal, (within) => provider.terminate(machine_id, within));
  } catch (thrown) {
    signal.throwIfAborted();
    log.warn(`${label} could not be returned`, { provider: name, error: messageOf(thrown) });
    const error = messageOf(thrown).slice(0, 500);
    await note({ tried_at: clock.now(), terminate_tries: row.terminate_tries + 1, error });
    return;
  }
  // Whether it is gone is seen in a list that was asked for after this.
  await note({ tried_at: clock.now(), terminated_at: clock.now(), terminate_tries: 0 });
  inventory.hurry();
}

/** Of several machines under one label those that are too many; each is ended by its id, and nobody else is touched. */
export async function endSurplus(
  { inventory, log }: Pick<Needed, "inventory" | "log">,
  row: MachineRow,
  surplus: readonly Machine[],
  signal: AbortSignal,
): Promise<void> {
  const provider = inventory.provider(row.provider);
  for (const { machine_id } of surplus) {
    log.warn(`${row.label} was made more than once; ${machine_id} is ended`, { provider: row.provider });
    try {
      await inventory.ask(provider, "terminate", signal, (within) => provider.terminate(machine_id, within));
    } catch (thrown) {
      signal.throwIfAborted();
      // The next list shows it again.
      if (!isOperatingError(thrown)) throw thrown;
    }
  }
}
