/**
 * What runs say of themselves step by step, as in losses: a few hundred points of each job, kept as long as the job. A run that says
 * more is thinned out over its whole length, so that its curve keeps its shape.
 */
import { canonicalJson } from "../kernel/index.ts";
import type { Store } from "../router/index.ts";
import { type LeaseRef, seqOf } from "./job/job.ts";
import { boundedMetrics } from "./leases/lease.ts";
import { appendPoints } from "./tables.ts";
import type { JobView } from "./views.ts";

/** What a run said at one moment. */
export interface CurvePoint {
  readonly at: number;
  /** Share of the run that was done, where it told. */
  readonly progress: number | null;
  readonly metrics: Readonly<Record<string, number>>;
}

/** A job that is tried again begins its curve anew: each try has its own. */
export interface Curve {
  readonly fence: number;
  readonly points: readonly CurvePoint[];
}

interface PointRow {
  readonly fence: number;
  readonly at: number;
  readonly progress: number | null;
  readonly metrics: string;
}

export type Curves = ReturnType<typeof createCurves>;

export function createCurves(store: Pick<Store, "read" | "commit">, jobOf: (workId: string) => JobView | undefined) {
  return {
    /** What the holder of a job says of it, also right after its end; whoever is not its holder is not heard. */
    async tell({ work_id, node_id, fence }: LeaseRef, points: readonly CurvePoint[]): Promise<boolean> {
      const job = jobOf(work_id);
      if (job === undefined || job.node_id !== node_id || job.fence !== fence) return false;
      const said = points.map(({ at, progress, metrics }) => ({
        at,
        progress,
        metrics: canonicalJson(boundedMetrics(metrics)),
      }));
      await store.commit([appendPoints({ seq: seqOf(work_id), fence, points: said })]);
      return true;
    },
    /** Try by try, in the order in which they ran. */
    of(workId: string): readonly Curve[] {
      const rows = store.read<PointRow>(
        "SELECT fence, at, progress, metrics FROM work_points WHERE seq = ? ORDER BY n",
        seqOf(workId),
      );
      return [...Map.groupBy(rows, ({ fence }) => fence)].map(([fence, own]) => ({
        fence,
        points: own.map(({ at, progress, metrics }) => ({
          at,
          progress,
          metrics: JSON.parse(metrics) as Record<string, number>,
        })),
      }));
    },
  };
}
