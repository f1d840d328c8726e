import type { Command } from "commander";
import { isOperatingError } from "../../kernel/index.ts";
import { listAlerts } from "../alerts/wire.ts";
import { adviceWords } from "../cli/advice.ts";
import { askMain, type MainProcess } from "../cli/main-process.ts";
import { negative, type Shell } from "../cli/shell.ts";
import { pointInTime } from "../cli/values.ts";
import { listEventUse } from "../events/wire.ts";
import { getPipeline } from "../pipeline/wire.ts";
import { getOverview } from "../status/wire.ts";
import { listWrites } from "../tokens/wire.ts";
import { type Handover, handoverOf, type Records } from "./handover.ts";
import { handoverLines } from "./view.ts";

const MAX_ROWS = 1_000;
const DEFAULT_SINCE_MS = 48 * 3_600_000;

async function recordsOf(main: MainProcess, since: number): Promise<Records> {
  const pipeline = main.call(getPipeline).catch((thrown: unknown) => {
    if (isOperatingError(thrown, "LOOP_NOT_HERE")) return { configs: [] };
    throw thrown;
  });
  const [{ configs }, { causes }, { alerts }, { writes }, { event_types }] = await Promise.all([
    pipeline,
    main.call(getOverview),
    main.call(listAlerts, { query: { limit: MAX_ROWS } }),
    main.call(listWrites, { query: { limit: MAX_ROWS } }),
    main.call(listEventUse, { query: { since: since / 1_000 } }),
  ]);
  const events = Object.fromEntries(event_types.map(({ event_type, events: count }) => [event_type, count]));
  return { since, configs, causes, alerts, writes, events };
}

/** Times are seconds on the wire. */
const forPrograms = ({ since, configs, done, alerts, people, needs }: Handover) => ({
  since: since / 1_000,
  configs: configs.map(({ config_key, state, stage, iteration, promoted }) => ({
    ...{ config_key, state, stage, iteration, promoted },
  })),
  done: done.map(({ event, count }) => ({ event_type: event, count })),
  alerts_opened: alerts.opened,
  open_alerts: alerts.open.map(({ id, severity, title, opened_at }) => ({
    ...{ id, severity, title },
    opened_at: opened_at / 1_000,
  })),
  people: people.map(({ at, actor, method, path, reason }) => ({ at: at / 1_000, actor, method, path, reason })),
  needs: needs.map(({ level, code, subject, what, advice }) => ({
    ...{ level, code, subject, what },
    todo: adviceWords(advice),
  })),
});

/** `ringrift handover`: what somebody wants to know who comes back after a weekend. */
export function registerHandover(command: Command, shell: Shell): void {
  const seconds = pointInTime("--since", () => shell.clock.now());
  command
    .option("--since <time>", "from this time on: 48h (ago), 2026-01-31T12:00, or Unix seconds; default: 48h", seconds)
    .action(({ since }: { readonly since?: number }) =>
      askMain(shell.main, async (main) => {
        const from = since === undefined ? shell.clock.now() - DEFAULT_SINCE_MS : since * 1_000;
        const handover = handoverOf(await recordsOf(main, from));
        if (shell.json) shell.print(forPrograms(handover));
        else shell.say(...handoverLines(handover, shell));
        if (handover.needs.length > 0 || handover.alerts.open.length > 0) throw negative();
      }),
    );
}
