import type { Rows } from "../../events/index.ts";
import { consumerOf } from "./consumer-name.ts";
import type { Registry } from "./registry.ts";
import type { Placement } from "./shape.ts";

export interface CriticalSubscription {
  readonly event: string;
  /** Consumers that this profile's units owe it. Empty where no unit of the profile hears it. */
  readonly expected: readonly string[];
  readonly missing: readonly string[];
}

export interface CriticalReport {
  /** Whether every unit that is to hear a critical event does. */
  readonly ready: boolean;
  readonly subscriptions: readonly CriticalSubscription[];
}

export interface CriticalOptions {
  readonly registry: Registry<Rows>;
  readonly nodeId: string;
  /** The placements whose units run here. */
  readonly placements: readonly Placement[];
  /** Who listens, by event: the router's `listSubscribers()`. */
  readonly subscribers: Readonly<Record<string, readonly string[]>>;
}

/**
 * The subscriptions without which the pipeline does not run: the catalog's critical rows, for the units that exist and run
 * here. Part of readiness.
 */
export function validateCriticalSubscriptions(options: CriticalOptions): CriticalReport {
  const { registry, nodeId, placements, subscribers } = options;
  const here = registry.units.filter(({ placement }) => placements.includes(placement));
  const subscriptions = Object.values(registry.catalog.rows)
    .filter(({ critical }) => critical)
    .map(({ name }): CriticalSubscription => {
      const expected = here.filter(({ hears }) => hears.includes(name)).map((unit) => consumerOf(unit, nodeId));
      const present = new Set([...(subscribers[name] ?? []), ...(subscribers["*"] ?? [])]);
      return { event: name, expected, missing: expected.filter((consumer) => !present.has(consumer)) };
    });
  return { ready: subscriptions.every(({ missing }) => missing.length === 0), subscriptions };
}
