import { createRegistry, type OwnUnitsPorts, ownExcuses, ownParts, ownUnits, type Registry } from "../daemons/index.ts";
import { builtinRows, createCatalog } from "../events/index.ts";

/** Every unit and part that exists, wired. A subscription that nobody feeds does not compile here. */
export const liveRegistry = (ports: Omit<OwnUnitsPorts, "leaderUnits">): Registry => {
  const leaderUnits = () =>
    new Set(registry.units.filter(({ placement }) => placement === "leader").map(({ name }) => name));
  const registry: Registry = createRegistry({
    catalog: createCatalog(builtinRows),
    units: ownUnits({ ...ports, leaderUnits }),
    parts: ownParts,
    ingress: [],
    excused: ownExcuses,
  }) as unknown as Registry;
  return registry;
};
