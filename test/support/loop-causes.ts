/** What led to what in a loop, read from its journal alone: whoever asks about an event is shown all of its iteration, and nothing else. */
import type { Store } from "../../src/router/index.ts";
import { CONFIG } from "./loop.ts";

type Journal = Pick<Store, "read">;

/** Said of a config before its first iteration, and by people: these begin a trace of their own. */
const OUTSIDE = ["SELFPLAY_TARGET_UPDATED"];

interface Start {
  readonly event_type: string;
  readonly trace_id: string;
  readonly iteration: number | null;
}

/** Events of a config that follow from nothing that the journal holds in their trace. */
const startsOf = (store: Journal, configKey: string): Start[] =>
  store.read<Start>(
    `SELECT event_type, trace_id, json_extract(payload, '$.iteration') AS iteration FROM events e
     WHERE json_extract(payload, '$.config_key') = ? AND event_type NOT IN (SELECT value FROM json_each(?))
       AND NOT EXISTS (SELECT 1 FROM events p WHERE p.event_id = e.parent_event_id AND p.trace_id = e.trace_id)
     ORDER BY seq`,
    configKey,
    JSON.stringify(OUTSIDE),
  );

/**
 * What is wrong with the causes: in an iteration every event but its start has a parent in the journal, and all share one trace,
 * those of its jobs and those that name no config as well.
 */
export function causeFaults(store: Journal, configKey: string = CONFIG): string[] {
  const starts = startsOf(store, configKey);
  const traceOf = new Map(starts.map(({ iteration, trace_id }) => [iteration, trace_id]));
  const named = store.read<{ event_type: string; iteration: number; trace_id: string }>(
    `SELECT event_type, json_extract(payload, '$.iteration') AS iteration, trace_id FROM events
     WHERE json_extract(payload, '$.config_key') = ? AND json_extract(payload, '$.iteration') IS NOT NULL`,
    configKey,
  );
  const torn = store.read<{ event_type: string; why: string }>(
    `SELECT DISTINCT e.event_type, CASE WHEN p.event_id IS NULL THEN 'follows from what is not stored' ELSE 'left its trace' END AS why
     FROM events e LEFT JOIN events p ON p.event_id = e.parent_event_id
     WHERE e.parent_event_id IS NOT NULL AND (p.event_id IS NULL OR p.trace_id <> e.trace_id)`,
  );
  const scattered = store.read<{ job: string; traces: number }>(
    `SELECT json_extract(payload, '$.work_id') AS job, count(DISTINCT trace_id) AS traces FROM events
     WHERE job IS NOT NULL GROUP BY job HAVING traces > 1`,
  );
  return [
    ...starts
      .filter(({ event_type }) => event_type !== "PIPELINE_STAGE_ENTERED")
      .map(({ event_type }) => `${event_type} has no cause`),
    ...starts
      .filter(({ iteration, trace_id }) => traceOf.get(iteration) !== trace_id)
      .map(({ iteration }) => `iteration ${iteration} begins more than once`),
    ...named
      .filter(({ iteration, trace_id }) => traceOf.get(iteration) !== trace_id)
      .map(({ event_type, iteration }) => `${event_type} of iteration ${iteration} is in another trace`),
    ...torn.map(({ event_type, why }) => `${event_type} ${why}`),
    ...scattered.map(({ job, traces }) => `job ${job} is in ${traces} traces`),
  ];
}
