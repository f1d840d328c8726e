export const CONDITION_TYPES = ["Ready", "Healthy", "DependenciesReady", "Held", "PermanentlyFailed"] as const;
export type ConditionType = (typeof CONDITION_TYPES)[number];
export type ConditionStatus = "true" | "false" | "unknown";

/** One thing that is so, or is not, since when and why. */
export type Condition = {
  readonly type: ConditionType;
  readonly status: ConditionStatus;
  /** One word in camel case, for programs. */
  readonly reason: string;
  /** A sentence, for people. */
  readonly message: string;
  /** When the status became what it is, in milliseconds since the epoch. */
  readonly lastTransitionAt: number;
};

/** The list with this condition in it. The same list when nothing about it is new; its time moves with its status alone. */
export function withCondition(
  conditions: readonly Condition[],
  next: Omit<Condition, "lastTransitionAt">,
  now: number,
): readonly Condition[] {
  const before = conditions.find(({ type }) => type === next.type);
  if (
    before !== undefined &&
    before.status === next.status &&
    before.reason === next.reason &&
    before.message === next.message
  )
    return conditions;
  const lastTransitionAt = before?.status === next.status ? before.lastTransitionAt : now;
  const others = conditions.filter(({ type }) => type !== next.type);
  return [...others, { ...next, lastTransitionAt }].sort(
    (a, b) => CONDITION_TYPES.indexOf(a.type) - CONDITION_TYPES.indexOf(b.type),
  );
}

/** Whether two lists tell programs the same: a message may change with every check and is not worth a commit. */
export const sameConditions = (a: readonly Condition[], b: readonly Condition[]): boolean =>
  a.length === b.length &&
  a.every(({ type, status, reason }, i) => {
    const other = b[i]!;
    return other.type === type && other.status === status && other.reason === reason;
  });
