import { type SettingValues, settingDefaults } from "../kernel/settings/index.ts";
import { workSettings } from "./settings.ts";

/**
 * How hard producers have to brake. Pressure comes from how much waits and from how long it has waited, whichever is worse;
 * it rises at one mark and falls at a lower one, and falls one step at a time, so that it never flutters.
 */
export const QUEUE_LEVELS = ["none", "soft", "hard", "stop"] as const;
export type QueueLevel = (typeof QUEUE_LEVELS)[number];
export const RESOURCE_LEVELS = ["none", "low", "medium", "high", "critical"] as const;
export type ResourceLevel = (typeof RESOURCE_LEVELS)[number];

/** Both scales as one, from free to shut, under the names that the Python system gives them. */
export const BackpressureLevel = Object.freeze({
  NONE: "none",
  LOW: "low",
  SOFT: "soft",
  MEDIUM: "medium",
  HARD: "hard",
  HIGH: "high",
  CRITICAL: "critical",
  STOP: "stop",
} as const satisfies Record<string, QueueLevel | ResourceLevel>);
export type BackpressureLevel = QueueLevel | ResourceLevel;

/** The scale of queues on the scale of resources. The lowest resource level asks nothing of a queue. */
const onResources: Readonly<Record<QueueLevel, ResourceLevel>> = {
  none: "none",
  soft: "medium",
  hard: "high",
  stop: "critical",
};
export const resourceLevelOf = (level: QueueLevel): ResourceLevel => onResources[level];

/** And back: what a queue makes of a level that somebody else measured. */
const onQueues: Readonly<Record<ResourceLevel, QueueLevel>> = {
  none: "none",
  low: "none",
  medium: "soft",
  high: "hard",
  critical: "stop",
};
export const queueLevelOf = (level: ResourceLevel): QueueLevel => onQueues[level];

/** What producers may still make, as a share of what they would. */
const multipliers: Readonly<Record<QueueLevel, number>> = { none: 1, soft: 0.5, hard: 0.1, stop: 0 };
export const rateMultiplierOf = (level: QueueLevel): number => multipliers[level];

export const worstLevel = (levels: readonly QueueLevel[]): QueueLevel =>
  QUEUE_LEVELS[Math.max(0, ...levels.map((level) => QUEUE_LEVELS.indexOf(level)))]!;

/** From where on a level holds: jobs that wait, and seconds that the oldest has waited. */
export interface PressureMark {
  readonly depth: number;
  readonly delaySeconds: number;
}

export interface PressurePolicy {
  readonly soft: PressureMark;
  readonly hard: PressureMark;
  readonly stop: PressureMark;
  /** A level is left when both figures are below this share of its mark. */
  readonly release: number;
  /** A level is kept for so long before it may fall. */
  readonly holdSeconds: number;
}

/** What operators may set of it: jobs that may wait before each level, and how long a job shall wait at most. */
export type PressureMarks = SettingValues<typeof workSettings.pressure>;

/** Beyond the target producers brake; at three times as long they all but stop, and at six times as long they do. */
export const pressurePolicyOf = ({ soft, hard, stop, targetDelaySeconds }: PressureMarks): PressurePolicy => ({
  soft: { depth: soft, delaySeconds: targetDelaySeconds },
  hard: { depth: hard, delaySeconds: 3 * targetDelaySeconds },
  stop: { depth: stop, delaySeconds: 6 * targetDelaySeconds },
  release: 0.8,
  holdSeconds: 120,
});

export const pressurePolicyDefaults: PressurePolicy = pressurePolicyOf(settingDefaults(workSettings.pressure));

export interface Measured {
  readonly depth: number;
  readonly delaySeconds: number;
}

export interface Pressure {
  readonly level: QueueLevel;
  /** When it became so, in Unix seconds. */
  readonly since: number;
}

const marked = ["soft", "hard", "stop"] as const;

/** The level that the figures alone call for; `share` lowers the marks. */
export function levelFor({ depth, delaySeconds }: Measured, policy: PressurePolicy, share = 1): QueueLevel {
  const reached = marked.filter(
    (level) => depth >= policy[level].depth * share || delaySeconds >= policy[level].delaySeconds * share,
  );
  return reached.at(-1) ?? "none";
}

/**
 * Up at once and as far as needed; down a step at a time, when the figures are well below and have had some time. A level that
 * is left over from an earlier process was measured on what is over: it falls at once to what the figures call for.
 */
export function nextPressure(
  now: number,
  current: Pressure,
  measured: Measured,
  policy: PressurePolicy,
  isLeftOver = false,
): Pressure {
  const at = QUEUE_LEVELS.indexOf(current.level);
  const wanted = QUEUE_LEVELS.indexOf(levelFor(measured, policy));
  if (wanted > at) return { level: QUEUE_LEVELS[wanted]!, since: now };
  const kept = QUEUE_LEVELS.indexOf(levelFor(measured, policy, policy.release));
  if (kept < at && isLeftOver) return { level: QUEUE_LEVELS[kept]!, since: now };
  if (kept < at && now - current.since >= policy.holdSeconds) return { level: QUEUE_LEVELS[at - 1]!, since: now };
  return current;
}

/** The one payload of pressure events. */
export const pressurePayload = (scope: string, before: Pressure, after: Pressure, measured: Measured) => ({
  scope,
  level: after.level,
  resource_level: resourceLevelOf(after.level),
  previous_level: before.level,
  reason: `${measured.depth} jobs wait, the oldest for ${Math.round(measured.delaySeconds)} s`,
  rate_multiplier: rateMultiplierOf(after.level),
  queue_depth: measured.depth,
  waited_seconds: measured.delaySeconds,
  ...(before.level === "none" ? {} : { duration_seconds: Math.max(0, after.since - before.since) }),
});
