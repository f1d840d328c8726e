/** When segments become one set, which of them, and how the job that does it is given them. Pure. */
import { sumOf } from "../../../../kernel/index.ts";
import type { ArtifactRow } from "../../../../sync/index.ts";
import { consolidationLimits } from "../../limits.ts";
import type { Input } from "../../rebuild/recipe.ts";
import type { Consolidation } from "../../tables.ts";

/** What the games or rows of one origin came in. */
export type Source = Pick<ArtifactRow, "sha256" | "kind" | "bytes" | "games" | "work_id" | "created_at">;

export type Decision =
  | { readonly kind: "wait"; readonly why: string }
  | { readonly kind: "merge"; readonly sources: readonly Source[] };

/** As many as one job takes, files of one origin together. */
function chosen(sources: readonly Source[], limits: typeof consolidationLimits): Source[] {
  const all: Source[] = [];
  let bytes = 0;
  for (const group of Map.groupBy(sources, ({ work_id, sha256 }) => work_id ?? sha256).values()) {
    const more = sumOf(group, (one) => one.bytes);
    if (all.length > 0 && (all.length + group.length > limits.maxFiles || bytes + more > limits.maxBytes)) break;
    all.push(...group);
    bytes += more;
  }
  return all;
}

/** Whether what was brought is merged now. Few games wait a little for more: each merge writes the whole set anew. */
export function decide(
  row: Pick<Consolidation, "not_before" | "fresh"> | undefined,
  sources: readonly Source[],
  now: number,
  limits = consolidationLimits,
): Decision {
  if (sources.length === 0) return { kind: "wait", why: "nothing was brought" };
  if (row !== undefined && (row.not_before ?? 0) > now) return { kind: "wait", why: "the last try failed" };
  if ((row?.fresh.length ?? 0) >= limits.maxFresh)
    return { kind: "wait", why: `${row!.fresh.length} files of rows wait for an export` };
  const games = sumOf(sources, (one) => one.games);
  const oldest = Math.min(...sources.map(({ created_at }) => created_at));
  if (games < limits.minGames && now - oldest < limits.waitMs)
    return { kind: "wait", why: `${games} games were brought, ${limits.minGames} are merged at once` };
  return { kind: "merge", sources: chosen(sources, limits) };
}

const place = (n: number) => String(n).padStart(4, "0");

/** The inputs of the job: the set so far, games with their rows, and rows whose games nobody has. */
export function inputsOf(set: Consolidation["set"], sources: readonly Source[]): Input[] {
  const inputs: Input[] = [];
  if (set?.games != null) inputs.push({ name: "set-games", sha256: set.games.sha256 });
  if (set != null) inputs.push({ name: "set-samples", sha256: set.samples.sha256 });
  const groups = [...Map.groupBy(sources, ({ work_id, sha256 }) => work_id ?? sha256).values()];
  let n = 0;
  for (const group of groups) {
    const games = group.find(({ kind }) => kind === "games");
    const rows = group.filter(({ kind }) => kind === "samples");
    if (games !== undefined) {
      inputs.push({ name: `games-${place(n)}`, sha256: games.sha256 });
      if (rows[0] !== undefined) inputs.push({ name: `samples-${place(n)}`, sha256: rows[0].sha256 });
    } else
      for (const one of rows) inputs.push({ name: `rows-${place(n)}-${place(inputs.length)}`, sha256: one.sha256 });
    n += 1;
  }
  return inputs;
}

/** When the next try is, after so many. */
export const nextTry = (tries: number, now: number, { firstWaitMs, maxWaitMs } = consolidationLimits): number =>
  now + Math.min(maxWaitMs, firstWaitMs * 2 ** Math.max(0, tries - 1));
