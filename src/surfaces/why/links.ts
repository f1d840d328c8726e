/** Where the page shows more of a cause, and of each step on the way to it. */
import type { Cause } from "../../daemons/cause.ts";

type Step = Cause["because"][number];

/** Most are about something that can be asked why; these are about something else, and have a view of their own. */
const VIEWS: Readonly<Record<string, (subject: string) => string>> = {
  alerts: () => "/alerts",
  dead_letters: () => "/dead-letters",
  health: () => "/daemons",
  no_worker: () => "/nodes",
  store_fault: () => "/nodes",
  event_unheard: () => "/wiring",
  breaker_open: (subject) => `/dead-letters?consumer=${encodeURIComponent(subject.replace(/ \S+$/, ""))}`,
  consumer_behind: () => "/journal?tab=consumers",
};

export const causeLink = ({ code, subject }: Pick<Cause, "code" | "subject">): string =>
  VIEWS[code]?.(subject) ?? `/why/${encodeURIComponent(subject)}`;

/** A stage is shown on the page of its config, which is the first step of the way. */
export const stepLink = ({ kind, subject }: Step, [first]: readonly Step[]): string =>
  kind === "stage" && first?.kind === "config"
    ? `/configs/${encodeURIComponent(first.subject)}`
    : `/why/${encodeURIComponent(subject)}`;
