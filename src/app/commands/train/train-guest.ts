import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { alertBook } from "../../../cluster/index.ts";
import type { Rows } from "../../../events/index.ts";
import type { Json } from "../../../kernel/index.ts";
import type { LoopSnapshot } from "../../../pipeline/index.ts";
import { createLoopTeller, type LoopFigures, loopLines, type Shell } from "../../../surfaces/cli/index.ts";
import { type ReportAbout, reportOf } from "../../../surfaces/report/index.ts";
import type { Coordination } from "../../bootstrap.ts";
import type { WantedPlan } from "../../loop/plans.ts";
import type { Settings } from "../../settings.ts";
import { readVersion } from "../../version.ts";
import type { Sample } from "../up/up-view.ts";
import type { MainGuest } from "../up.command.ts";

export interface TrainRun {
  readonly settings: Settings;
  readonly shell: Shell;
  readonly plans: readonly WantedPlan[];
  /** Milliseconds until it ends by itself. */
  readonly forMs: number | undefined;
  /** Where the report goes; false for none. */
  readonly report: string | false | undefined;
  /** A line for each thing that happens, not a view that is drawn again and again. */
  readonly plain: boolean;
  readonly incidents: () => ReportAbout["incidents"];
}

type Main = Coordination<Rows>;

const MOST_ALERTS = 200;
const MOST_POINTS = 2_000;
/** A terminal that does not say how high it is. */
const USUAL_HEIGHT = 24;

const isOver = ({ configs }: LoopSnapshot): boolean =>
  configs.length > 0 && configs.every(({ state }) => state === "complete");

/** Shows the loop while it runs, ends it in time, and writes the report. */
export function createTrainGuest(run: TrainRun): MainGuest {
  const { settings, shell, plans, forMs } = run;
  const { clock } = shell;
  const teller = createLoopTeller();
  const games = new Map<string, { at: number; games: number }[]>();
  let beganMs = clock.monotonic();
  let endedBy = "it was told to stop";

  const figuresOf = (sample: Sample): LoopFigures => ({
    eventsPerSecond: sample.perSecond,
    alerts: sample.alerts ?? 0,
    workers: settings.localWorkers,
    uptimeMs: sample.uptimeMs,
    remainingMs: forMs === undefined ? null : Math.max(0, forMs - (clock.monotonic() - beganMs)),
  });

  const note = ({ at, configs }: LoopSnapshot) => {
    for (const { config_key, games: count } of configs) {
      const points = games.get(config_key) ?? [];
      if (points.at(-1)?.games !== count) points.push({ at, games: count });
      // Half of the points say the same, for however long it runs.
      games.set(config_key, points.length > MOST_POINTS ? points.filter((_, i) => i % 2 === 0) : points);
    }
  };

  const report = (main: Main): void => {
    if (run.report === false) return;
    const snapshot = main.loop();
    note(snapshot);
    const alerts = alertBook({ store: main.router.store, clock }).list({ limit: MOST_ALERTS });
    const { text, html } = reportOf(snapshot, {
      started_at: main.startedAt / 1_000,
      ended_at: clock.now() / 1_000,
      ended_by: endedBy,
      command: "ringrift train",
      versions: { ringrift: readVersion(), node: process.versions.node, sqlite: process.versions.sqlite ?? "" },
      plans: Object.fromEntries(plans.map(({ plan }) => [plan.config_key, plan as unknown as Record<string, Json>])),
      games: Object.fromEntries(games),
      alerts,
      incidents: run.incidents(),
    });
    const file = run.report ?? join(settings.dataDir, "report.html");
    writeFileSync(file, html, { mode: 0o600 });
    if (shell.json) shell.print({ status: "report", file, configs: snapshot.configs });
    else {
      shell.say(text);
      shell.say(`the same with plots: ${file}`);
    }
  };

  return {
    arrived() {
      beganMs = clock.monotonic();
    },
    lines(main, sample) {
      const { rows: height = USUAL_HEIGHT } = shell.io;
      return loopLines(main.loop(), figuresOf(sample), { paint: shell.paint, width: shell.width, height });
    },
    look(main, sample) {
      const snapshot = main.loop();
      note(snapshot);
      if (run.plain && shell.json) shell.print({ status: "loop", ...snapshot });
      else if (run.plain) for (const line of teller.look(snapshot, figuresOf(sample))) shell.say(line);
      const timeIsUp = forMs !== undefined && clock.monotonic() - beganMs >= forMs;
      if (timeIsUp) endedBy = "its time was up";
      else if (isOver(snapshot)) endedBy = "all rounds that were asked for are done";
      return timeIsUp || isOver(snapshot);
    },
    leaving: report,
  };
}
