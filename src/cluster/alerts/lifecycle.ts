/**
 * The life of an alert, as pure functions: it opens, counts repeats, reminds, escalates, closes and may open again. Each
 * step gives the next state and at most one thing to tell.
 */
import { type AlertPolicy, type AlertSeverity, type AlertState, isWorse, stepUp, worse } from "./alert.ts";

export type Transition = "opened" | "reopened" | "escalated" | "reminded" | "acknowledged" | "closed";

export interface Step {
  readonly state: AlertState;
  /** What to tell; null for nothing. */
  readonly transition: Transition | null;
}

const MAX_REMINDER_MS = 86_400_000;

const silent = (state: AlertState): Step => ({ state, transition: null });
const notify = (state: AlertState, transition: Transition, at: number): Step => ({
  state: { ...state, alarmed: 1, told_at: at, messages: state.messages + 1 },
  transition,
});

const opened = (severity: AlertSeverity, at: number): AlertState => ({
  status: "open",
  severity,
  count: 1,
  opened_at: at,
  last_seen_at: at,
  closed_at: null,
  severe_since: at,
  alarmed: 0,
  told_at: null,
  reminders: 0,
  messages: 0,
});

const risen = (state: AlertState, severity: AlertSeverity, at: number): Step =>
  // Whoever acknowledged it did so while it was milder.
  notify({ ...state, severity, status: "open", severe_since: at, reminders: 0 }, "escalated", at);

/** Whether a closed alert closed so recently that its return is the same trouble. */
export const isSameTrouble = (state: Pick<AlertState, "closed_at">, at: number, policy: AlertPolicy): boolean =>
  state.closed_at !== null && at - state.closed_at < policy.coolDownMs;

/** The alarming thing was seen. `before` is the alert of its key, open or closed a moment ago; null for none. */
export function raise(before: AlertState | null, severity: AlertSeverity, at: number, policy: AlertPolicy): Step {
  if (before === null) return notify(opened(severity, at), "opened", at);
  const seen: AlertState = { ...before, count: before.count + 1, last_seen_at: Math.max(before.last_seen_at, at) };
  if (before.status === "closed") {
    const again: AlertState = { ...seen, status: "open", closed_at: null, severity, severe_since: at, reminders: 0 };
    // What comes and goes is told once for each cool-down; the reminder follows if it stays.
    const quiet =
      before.told_at !== null && at - before.told_at < policy.coolDownMs && !isWorse(severity, before.severity);
    return quiet ? silent(again) : notify(again, "reopened", at);
  }
  const byCount = policy.escalateAtCounts.includes(seen.count) ? stepUp(seen.severity, policy.worst) : seen.severity;
  const now = worse(severity, byCount);
  return isWorse(now, seen.severity) ? risen(seen, now, at) : silent(seen);
}

const reminderWaitMs = (state: AlertState, policy: AlertPolicy): number =>
  Math.min(MAX_REMINDER_MS, policy.coolDownMs * 2 ** state.reminders);

/** When something is due by time alone; null for never. */
export function dueAt(state: AlertState, policy: AlertPolicy): number | null {
  if (state.status === "closed") return null;
  const times: number[] = [];
  if (policy.closeAfterSilenceMs !== null) times.push(state.last_seen_at + policy.closeAfterSilenceMs);
  if (state.status === "open") {
    times.push((state.told_at ?? state.severe_since) + reminderWaitMs(state, policy));
    if (policy.escalateAfterMs !== null && isWorse(policy.worst, state.severity))
      times.push(state.severe_since + policy.escalateAfterMs);
  }
  return times.length === 0 ? null : Math.min(...times);
}

/** What time alone brings: silence closes, age escalates, a cool-down reminds. */
export function age(state: AlertState, now: number, policy: AlertPolicy): Step {
  if (state.status === "closed") return silent(state);
  if (policy.closeAfterSilenceMs !== null && now >= state.last_seen_at + policy.closeAfterSilenceMs)
    return close(state, now);
  if (state.status !== "open") return silent(state);
  const worseNow = stepUp(state.severity, policy.worst);
  if (
    policy.escalateAfterMs !== null &&
    worseNow !== state.severity &&
    now >= state.severe_since + policy.escalateAfterMs
  )
    return risen(state, worseNow, now);
  if (now < (state.told_at ?? state.severe_since) + reminderWaitMs(state, policy)) return silent(state);
  return notify({ ...state, reminders: state.reminders + 1 }, "reminded", now);
}

export function close(state: AlertState, at: number): Step {
  if (state.status === "closed") return silent(state);
  const closed: AlertState = { ...state, status: "closed", closed_at: at };
  // Who was told that it is bad is told that it is over; nobody else is. That message does not begin a cool-down.
  return state.alarmed === 1
    ? { state: { ...closed, alarmed: 0, messages: closed.messages + 1 }, transition: "closed" }
    : silent(closed);
}

export function acknowledge(state: AlertState, at: number): Step {
  return state.status === "open" ? notify({ ...state, status: "acknowledged" }, "acknowledged", at) : silent(state);
}
