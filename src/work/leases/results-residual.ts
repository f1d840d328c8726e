import type { Store } from "../../router/index.ts";

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

/** Beyond this a node is not one of those that the others are compared with. */
const STRANGE = 3;
/** So many strange nodes are set aside at most: where there are more, nobody knows what is usual. */
const MAX_STRANGE = 8;
/** Of two that differ nobody knows which one is wrong: it is worth a word, and nobody is blamed. */
const UNDECIDED = 4;

/**
 * What workloads count of how games ended: by seat in self-play, from the candidate's side in matches. What the node itself did before
 * that moment does not count: it may have been mended since.
 */
const COUNTED = `WITH own AS (SELECT batch_id FROM work_jobs WHERE node_id = ?1 AND state = 'completed' AND finished_at >= ?2
    AND batch_id IS NOT NULL GROUP BY batch_id ORDER BY max(seq) DESC LIMIT ${MAX_BATCHES})
  SELECT j.batch_id, j.node_id, c.key AS name, total(c.value) AS count
  FROM own JOIN work_jobs j ON j.batch_id = own.batch_id, json_each(j.outcome, '$.counts') c
  WHERE j.state = 'completed' AND (j.node_id <> ?1 OR j.finished_at >= ?2) AND (c.key GLOB 'outcome_[0-9]*' OR c.key IN ('wins', 'draws', 'losses'))
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

/** Chi-square as standard deviations of a normal variable, after Wilson and Hilferty: few degrees have a long tail, which would blame by chance. */
export function deviations(chi: number, degrees: number): number {
  const spread = 2 / (9 * degrees);
  return (Math.cbrt(chi / degrees) - (1 - spread)) / Math.sqrt(spread);
}

/** One batch: what each node counted, all in the same order of names. */
type Batch = ReadonlyMap<string, readonly number[]>;

const batchOf = (counts: readonly Count[]): Batch => {
  const names = [...new Set(counts.map(({ name }) => name))].sort();
  return new Map(
    [...Map.groupBy(counts, ({ node_id }) => node_id)].map(([node, own]) => [
      node,
      names.map((name) => own.find((each) => each.name === name)?.count ?? 0),
    ]),
  );
};

/** How far one node is from the others, without those that were set aside; null where there is nothing to compare. */
function distanceOf(node: string, batches: readonly Batch[], aside: ReadonlySet<string>): number | null {
  let [chi, degrees] = [0, 0];
  for (const batch of batches) {
    const own = batch.get(node);
    if (own === undefined) continue;
    const others = own.map(() => 0);
    for (const [other, counts] of batch)
      if (other !== node && !aside.has(other)) for (const [i, count] of counts.entries()) others[i]! += count;
    const found = chiSquareOf(own, others);
    if (found === undefined) continue;
    chi += found.chi;
    degrees += found.degrees;
  }
  return degrees === 0 ? null : deviations(chi, degrees);
}

/** The same without those that are further from all others than it is: one liar makes everybody look strange who is compared with it. */
function distanceFromSound(node: string, batches: readonly Batch[]): number | null {
  const aside = new Set<string>();
  const known = [...new Set(batches.flatMap((batch) => [...batch.keys()]))];
  for (;;) {
    const own = distanceOf(node, batches, aside);
    const rest = known.filter((each) => each !== node && !aside.has(each));
    if (own === null || own < STRANGE) return own;
    if (rest.length < 2 || aside.size >= MAX_STRANGE) return Math.min(own, UNDECIDED);
    const distances = rest.map((each) => ({ each, far: distanceOf(each, batches, aside) ?? 0 }));
    const worst = distances.reduce((one, other) => (other.far > one.far ? other : one));
    if (worst.far <= own) return own;
    aside.add(worst.each);
  }
}

/**
 * How far the results of a node are from those of the others in the same batches, in standard deviations: about 0 for a node
 * like the others, and beyond 3 by chance about once in a thousand looks. Null where there is nothing to compare.
 */
export async function resultsResidual(
  store: Pick<Store, "scan">,
  nodeId: string,
  since: number,
  signal?: AbortSignal,
): Promise<number | null> {
  const counted = await store.scan<Count>(COUNTED, [nodeId, since], signal);
  return distanceFromSound(nodeId, [...Map.groupBy(counted, ({ batch_id }) => batch_id).values()].map(batchOf));
}
