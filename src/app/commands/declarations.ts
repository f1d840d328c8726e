import { memoryStore } from "../../adapters/sqlite/in-thread-store.ts";
import { type AuditReport, auditBaseline, auditWiring, type RuntimeFacts } from "../../daemons/index.ts";
import { builtinRows, createCatalog } from "../../events/index.ts";
import { type Clock, type Random, silentLog } from "../../kernel/index.ts";
import { EventRouter } from "../../router/index.ts";
import { liveRegistry } from "../registry.ts";
import { storeModules } from "../store-modules.ts";

/** Declarations are in the code: to read them a router in memory is enough, on which nothing is started. */
export async function auditDeclarations(
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  facts: RuntimeFacts | undefined,
): Promise<AuditReport> {
  const store = memoryStore(storeModules, clock);
  const catalog = createCatalog(builtinRows);
  const router = new EventRouter({ catalog, store, clock, random, log: silentLog(), nodeId: "audit" });
  try {
    const registry = liveRegistry({ router: router as unknown as EventRouter, store });
    return auditWiring(registry, { baseline: auditBaseline, ...(facts === undefined ? {} : { facts }) });
  } finally {
    await router.stop();
    await store.close();
  }
}
