/** How soon a job is wanted, lowest first. The number is what is stored. */
export const URGENCIES = ["low", "normal", "high", "critical"] as const;
export type Urgency = (typeof URGENCIES)[number];

export const CRITICAL = URGENCIES.length - 1;
export const urgencyLevel = (urgency: Urgency): number => URGENCIES.indexOf(urgency);
export const urgencyOf = (level: number): Urgency => URGENCIES[Math.max(0, Math.min(CRITICAL, level))]!;

/** On the events' scale of 0 to 100. */
export const priorityOf = (level: number): number => [25, 50, 75, 100][level] ?? 50;

export interface AgeingPolicy {
  /** A job that waits so long counts as one class more urgent, and again after as long. */
  readonly stepMs: number;
}

/** Its class after so long a wait: ageing makes an overlooked job rise until it is served like the critical ones. */
export const agedUrgency = (level: number, waitedMs: number, { stepMs }: AgeingPolicy): number =>
  Math.min(CRITICAL, level + Math.max(0, Math.floor(waitedMs / stepMs)));
