const TIMES = ["first_failed_at", "last_failed_at", "resolved_at", "last_seen_at", "expired_at"] as const;

/** A stored row as others see it: inside, times are milliseconds like the clock's; outside, all times are Unix seconds. */
export function inUnixSeconds<T extends object>(row: T): T {
  const shown = { ...row } as Record<string, unknown>;
  for (const key of TIMES) if (typeof shown[key] === "number") shown[key] = (shown[key] as number) / 1_000;
  return shown as T;
}
