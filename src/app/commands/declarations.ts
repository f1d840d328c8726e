import { memoryStore } from "../../adapters/sqlite/in-thread-store.ts";
import {
  type AuditReport,
  auditBaseline,
  auditWiring,
  createRegistry,
  type OwnUnitsPorts,
  ownExcuses,
  ownParts,
  ownUnits,
  type RuntimeFacts,
} from "../../daemons/index.ts";
import { builtinRows, createCatalog } from "../../events/index.ts";
import { type Clock, type Random, silentLog } from "../../kernel/index.ts";
import { EventRouter } from "../../router/index.ts";
import { storeModules } from "../store-modules.ts";

/** The units and parts of this program, over a router: what the runtime starts is what the audit judges. */
export const systemRegistry = ({ router, store }: OwnUnitsPorts) =>
  createRegistry({
    catalog: createCatalog(builtinRows),
    units: ownUnits({ router, store }),
    parts: ownParts,
    ingress: [],
    excused: ownExcuses,
  });

/** Declarations are in the code: to read them, a router in memory is enough, on which nothing is started. */
export async function auditDeclarations(
  ports: { readonly clock: Clock; readonly random: Random },
  facts: RuntimeFacts | undefined,
): Promise<AuditReport> {
  const { clock, random } = ports;
  const store = memoryStore(storeModules, clock);
  const catalog = createCatalog(builtinRows);
  const router = new EventRouter({ catalog, store, clock, random, log: silentLog(), nodeId: "audit" });
  try {
    const registry = systemRegistry({ router, store } as unknown as OwnUnitsPorts);
    return auditWiring(registry, { baseline: auditBaseline, ...(facts === undefined ? {} : { facts }) });
  } finally {
    await router.stop();
    await store.close();
  }
}
