/** What an event means for alerts: which it raises and which it closes. Pure. */
import { ALERT_SEVERITIES, type AlertPolicy, type AlertSeverity } from "./alert.ts";
import { type AlertRule, alertPolicies, alertRules } from "./rules.ts";

export interface Raise {
  readonly kind: "raise";
  readonly key: string;
  readonly severity: AlertSeverity;
  readonly title: string;
  readonly message: string;
  /** What it is about: the values of its key. */
  readonly subject: string;
  readonly policy: AlertPolicy;
}

export interface Close {
  readonly kind: "close";
  readonly key: string;
}

export type Verdict = Raise | Close;

type Payload = Readonly<Record<string, unknown>>;

const MAX_TITLE = 200;
const MAX_MESSAGE = 2_000;
const MAX_LISTED = 20;

const number = (value: number): string => String(Math.round(value * 1_000) / 1_000);

/** A value of a payload in words. */
function inWords(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return number(value);
  if (Array.isArray(value)) {
    const shown = value.slice(0, MAX_LISTED).map(inWords).join(", ");
    return value.length > MAX_LISTED ? `${shown} and ${value.length - MAX_LISTED} more` : shown;
  }
  // Fields that a sender outside left out are no reason to lose its alarm.
  return value === undefined || value === null ? "(not told)" : JSON.stringify(value);
}

/** Puts fields of a payload into a text, within a bound and on one line. */
export const fill = (text: string, payload: Payload, max: number): string =>
  text
    .replaceAll(/\{(\w+)\}/g, (_, field: string) => inWords(payload[field]))
    .replaceAll(/\s+/g, " ")
    .slice(0, max);

const parts = (by: readonly string[], payload: Payload): string[] =>
  by.map((field) =>
    field.startsWith("=") ? field.slice(1) : payload[field] === undefined ? "" : inWords(payload[field]),
  );

/** Keys are compared and stored: no part may pass for the end of another. */
const keyOf = (group: string, values: readonly string[]): string =>
  [group, ...values.map((value) => encodeURIComponent(value).slice(0, 200))].join("/");

const OF_LEVEL = new Map<unknown, AlertSeverity>([
  ["critical", "critical"],
  ["stop", "critical"],
  ["high", "error"],
  ["hard", "error"],
]);

const severityOf = ({ severity }: AlertRule, payload: Payload): AlertSeverity => {
  if (severity === "own") return ALERT_SEVERITIES.find((known) => known === payload.severity) ?? "error";
  if (severity !== "level") return severity;
  // A busy processor slows work and stops nothing.
  return payload.resource === "cpu" ? "warning" : (OF_LEVEL.get(payload.level) ?? "warning");
};

type Raising = keyof typeof alertRules;
type Closing = (typeof alertRules)[Raising]["closedBy"][number];

const rules: ReadonlyMap<string, AlertRule> = new Map(Object.entries(alertRules));

/** What an event closes, by event. */
const closers = Map.groupBy(
  [...rules].flatMap(([event, { group = event, by, closedBy }]) => closedBy.map((closer) => ({ closer, group, by }))),
  ({ closer }) => closer,
);

/** Every event that the rules name, as what raises or as what closes. */
export const alertEvents = [...new Set([...rules.keys(), ...closers.keys()])] as (Raising | Closing)[];

/** Of one among many it is told with the others. */
const ruleFor = (rule: AlertRule, payload: Payload): AlertRule => {
  const { many } = rule;
  const count = many && payload[many.field];
  return typeof count === "number" && count >= many!.from ? { ...rule, ...many } : rule;
};

/** What an event raises and closes. */
export function judge(eventType: string, payload: Payload): Verdict[] {
  const verdicts = new Map<string, Verdict>();
  for (const { group, by } of closers.get(eventType) ?? []) {
    const key = keyOf(group, parts(by, payload));
    verdicts.set(key, { kind: "close", key });
  }
  const known = rules.get(eventType);
  if (known === undefined) return [...verdicts.values()];
  const rule = ruleFor(known, payload);
  const values = parts(rule.by, payload);
  const key = keyOf(rule.group ?? eventType, values);
  const { overWhen } = rule;
  if (overWhen !== undefined && payload[overWhen.field] === overWhen.is) verdicts.set(key, { kind: "close", key });
  else {
    verdicts.set(key, {
      kind: "raise",
      key,
      severity: severityOf(rule, payload),
      title: fill(rule.title, payload, MAX_TITLE),
      message: fill(rule.message, payload, MAX_MESSAGE),
      subject: values
        .filter((value) => value !== "")
        .join(" ")
        .slice(0, MAX_TITLE),
      policy: alertPolicies[rule.policy],
    });
  }
  return [...verdicts.values()];
}
