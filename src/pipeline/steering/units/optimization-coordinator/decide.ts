import type { ConfigPlan, SearchOrder } from "../../../stage/index.ts";

export interface SearchFacts {
  readonly tuning: ConfigPlan["tuning"];
  /** Whether the workload plays evaluations. */
  readonly canPlay: boolean;
  readonly iteration: number;
  readonly last: Pick<SearchOrder, "iteration" | "requested_at"> | undefined;
  readonly request: { readonly by: string; readonly at: number; readonly reason: string } | undefined;
  readonly plateau: { readonly metric: string; readonly iteration: number } | undefined;
}

export interface Reason {
  readonly words: string;
  /** Of the person's wish that is met by it. */
  readonly requested_at: number | null;
}

/**
 * Why a search is to begin now; undefined where none is. A person's wish counts once. What the plan asks for is met once in an
 * iteration at most, and follows from the iteration alone.
 */
export function reasonToSearch(facts: SearchFacts): Reason | undefined {
  const { tuning, canPlay, iteration, last, request, plateau } = facts;
  if (!canPlay || iteration < 1 || Object.keys(tuning.parameters).length === 0) return undefined;
  const met = last?.requested_at ?? null;
  if (request !== undefined && (met === null || request.at > met))
    return { words: `${request.by}: ${request.reason}`, requested_at: request.at };
  if (last !== undefined && last.iteration >= iteration) return undefined;
  if (tuning.every !== null && iteration % tuning.every === 0)
    return { words: `every ${tuning.every} iterations, by the plan`, requested_at: met };
  if (tuning.on_plateau && plateau !== undefined && plateau.iteration > (last?.iteration ?? 0))
    return { words: `${plateau.metric} has stopped improving`, requested_at: met };
  return undefined;
}
