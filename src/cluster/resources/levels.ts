/** When a resource is short: levels with a gap between in and out, so that a value at the edge does not flap. */

export const RESOURCE_LEVELS = ["none", "high", "critical"] as const;
export type ResourceLevel = (typeof RESOURCE_LEVELS)[number];

export interface Limits {
  /** Shares at which a level begins. */
  readonly high: number;
  readonly critical: number;
}

/** What is critical is believed at once: memory does not wait. */
export const levelDefaults = {
  /** How far below its threshold a value must fall before the level ends. */
  gap: 0.05,
  /** Samples in a row that each level needs to begin. */
  confirmHigh: 2,
  confirmCritical: 1,
  /** Samples in a row below that it needs to end. */
  confirmEnd: 2,
};
export type LevelPolicy = typeof levelDefaults;

/** Waiting for a processor harms only when it lasts. */
export const patientLevels: LevelPolicy = { gap: 0.1, confirmHigh: 8, confirmCritical: 8, confirmEnd: 4 };

export interface LevelState {
  readonly level: ResourceLevel;
  /** Samples in a row that asked for another level, and the mildest change that all of them ask for. */
  readonly asking: { readonly level: ResourceLevel; readonly samples: number } | null;
}

export const calm: LevelState = { level: "none", asking: null };

const rank = (level: ResourceLevel) => RESOURCE_LEVELS.indexOf(level);

/** The level that a value asks for, given the one that holds: one leaves a level lower than one enters it. */
export function askedLevel(holds: ResourceLevel, value: number, limits: Limits, gap: number): ResourceLevel {
  const stays = (level: ResourceLevel, threshold: number) =>
    value >= (rank(holds) >= rank(level) ? threshold - gap : threshold);
  if (stays("critical", limits.critical)) return "critical";
  return stays("high", limits.high) ? "high" : "none";
}

export function stepLevel(state: LevelState, value: number, limits: Limits, policy: LevelPolicy): LevelState {
  const asked = askedLevel(state.level, value, limits, policy.gap);
  if (asked === state.level) return { level: state.level, asking: null };
  const rises = rank(asked) > rank(state.level);
  const before = state.asking !== null && rank(state.asking.level) > rank(state.level) === rises ? state.asking : null;
  // Of several levels asked for in a row the one nearest to what holds is certain.
  const nearest =
    before === null || Math.abs(rank(asked) - rank(state.level)) < Math.abs(rank(before.level) - rank(state.level))
      ? asked
      : before.level;
  const asking = { level: nearest, samples: (before?.samples ?? 0) + 1 };
  const toRise = asked === "critical" ? policy.confirmCritical : policy.confirmHigh;
  const needed = rises ? toRise : policy.confirmEnd;
  // A level that is believed at once is not held back by what was asked for before.
  if (rises && needed === 1) return { level: asked, asking: null };
  return asking.samples >= needed ? { level: asking.level, asking: null } : { level: state.level, asking };
}

/** The threshold that a level is measured against; for the end of all levels the one that was left. */
export const thresholdOf = (level: ResourceLevel, limits: Limits): number =>
  level === "critical" ? limits.critical : limits.high;
