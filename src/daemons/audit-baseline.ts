import { builtinRows, type Rows } from "../events/index.ts";
import type { Registry } from "./registry.ts";
import { tiesOf } from "./wiring.ts";

/**
 * What the wiring is known to hold. An event with ten consumers is still heard when one of them is lost, so the graph alone
 * does not notice; what was written down does. It follows the code: a test fails when the two differ.
 */
export interface AuditBaseline {
  /** Built-in rows without emitter and consumer. This may only become less. */
  readonly openRows: number;
  /** By unit or part. */
  readonly ties: Readonly<Record<string, { readonly emits: readonly string[]; readonly hears: readonly string[] }>>;
}

/** The baseline that a registry would have. */
export function baselineOf(registry: Registry<Rows>): AuditBaseline {
  const open = tiesOf(registry).filter(
    ({ event, emitters, consumers }) =>
      Object.hasOwn(builtinRows, event) && emitters.length === 0 && consumers.length === 0,
  );
  const ties: Record<string, { emits: string[]; hears: string[] }> = {};
  for (const { name, emits } of registry.parts) ties[name] = { emits: [...emits].sort(), hears: [] };
  for (const { name, emits, hears } of registry.units)
    ties[name] = { emits: [...emits].sort(), hears: [...hears].sort() };
  return { openRows: open.length, ties };
}

export const auditBaseline: AuditBaseline = {
  openRows: 210,
  ties: {
    router: { emits: ["HANDLER_FAILED", "HANDLER_TIMEOUT"], hears: [] },
    unit_runtime: { emits: ["COORDINATOR_HEARTBEAT", "ERROR"], hears: [] },
    event_router: { emits: ["ERROR"], hears: [] },
    dlq_retry: {
      emits: ["DLQ_EVENTS_PURGED", "DLQ_EVENTS_REPLAYED", "DLQ_STALE_EVENTS"],
      hears: ["HANDLER_FAILED", "HANDLER_TIMEOUT"],
    },
  },
};
