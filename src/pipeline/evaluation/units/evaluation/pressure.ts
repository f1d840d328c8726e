/** How much evaluation is under way, and whether training waits for it. */
import type { UnitContext } from "../../../../daemons/index.ts";
import { sumOf } from "../../../../kernel/index.ts";
import { evaluationWork, followJobs } from "../../../stage/index.ts";
import { EVALUATION_SCOPE, evaluationPressures } from "../../../training/index.ts";
import type { EvaluationServices } from "../../services.ts";
import { uncounted } from "./match.ts";

type Context = UnitContext<"EVALUATION_BACKPRESSURE" | "EVALUATION_BACKPRESSURE_RELEASED", unknown>;

/** Both edges are told once: pressure comes at one depth and goes at a lower one. */
export function watchPressure({ queue, settings }: EvaluationServices, { rows, emit, now }: Context): void {
  const { evaluationPressureAt, evaluationReleaseAt } = settings;
  const depth = sumOf(
    rows.list(evaluationWork).filter(([, { state }]) => state === "running"),
    ([, work]) => followJobs(queue, uncounted(work)).open.length,
  );
  const before = rows.get(evaluationPressures, EVALUATION_SCOPE);
  const on = before?.on === true ? depth > evaluationReleaseAt : depth >= evaluationPressureAt;
  if (on === (before?.on ?? false)) return;
  rows.put(evaluationPressures, EVALUATION_SCOPE, { on, depth, since: now });
  emit[on ? "EVALUATION_BACKPRESSURE" : "EVALUATION_BACKPRESSURE_RELEASED"]({
    scope: EVALUATION_SCOPE,
    queue_depth: depth,
    threshold: evaluationPressureAt,
    release_threshold: evaluationReleaseAt,
  });
}
