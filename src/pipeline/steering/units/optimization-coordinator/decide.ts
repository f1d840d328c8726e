import type { ConfigPlan, SearchMethod, SearchOrder, SearchRequest } from "../../../stage/index.ts";

export interface SearchFacts {
  /** A plan of an older version says nothing of some of them. */
  readonly plan: Partial<Pick<ConfigPlan, "tuning" | "population" | "architecture">>;
  /** Whether the workload plays evaluations. */
  readonly canPlay: boolean;
  readonly iteration: number;
  /** Whether the training files of this iteration are there: members of a population learn from them. */
  readonly hasData: boolean;
  readonly last: Pick<SearchOrder, "iteration" | "requested_at" | "begun"> | undefined;
  readonly request: SearchRequest | undefined;
  readonly plateau: { readonly metric: string; readonly iteration: number } | undefined;
}

export interface Reason {
  readonly method: SearchMethod;
  readonly words: string;
  /** Of the person's wish that is met by it. */
  readonly requested_at: number | null;
}

const isNamed = (all: object | undefined): boolean => Object.keys(all ?? {}).length > 0;

/** Whether a multiple of `every` was passed since it was begun last. */
const isDue = (every: number | null | undefined, iteration: number, begun = 0): every is number =>
  every != null && Math.floor(iteration / every) > Math.floor(begun / every);

/**
 * Which search is to begin now, and why; undefined where none is. A person's wish counts once. What the plan asks for is met once in an
 * iteration at most, and follows from the iteration alone: of several that are due, the others come in the iterations after it.
 */
export function reasonToSearch(facts: SearchFacts): Reason | undefined {
  const { plan, canPlay, iteration, last, request, plateau, hasData } = facts;
  const { tuning, population, architecture } = plan;
  if (!canPlay || iteration < 1) return undefined;
  const can: Readonly<Record<SearchMethod, boolean>> = {
    cmaes: isNamed(tuning?.parameters),
    pbt: isNamed(population?.parameters),
    nas: isNamed(architecture?.shapes),
  };
  const met = last?.requested_at ?? null;
  if (request !== undefined && (met === null || request.at > met)) {
    const method = request.method ?? "cmaes";
    if (can[method] && (method === "cmaes" || hasData))
      return { method, words: `${request.by}: ${request.reason}`, requested_at: request.at };
  }
  if (last !== undefined && last.iteration >= iteration) return undefined;
  if (can.cmaes && tuning!.every !== null && iteration % tuning!.every === 0)
    return { method: "cmaes", words: `every ${tuning!.every} iterations, by the plan`, requested_at: met };
  if (can.cmaes && tuning!.on_plateau && plateau !== undefined && plateau.iteration > (last?.iteration ?? 0))
    return { method: "cmaes", words: `${plateau.metric} has stopped improving`, requested_at: met };
  for (const [method, every] of [
    ["pbt", population?.every],
    ["nas", architecture?.every],
  ] as const)
    if (can[method] && isDue(every, iteration, last?.begun?.[method]))
      return hasData ? { method, words: `every ${every} iterations, by the plan`, requested_at: met } : undefined;
  return undefined;
}
