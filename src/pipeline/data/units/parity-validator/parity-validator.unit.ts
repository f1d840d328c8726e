import type { Wiring } from "../../../../daemons/index.ts";
import {
  defineConfigUnit,
  doneIn,
  everyMs,
  isFor,
  isTurnOf,
  JOB_ENDS,
  type LookOf,
  type StageServices,
  selfplayWork,
  waiting,
} from "../../../stage/index.ts";
import { type ParityRow, parities } from "../../tables.ts";
import { ask, collect } from "./checks.ts";
import { isClean } from "./findings.ts";

const wiring = {
  name: "parity_validator",
  layer: 4,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["INTEGRITY_CHECK"],
  alsoKnownAs: ["ParityValidator"],
  dependsOn: ["event_router"],
  emits: [
    "WORK_QUEUED",
    "PARITY_VALIDATION_STARTED",
    "PARITY_VALIDATION_COMPLETED",
    "PARITY_FAILURE_RATE_CHANGED",
    "DATA_QUALITY_ALERT",
  ],
} as const satisfies Wiring;

type Look = LookOf<typeof wiring>;

/**
 * Has every segment of a batch checked before it counts: that its games follow the rules, that its labels are those of its
 * games, and that a share of them comes out the same when played again. It collects what was found and judges nothing:
 * `quality_monitor_daemon` does.
 */
export const parityValidator = (services: StageServices) =>
  defineConfigUnit({
    ...wiring,
    state: { tables: { parities } },
    wakes: ["PIPELINE_STAGE_ENTERED", "DATABASE_CREATED", ...JOB_ENDS],
    jobs: "validation",
    everyMs: everyMs(services),
    look: (look) => check(services, look),
    health: ({ rows }) => {
      const all = rows.list(parities);
      const [bad] = all.filter(([, { failure }]) => failure !== null);
      return {
        status: bad === undefined ? "running" : "degraded",
        message: bad === undefined ? "" : `${bad[0]}: ${bad[1].failure?.message}`,
        details: { failure_rates: Object.fromEntries(all.map(([key, { failure_rate }]) => [key, failure_rate])) },
      };
    },
  });

function check(services: StageServices, look: Look): void {
  const { at, plan, now } = look;
  if (!isTurnOf("data_sync", at) || !plan.kinds.includes("validation")) return;
  const segments = doneIn(look.row(selfplayWork), at)?.own.segments;
  if (segments === undefined) return;
  const row = begun(look);
  if (row.state !== "running") return;
  const turn = { ...look, at };
  const asked = look.paused === null ? ask(services, turn, row, segments) : row;
  // Jobs that are added in this very commit cannot have ended; to the queue they are not there yet.
  const isNew = Object.entries(asked.jobs).some(([part, workId]) => row.jobs[part] !== workId);
  const wait = { for: "parity", actual: 0, required: segments.length };
  look.put(parities, isNew ? waiting(asked, now, wait) : collect(services, turn, asked, segments));
}

/** The checks of this attempt: what was found before stays known. */
function begun({ row, at, now }: Look): ParityRow {
  const last = row(parities);
  if (isFor(last, at)) return last;
  const { iteration, attempt } = at!;
  const before = last?.iteration === iteration ? last : undefined;
  const known = Object.entries(before?.checked ?? {});
  const faulty = known.filter(([, found]) => !isClean(found));
  return {
    iteration,
    attempt,
    state: "running",
    since: now,
    ended_at: null,
    jobs: {},
    // What was found clean stays so while it is the same file; a fault is looked for once more, by somebody else.
    checked: Object.fromEntries(known.filter(([, found]) => isClean(found))),
    doubted: {
      ...before?.doubted,
      ...Object.fromEntries(
        faulty.map(([part, { validator }]) => [part, [...(before?.doubted[part] ?? []), validator]]),
      ),
    },
    unchecked: {},
    failure: null,
    waits: [],
    failure_rate: last?.failure_rate ?? 0,
  };
}
