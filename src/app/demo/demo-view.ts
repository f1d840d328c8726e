import type { PairState } from "../../router/index.ts";
import { type Cell, number, type Paint, plural, printable, shorten, tableLines } from "../../surfaces/cli/index.ts";
import type { Proof } from "./proof.ts";
import type { Seen, Snapshot, Standing } from "./stage.ts";

export interface Screen {
  readonly paint: Paint;
  readonly width: number;
}

export interface About {
  readonly pid: number;
  readonly port: number;
  readonly dataDir: string;
}

/** Events a second, between two looks. */
export interface Rates {
  readonly published: number;
  readonly data_pipeline: number;
  readonly scoreboard: number;
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
const perSecond = (rate: number): Cell => ({ text: `${number(Math.round(rate))}/s`, align: "right" });
const heading = (text: string): Cell => ({ text, align: "right" });
const right = (value: number): Cell => ({ text: number(value), align: "right" });

const condition = ({ pid, behind, kills }: Standing, paint: Paint): Cell => {
  if (pid === undefined) return { text: "killed with -9", paint: paint.red };
  if (behind > 50) return { text: "catching up from its cursor", paint: paint.yellow };
  return { text: kills === 0 ? "running" : `running, killed ${plural(kills, "time")}`, paint: paint.green };
};

const MARK: Readonly<Record<PairState, string>> = {
  done: "✓",
  owed: "…",
  parked: "‖",
  retrying: "↻",
  dead: "✗",
  expired: "∅",
};

/** Where an event went: from whom, and how it stands with each consumer. */
function path({ source, deliveries }: Seen): string {
  const to = deliveries.map(({ consumer, state }) => `${MARK[state]} ${consumer}`).join("  ");
  return `${printable(source)} ─▶ ${to}`;
}

/** The whole picture, for a terminal. */
export function frame(snapshot: Snapshot, rates: Rates, about: About, { paint, width }: Screen): string[] {
  const { deadLetters: letters, newestLetter } = snapshot;
  const title = "RingRift: events crossing processes";
  const time = `${seconds(snapshot.elapsedMs)}, Ctrl-C ends it`;
  const table = tableLines(
    [
      ["PROCESS", "PID", heading("EVENTS"), heading("RATE"), heading("BEHIND"), "STATE"],
      [
        { text: "selfplay", paint: paint.bold },
        String(snapshot.publisherPid ?? "-"),
        right(snapshot.published),
        perSecond(rates.published),
        "",
        { text: "publishes", paint: paint.green },
      ],
      ...snapshot.standings.map((standing) => [
        { text: standing.role, paint: paint.bold },
        String(standing.pid ?? "-"),
        right(standing.done),
        perSecond(rates[standing.role]),
        right(standing.behind),
        condition(standing, paint),
      ]),
    ],
    { width, least: [13, 7, 9, 7, 6, 0] },
  );
  const events = tableLines(
    snapshot.last.map((seen) => [
      { text: `#${seen.seq}`, paint: paint.dim, align: "right" },
      { text: seen.eventId.slice(-8), paint: paint.yellow },
      { text: seen.eventType, paint: paint.cyan },
      { text: printable(seen.key) },
      { text: path(seen) },
    ]),
    { width, least: [6, 8, 19, 11, 0] },
  );
  const none = letters.recovered > 0 ? "the last one was repaired, sent back and handled" : "none so far";
  const dead =
    newestLetter === undefined
      ? paint.dim(none)
      : paint.red(
          shorten(
            `letter ${newestLetter.id}: ${newestLetter.consumer} failed ${plural(newestLetter.attempts, "time")}; it will be sent back`,
            width,
          ),
        );
  const where = `main process ${about.pid}, port ${about.port}; look around: ringrift --data-dir ${about.dataDir} events tail`;
  return [
    `${paint.bold(title)}${" ".repeat(Math.max(2, width - 1 - title.length - time.length))}${paint.dim(time)}`,
    paint.dim(shorten(where, width)),
    "",
    ...table,
    "",
    `LAST EVENTS  ${paint.dim("✓ done  … on its way  ‖ parked behind another  ↻ trying again  ✗ dead")}`,
    ...events,
    "",
    `DEAD LETTERS  ${number(letters.pending)} pending, ${number(letters.retrying)} retrying, ${number(letters.recovered)} recovered`,
    dead,
  ];
}

/** The same in one line, for a log that grows. */
export function statusLine(snapshot: Snapshot, rates: Rates): string {
  const of = ({ role, done, behind, kills }: Standing) =>
    `${role} ${number(done)}, ${number(behind)} behind${role === "data_pipeline" ? `, ${plural(kills, "kill")}` : ""}`;
  return [
    `${seconds(snapshot.elapsedMs).padStart(7)}`,
    `${number(snapshot.published)} sent, ${number(Math.round(rates.published))}/s`,
    ...snapshot.standings.map(of),
    `${number(snapshot.deadLetters.pending + snapshot.deadLetters.retrying)} dead`,
  ].join("  ");
}

/** The last words: the numbers, and whether they add up. */
export function summaryLines(proof: Proof, { paint, width }: Screen): string[] {
  const { published, data_pipeline: pipeline, scoreboard, dead_letters: letters } = proof;
  const rows: [string, string][] = [
    ["published", `${number(published.acknowledged)} acknowledged, ${number(published.in_journal)} in the journal`],
    [
      "data_pipeline",
      `${number(pipeline.done)} of ${number(pipeline.owed)} done, though killed with -9 (${plural(pipeline.killed, "time")}); ` +
        `said ${number(pipeline.effects)}, twice ${number(pipeline.effects_twice)}`,
    ],
    [
      "scoreboard",
      `${number(scoreboard.done)} of ${number(scoreboard.owed)} done; counted ${number(scoreboard.received)} different events itself`,
    ],
    [
      "dead letters",
      `${number(letters.appeared)} appeared, ${number(letters.recovered)} recovered, ${number(letters.left)} left`,
    ],
    ["speed", `${number(Math.round(proof.events_per_second))} events a second over ${proof.seconds.toFixed(1)} s`],
  ];
  const verdict = proof.ok
    ? paint.green("It adds up: every event reached every consumer, and each counted once.")
    : paint.red("It does not add up: see the numbers above.");
  return [
    "",
    ...tableLines(
      rows.map(([name, text]) => [{ text: name, paint: paint.bold }, { text }]),
      { width },
    ),
    verdict,
  ];
}
