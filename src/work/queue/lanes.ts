import { canonicalJson, OperatingError } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import { type Lane, laneSignature, type Needs } from "../job/needs.ts";
import type { LaneRow } from "../tables.ts";

/** All lanes, in memory: few, and looked through at every claim. The rows are the truth; they are written with their jobs. */
export type Lanes = ReturnType<typeof createLanes>;

const ALL_LEVELS = [3, 2, 1, 0] as const;

const laneOf = (row: LaneRow): Lane => ({
  lane: row.lane,
  workType: row.work_type,
  configKey: row.config_key,
  needs: JSON.parse(row.needs) as Needs,
  targets: row.targets === null ? null : (JSON.parse(row.targets) as string[]),
  excluded: JSON.parse(row.excluded) as string[],
});

export function createLanes(store: Pick<Store, "read">, max: number) {
  const lanes = new Map<number, Lane>();
  const rows = new Map<number, LaneRow>();
  const bySignature = new Map<string, Lane>();
  /** The classes that may hold something, most urgent first; all of them for a lane that is not named. */
  const open = new Map<number, readonly number[]>();
  let next = 1;
  const enter = (row: LaneRow, lane: Lane) => {
    lanes.set(lane.lane, lane);
    rows.set(lane.lane, row);
    bySignature.set(row.signature, lane);
    next = Math.max(next, lane.lane + 1);
  };
  const reload = () => {
    for (const map of [lanes, rows, bySignature, open]) map.clear();
    for (const row of store.read<LaneRow>("SELECT * FROM work_lanes")) enter(row, laneOf(row));
  };
  reload();
  return {
    get size(): number {
      return lanes.size;
    },
    all: (): Iterable<Lane> => lanes.values(),
    get(lane: number): Lane {
      const known = lanes.get(lane);
      if (known !== undefined) return known;
      const row = store.read<LaneRow>("SELECT * FROM work_lanes WHERE lane = ?", lane)[0]!;
      enter(row, laneOf(row));
      return lanes.get(lane)!;
    },
    /** The lane of such jobs, made if there is none yet. */
    find(like: Omit<Lane, "lane">): Lane {
      const signature = laneSignature(like);
      const known = bySignature.get(signature);
      if (known !== undefined) return known;
      if (lanes.size >= max)
        throw OperatingError.busy("WORK_LANES_FULL", `there are ${max} combinations of kind, config, needs and nodes`, {
          retryable: false,
          hint: "Use the same needs, tags and node lists for more jobs.",
        });
      const lane: Lane = { lane: next, ...like };
      enter(
        {
          lane: next,
          signature,
          work_type: like.workType,
          config_key: like.configKey,
          needs: canonicalJson(like.needs),
          targets: like.targets === null ? null : canonicalJson(like.targets),
          excluded: canonicalJson(like.excluded),
        },
        lane,
      );
      return lane;
    },
    rowOf: ({ lane }: Lane): LaneRow => rows.get(lane)!,
    /** Looks at the rows anew, after empty lanes were forgotten. */
    reload,
    /**
     * Classes of a lane that may have a job to claim: those that were found empty are not looked at until one comes.
     */
    levels: ({ lane }: Lane): readonly number[] => open.get(lane) ?? ALL_LEVELS,
    /** A look has found nothing there. */
    empty: (lane: number, level: number) =>
      void open.set(
        lane,
        (open.get(lane) ?? ALL_LEVELS).filter((other) => other !== level),
      ),
    /** A job stands there, on disk. */
    filled(lane: number, level: number) {
      const known = open.get(lane) ?? ALL_LEVELS;
      if (!known.includes(level))
        open.set(
          lane,
          [...known, level].sort((a, b) => b - a),
        );
    },
    /** Jobs may have come without a word. */
    lookEverywhere: () => open.clear(),
  };
}
