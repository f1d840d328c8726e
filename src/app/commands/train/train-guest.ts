import { writeFileSync } from "node:fs";
import { createAlerts } from "../../../cluster/index.ts";
import type { Rows } from "../../../events/index.ts";
import type { Json } from "../../../kernel/index.ts";
import type { PipelineSnapshot } from "../../../pipeline/index.ts";
import { answer, negative, type Shell, shorten } from "../../../surfaces/commands/index.ts";
import { createPipelineTeller, type PipelineFigures, pipelineLines } from "../../../surfaces/index.ts";
import { pipelineOnTheWire } from "../../../surfaces/pipeline/wire.ts";
import { reportOf } from "../../../surfaces/report/index.ts";
import { whyHeldBack } from "../../../work/index.ts";
import type { Coordination } from "../../bootstrap.ts";
import type { WantedPlan } from "../../pipeline/plans.ts";
import { findDataDir } from "../../settings/places.ts";
import type { Settings } from "../../settings.ts";
import { readVersion } from "../../version.ts";
import type { MainGuest } from "../up/main-guest.ts";
import type { Sample } from "../up/up-view.ts";
import { type Chaos, reported } from "./chaos/chaos.ts";
import { chaosLine, chaosTable } from "./chaos/chaos-view.ts";
import { chaosWorldOf } from "./chaos/chaos-world.ts";
import { keepReport } from "./keep-report.ts";

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
  /** What was typed. */
  readonly command: string;
  /** It goes on when all rounds are done, as a main process does. */
  readonly stays?: boolean;
  /** Harm that is done on purpose, and how it is caught. */
  readonly chaos?: Chaos | undefined;
}

type Main = Coordination<Rows>;

const MAX_ALERTS = 200;
const MAX_POINTS = 2_000;
const REPORT_WIDTH = 100;
/** A terminal that does not say how high it is. */
const USUAL_HEIGHT = 24;

/** Lines of the live view that are chaos's. */
const CHAOS_LINES = 4;

const isOver = ({ configs }: PipelineSnapshot): boolean =>
  configs.length > 0 && configs.every(({ state }) => state === "complete");

const nonNegative = (ms: number | null): number | null => (ms === null ? null : Math.max(0, ms));

/** Shows the loop while it runs, ends it in time, and writes the report. */
export function createTrainGuest(run: TrainRun): MainGuest {
  const { settings, shell, plans, forMs } = run;
  const { clock } = shell;
  const teller = createPipelineTeller();
  const games = new Map<string, { at: number; games: number }[]>();
  let beganMs = clock.monotonic();
  /** Of several coordinators, one may lead more than once: time counts from the first. */
  let hasBegun = false;
  /** As which node its own worker works. */
  let ownNode = settings.nodeId;
  let endedBy = "it was told to stop";
  let lookedAt = 0;

  const remainingMs = (): number | null => (forMs === undefined ? null : forMs - (clock.monotonic() - beganMs));

  /** Workers that are not its own children: on other machines, or started here by hand. */
  const othersAt = (main: Main): Pick<PipelineFigures, "elsewhere" | "held"> => {
    const there = main.queue.workers.list();
    const isOwn = ({ node_id }: { readonly node_id: string }) => node_id === ownNode && settings.localWorkers > 0;
    const isHere = settings.localWorkers > 0 || there.some(({ node_id }) => node_id === ownNode);
    return {
      elsewhere: there.filter((worker) => !isOwn(worker)).length,
      held: isHere ? whyHeldBack(main.router.store, ownNode, clock.now()) : undefined,
    };
  };

  const figuresOf = (main: Main, sample: Sample): PipelineFigures => ({
    eventsPerSecond: sample.perSecond,
    alerts: sample.alerts ?? 0,
    workers: settings.localWorkers,
    ...othersAt(main),
    uptimeMs: sample.uptimeMs,
    remainingMs: nonNegative(remainingMs()),
  });

  const note = ({ at, configs }: PipelineSnapshot) => {
    for (const { config_key, games: count } of configs) {
      const points = games.get(config_key) ?? [];
      const last = points.at(-1);
      // A stretch without a game is flat, not a slope to the next one: its end is kept as well.
      if (last !== undefined && last.games !== count && lookedAt > last.at)
        points.push({ at: lookedAt, games: last.games });
      if (last?.games !== count) points.push({ at, games: count });
      // Half of the points say the same, for however long it runs.
      games.set(config_key, points.length > MAX_POINTS ? points.filter((_, i) => i % 2 === 0) : points);
    }
    lookedAt = at;
  };

  const report = (main: Main): void => {
    if (run.report === false) return;
    const snapshot = main.loop();
    note(snapshot);
    const alerts = createAlerts({ store: main.router.store, clock }).list({ limit: MAX_ALERTS });
    const about = {
      started_at: main.startedAt,
      ended_at: clock.now(),
      ended_by: endedBy,
      command: run.command,
      data_dir: settings.dataDir === findDataDir(shell.io.cwd) ? undefined : settings.dataDir,
      versions: { ringrift: readVersion(), node: process.versions.node, sqlite: process.versions.sqlite ?? "" },
      plans: Object.fromEntries(plans.map(({ plan }) => [plan.config_key, plan as unknown as Record<string, Json>])),
      games: Object.fromEntries(games),
      alerts,
      incidents: reported(run.chaos?.incidents() ?? []),
    };
    const { text, html } = reportOf(snapshot, about, Math.min(REPORT_WIDTH, shell.width));
    const newest = keepReport(settings.dataDir, html, about.ended_at);
    if (run.report !== undefined) writeFileSync(run.report, html, { mode: 0o600 });
    const file = run.report ?? newest;
    const { configs } = pipelineOnTheWire(snapshot);
    answer(shell, { status: "report", file, configs }, () => [text, `the same with plots: ${file}`]);
  };

  return {
    arrived(main, worker) {
      if (!hasBegun) beganMs = clock.monotonic();
      hasBegun = true;
      ownNode = worker?.nodeId ?? ownNode;
      if (run.chaos !== undefined && worker !== undefined) run.chaos.arrived(chaosWorldOf(main, worker, run));
    },
    lines(main, sample) {
      const { rows = USUAL_HEIGHT } = shell.io;
      const last = run.chaos?.last(CHAOS_LINES) ?? [];
      const height = rows - last.length;
      const loop = pipelineLines(main.loop(), figuresOf(main, sample), {
        paint: shell.paint,
        width: shell.width,
        height,
      });
      return [...loop, ...last.map((line) => chaosLine(shorten(line, shell.width - 1), shell.paint))];
    },
    look(main, sample) {
      const snapshot = main.loop();
      note(snapshot);
      const remainsMs = remainingMs();
      const chaos = run.chaos?.look(remainsMs) ?? [];
      if (run.plain) {
        const value = { status: "loop", ...pipelineOnTheWire(snapshot) };
        answer(shell, value, () => teller.look(snapshot, figuresOf(main, sample)));
        for (const line of chaos) answer(shell, { status: "chaos", line }, () => line);
      }
      const timeIsUp = remainsMs !== null && remainsMs <= 0;
      if (timeIsUp) endedBy = "its time was up";
      const isDone = run.stays !== true && isOver(snapshot);
      if (!timeIsUp && isDone) endedBy = "all rounds that were asked for are done";
      return timeIsUp || isDone;
    },
    wait: () => (remainingMs() ?? 1) <= 0,
    async leaving(main) {
      await run.chaos?.end();
      report(main);
      if (run.chaos === undefined) return;
      const incidents = run.chaos.incidents();
      answer(shell, { status: "chaos", incidents }, () => chaosTable(incidents, shell));
    },
    left() {
      if (run.chaos?.incidents().some(({ state }) => state === "not caught")) throw negative();
    },
  };
}
