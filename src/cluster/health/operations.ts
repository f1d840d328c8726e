import type { AnyEvent, Operation } from "../../router/index.ts";
import { fill } from "../alerts/judge.ts";
import { type HealthEvent, healthMeanings, type Meaning } from "./health-events.ts";
import { noteFailure, noteRecovery, noteWell } from "./health-rows.ts";

const MAX_TEXT = 500;

/** What an event writes down. Texts are bounded: they come from others. */
export function operationsOf(eventType: HealthEvent, event: AnyEvent, at: number): Operation[] {
  const payload = event.payload as Readonly<Record<string, unknown>>;
  const meaning: Meaning = healthMeanings[eventType];
  const text = (template: string) => fill(template, payload, MAX_TEXT);
  const node_id = typeof payload.node_id === "string" ? payload.node_id : undefined;
  switch (meaning.kind) {
    case "failure": {
      const component = text(meaning.component).slice(0, 200);
      if (meaning.when !== undefined && !meaning.when.among.includes(payload[meaning.when.field]))
        return meaning.orWell ? [noteWell({ component, at })] : [];
      const own = payload.severity;
      if (meaning.severity === "own" && own === "info") return [];
      const severity =
        meaning.severity === "own" ? (own === "warning" || own === "critical" ? own : "error") : meaning.severity;
      const { eventId: event_id } = event;
      const held = meaning.held ?? false;
      return [
        noteFailure({ component, severity, error: text(meaning.text), held, event_type: eventType, event_id, at }),
      ];
    }
    case "well":
      return [noteWell({ component: text(meaning.component).slice(0, 200), at })];
    case "recovery":
      return node_id === undefined
        ? []
        : [noteRecovery({ node_id, step: meaning.step, action: text(meaning.text), at })];
    case "gone":
    case "beat":
      return [];
  }
}
