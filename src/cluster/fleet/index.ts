/**
 * fleet: machines from elsewhere. They are wanted in a row of the ledger, rented, become nodes, and are returned.
 *
 * It guarantees that
 * - the row is on disk before anybody is asked for a machine, and the money for it is counted in the same commit;
 * - a machine is ours by its label alone: whatever crashes, the next look finds it, and adopts or ends it; machines without
 *   a label of this fleet are never touched;
 * - what a provider does not say for certain is not believed: a list is whole or an error, and an unknown state is not gone;
 * - nothing that costs money is rented without a budget that a person set.
 */
export { createFleetConsole, type FleetConsole } from "./console.ts";
export type { NodeStart } from "./node-start.ts";
export { fleetPower } from "./power.ts";
export type { Machine, MachineOffer, MachineOrder, MachineProvider, MachineState } from "./provider.port.ts";
export { machineIdOf, madeNothing, providerErrors } from "./provider-errors.ts";
export { createFleetServices, type FleetServices, type FleetSurroundings, type Invitation } from "./services.ts";
export { fleetUnits } from "./units.ts";
