/** What was measured last of this node, for whoever judges by it without measuring again; and who wants to be told how idle it is. */
import type { ResourceLevel } from "./levels.ts";
import type { ResourceSample } from "./sample.ts";

export interface UsageReading {
  readonly sample: ResourceSample;
  /** The worst of all resources. */
  readonly level: ResourceLevel;
}

export function createUsageGauge() {
  let last: UsageReading | undefined;
  let isAsked = false;
  return {
    set(reading: UsageReading): void {
      last = reading;
    },
    /** Undefined before the first measurement. */
    measured: (): UsageReading | undefined => last,
    /** Somebody wants to know how idle this node is. */
    ask(): void {
      isAsked = true;
    },
    /** Whether somebody asked since this was last looked at. */
    takeAsked(): boolean {
      const was = isAsked;
      isAsked = false;
      return was;
    },
  };
}

export type UsageGauge = ReturnType<typeof createUsageGauge>;

/** Nodes that are to be asked with their next sign of life how idle they are. */
export function createIdleRequests(max = 20_000) {
  const asked = new Set<string>();
  return {
    ask(nodeId: string): void {
      if (asked.size < max) asked.add(nodeId);
    },
    take: (nodeId: string): boolean => asked.delete(nodeId),
  };
}

export type IdleRequests = ReturnType<typeof createIdleRequests>;
