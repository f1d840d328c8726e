import { createRegistry, type OwnUnitsPorts, ownExcuses, ownParts, ownUnits, type Registry } from "../daemons/index.ts";
import { builtinRows, createCatalog } from "../events/index.ts";

/** Every unit and part that exists, wired. A subscription that nobody feeds does not compile here. */
export const liveRegistry = (ports: OwnUnitsPorts): Registry =>
  createRegistry({
    catalog: createCatalog(builtinRows),
    units: ownUnits(ports),
    parts: ownParts,
    ingress: [],
    excused: ownExcuses,
  }) as unknown as Registry;
