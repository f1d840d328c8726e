import type { Store } from "../router/index.ts";

/** Jobs of one batch play with the same models: only what they counted can be compared. */
interface Count {
  readonly batch_id: string;
  readonly node_id: string;
  readonly name: string;
  readonly count: number;
}

const MAX_BATCHES = 200;
/** Outcomes that a side must have in a batch, and that are to be expected of each kind, to be compared at all. */
const MIN_OUTCOMES = 10;
const MIN_EXPECTED = 1;

/** What workloads count of how games ended: by seat in self-play, from the candidate's side in matches. */
const COUNTED = `WITH own AS (SELECT batch_id FROM work_jobs WHERE node_id = ?1 AND state = 'completed' AND finished_at >= ?2
    AND batch_id IS NOT NULL GROUP BY batch_id ORDER BY max(seq) DESC LIMIT ${MAX_BATCHES})
  SELECT j.batch_id, j.node_id, c.key AS name, total(c.value) AS count
  FROM own JOIN work_jobs j ON j.batch_id = own.batch_id, json_each(j.outcome, '$.counts') c
  WHERE j.state = 'completed' AND (c.key GLOB 'outcome_[0-9]*' OR c.key IN ('wins', 'draws', 'losses'))
  GROUP BY 1, 2, 3`;

/** Chi-square of two rows of counts, and its degrees of freedom; undefined where there is too little to say anything. */
export function chiSquareOf(
  own: readonly number[],
  others: readonly number[],
): { readonly chi: number; readonly degrees: number } | undefined {
  const total = (row: readonly number[]) => row.reduce((sum, count) => sum + count, 0);
  const [n, m] = [total(own), total(others)];
  if (n < MIN_OUTCOMES || m < MIN_OUTCOMES) return undefined;
  let chi = 0;
  let kinds = 0;
  for (const [i, mine] of own.entries()) {
    const both = mine + others[i]!;
    const [here, there] = [(both * n) / (n + m), (both * m) / (n + m)];
    if (here < MIN_EXPECTED || there < MIN_EXPECTED) continue;
    kinds += 1;
    chi += (mine - here) ** 2 / here + (others[i]! - there) ** 2 / there;
  }
  return kinds < 2 ? undefined : { chi, degrees: kinds - 1 };
}

/**
 * How far the results of a node are from those of the others in the same batches, in standard deviations: about 0 for a node
 * like the others, and beyond 3 by chance less than once in a hundred. Null where there is nothing to compare.
 */
export async function resultsResidual(
  store: Pick<Store, "scan">,
  nodeId: string,
  since: number,
  signal?: AbortSignal,
): Promise<number | null> {
  const counted = await store.scan<Count>(COUNTED, [nodeId, since], signal);
  const batches = Map.groupBy(counted, ({ batch_id }) => batch_id);
  let chi = 0;
  let degrees = 0;
  for (const counts of batches.values()) {
    const names = [...new Set(counts.map(({ name }) => name))].sort();
    const row = (isOwn: boolean) =>
      names.map((name) =>
        counts
          .filter((each) => each.name === name && (each.node_id === nodeId) === isOwn)
          .reduce((sum, { count }) => sum + count, 0),
      );
    const found = chiSquareOf(row(true), row(false));
    if (found === undefined) continue;
    chi += found.chi;
    degrees += found.degrees;
  }
  return degrees === 0 ? null : (chi - degrees) / Math.sqrt(2 * degrees);
}
