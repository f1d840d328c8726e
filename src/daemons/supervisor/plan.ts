/** Where a run stands: none, begun, ready, or told to end. */
export type Phase = "down" | "starting" | "running" | "stopping";

/** A daemon as the plan sees it. */
export interface DaemonView {
  readonly name: string;
  readonly dependsOn: readonly string[];
  readonly phase: Phase;
  /** Somebody asked for it. */
  readonly wanted: boolean;
  /** It may not run, whoever asks: given up, held, broken, or an old run of it has not ended. */
  readonly barred: boolean;
  /** It may not be started before this time. */
  readonly notBefore: number;
}

export interface Plan {
  readonly start: readonly string[];
  /** Each with the dependency because of which it cannot go on, if that is why. */
  readonly stop: readonly { readonly name: string; readonly dependency: string | null }[];
  /** When to look again although nothing happened; null if never. */
  readonly wakeAt: number | null;
}

/**
 * What to do next, from how things stand: no memory, so it can be asked at any time and again. Daemons come in start
 * order. One starts when all it depends on is ready; one whose ground is gone ends at once; one that nobody wants any
 * more ends when all that depend on it have ended.
 */
export function planNext(views: readonly DaemonView[], now: number): Plan {
  const may = new Map<string, boolean>();
  for (const { name, wanted, barred, dependsOn } of views)
    may.set(name, wanted && !barred && dependsOn.every((on) => may.get(on) === true));
  const phases = new Map(views.map(({ name, phase }) => [name, phase]));
  const lives = (name: string) => phases.get(name) === "running" || phases.get(name) === "starting";

  const stop: { name: string; dependency: string | null }[] = [];
  const end = (name: string, dependency: string | null) => {
    stop.push({ name, dependency });
    phases.set(name, "stopping");
  };
  for (const { name, dependsOn } of views) {
    const gone = dependsOn.find((on) => phases.get(on) !== "running");
    if (lives(name) && gone !== undefined) end(name, gone);
  }
  const dependents = new Map<string, string[]>();
  for (const { name, dependsOn } of views)
    for (const on of dependsOn) dependents.set(on, [...(dependents.get(on) ?? []), name]);
  for (const { name, dependsOn, wanted, barred } of [...views].reverse()) {
    if (!lives(name) || may.get(name)) continue;
    if ((dependents.get(name) ?? []).every((other) => phases.get(other) === "down"))
      end(name, wanted && !barred ? (dependsOn.find((on) => may.get(on) !== true) ?? null) : null);
  }

  const start: string[] = [];
  let wakeAt: number | null = null;
  for (const { name, dependsOn, phase, notBefore } of views) {
    if (phase !== "down" || !may.get(name) || !dependsOn.every((on) => phases.get(on) === "running")) continue;
    if (notBefore <= now) start.push(name);
    else wakeAt = Math.min(wakeAt ?? Number.POSITIVE_INFINITY, notBefore);
  }
  return { start, stop, wakeAt };
}

/** The way from a daemon down to the one at which its trouble begins: each waits for the next. */
export function pathToTrouble(views: ReadonlyMap<string, DaemonView>, name: string): string[] {
  const path = [name];
  for (;;) {
    const next = views.get(path.at(-1)!)?.dependsOn.find((on) => views.get(on)?.phase !== "running");
    if (next === undefined || path.includes(next)) return path;
    path.push(next);
  }
}
