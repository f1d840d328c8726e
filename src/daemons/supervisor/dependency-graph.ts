import { didYouMean, OperatingError } from "../../kernel/index.ts";

/** A daemon as the graph sees it. */
interface Node {
  readonly name: string;
  readonly dependsOn: readonly string[];
}

export type GraphFaultKind = "unknown_dependency" | "dependency_cycle" | "profile_not_closed";

/** What is wrong, and the path on which it was found: each depends on the next. */
export interface GraphFault {
  readonly kind: GraphFaultKind;
  readonly path: readonly string[];
  readonly message: string;
}

export type DependencyGraph = ReturnType<typeof dependencyGraph>;

const arrows = (path: readonly string[]) => path.join(" -> ");

/** Looks at all daemons at once. It never throws: what is broken is named, and the rest can run. */
export function dependencyGraph(nodes: readonly Node[]) {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const faults: GraphFault[] = [];
  const verdicts = new Map<string, GraphFault | undefined>();
  const order: string[] = [];
  const fault = (kind: GraphFaultKind, path: readonly string[], message: string): GraphFault => {
    const found = { kind, path, message };
    faults.push(found);
    return found;
  };

  const visit = (name: string, above: readonly string[]): GraphFault | undefined => {
    const path = [...above, name];
    const entered = above.indexOf(name);
    if (entered >= 0) {
      const circle = path.slice(entered);
      const reported = faults.find(({ kind, path: known }) => kind === "dependency_cycle" && known.includes(name));
      return reported ?? fault("dependency_cycle", circle, `daemons depend on themselves: ${arrows(circle)}`);
    }
    if (verdicts.has(name)) return verdicts.get(name);
    const node = byName.get(name);
    if (node === undefined)
      return fault(
        "unknown_dependency",
        path,
        `there is no daemon '${name}': ${arrows(path)}.${didYouMean(name, [...byName.keys()])}`,
      );
    let first: GraphFault | undefined;
    for (const next of node.dependsOn) {
      const found = visit(next, path);
      first ??= found;
    }
    verdicts.set(name, first);
    if (first === undefined) order.push(name);
    return first;
  };
  for (const { name } of nodes) visit(name, []);

  const dependents = new Map<string, string[]>();
  for (const { name, dependsOn } of nodes)
    for (const on of new Set(dependsOn)) dependents.set(on, [...(dependents.get(on) ?? []), name]);

  return {
    faults,
    /** Dependencies before dependents; broken daemons are left out. Equal ones keep the order they were given in. */
    order,
    /** Why a daemon cannot run as the graph stands, because of itself or of what it depends on; undefined if it can. */
    faultOf: (name: string): GraphFault | undefined => verdicts.get(name),
    dependentsOf: (name: string): readonly string[] => dependents.get(name) ?? [],
    /** Everything that these need, themselves included, in start order. */
    closureOf(names: readonly string[]): readonly string[] {
      const needed = new Set<string>();
      const add = (name: string) => {
        if (needed.has(name)) return;
        needed.add(name);
        for (const next of byName.get(name)?.dependsOn ?? []) add(next);
      };
      for (const name of names) add(name);
      return order.filter((name) => needed.has(name));
    },
  };
}

/** A profile must hold what its daemons depend on; what is `up` already may stay outside. */
export function profileFaults(
  profile: string,
  members: readonly string[],
  nodes: readonly Node[],
  up: ReadonlySet<string> = new Set(),
): GraphFault[] {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const inside = new Set(members);
  return members.flatMap((name) =>
    (byName.get(name)?.dependsOn ?? [])
      .filter((on) => !inside.has(on) && !up.has(on))
      .map((on) => ({
        kind: "profile_not_closed" as const,
        path: [name, on],
        message: `profile '${profile}' does not hold what its daemons need: ${arrows([name, on])}`,
      })),
  );
}

const codes: Readonly<Record<GraphFaultKind, string>> = {
  unknown_dependency: "UNKNOWN_DEPENDENCY",
  dependency_cycle: "DEPENDENCY_CYCLE",
  profile_not_closed: "PROFILE_NOT_CLOSED",
};

export const graphError = ({ kind, path, message }: GraphFault): OperatingError =>
  OperatingError.conflict(codes[kind], message, {
    hint: "Register what is missing, or change 'dependsOn'.",
    details: { path: [...path] },
  });
