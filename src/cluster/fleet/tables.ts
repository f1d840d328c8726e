import { defineStoreModule } from "../../router/store.port.ts";
import {
  changeMachine,
  enterMachine,
  forgetMachines,
  intendMachines,
  machineMigration,
  nameFleet,
} from "./machine-rows.ts";

/** What the fleet keeps in the store. */
export const fleetModule = defineStoreModule({
  name: "fleet",
  migrations: [machineMigration],
  operations: [nameFleet, intendMachines, enterMachine, changeMachine, forgetMachines],
});
