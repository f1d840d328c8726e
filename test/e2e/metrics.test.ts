/** What is scraped, drawn and alerted on: figures of a loop that really ran, and files of `deploy/` that fit them. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Family, readExposition } from "../support/exposition.ts";
import { CONFIG, planned, QUICK, type RunningLoop, startLoop } from "../support/loop.ts";
import { owned } from "../support/process.ts";
import { findPromtool } from "../support/promtool.ts";
import { ask } from "../support/surface.ts";

const own = owned();
let loop: RunningLoop;
let families: Map<string, Family>;
let text: string;

beforeAll(async () => {
  loop = await startLoop(own, { plans: planned({ ...QUICK, most_iterations: 1 }) });
  await loop.complete();
  text = (await ask({ socketPath: loop.main.api.socketPath }, "/metrics")).text;
  families = new Map(readExposition(text).map((family) => [family.name, family]));
});
afterAll(async () => {
  await loop.end();
  await own.end();
});

const figure = (name: string, labels: Readonly<Record<string, string>> = {}): number | undefined =>
  families
    .get(`ringrift_${name}`)
    ?.samples.find((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))?.value;
const here = { config_key: CONFIG };

describe("a scrape after one round of the loop", () => {
  test("tells the games, the loss with every number of the run, and the gate", () => {
    const { books, losses, gates, verdicts } = loop.config();
    expect(figure("games_produced_total", here)).toBe(books.produced);
    expect(figure("games", { ...here, account: "durable" })).toBe(books.durable);
    expect(figure("books_balanced", here)).toBe(1);
    const last = losses.at(-1)!;
    expect(figure("loss", here)).toBe(last.loss);
    expect(Object.keys(last.metrics!)).toEqual(expect.arrayContaining(["loss", "policy_loss", "steps"]));
    for (const [name, value] of Object.entries(last.metrics!))
      expect(figure("training_metric", { ...here, name })).toBe(value);
    const gate = gates.at(-1)!;
    expect(figure("gate_llr", here)).toBe(gate.llr.at(-1));
    expect(figure("gate_bound", { ...here, bound: "upper" })).toBe(gate.upper);
    expect(figure("gate_verdicts", { ...here, verdict: gate.verdict! })).toBe(verdicts[gate.verdict!]);
  });

  test("tells the queue by kind, the workers, the leases, the files and how they came", () => {
    expect(figure("queue_jobs", { kind: "training", state: "completed" })).toBeGreaterThanOrEqual(2);
    expect(figure("queue_oldest_age_seconds", { kind: "selfplay" })).toBe(0);
    expect(figure("workers")).toBe(1);
    expect(figure("leases", { kind: "evaluation" })).toBe(0);
    expect(figure("nodes", { state: "online" })).toBe(1);
    expect(figure("artifacts", { kind: "model", state: "durable" })).toBeGreaterThanOrEqual(2);
    expect(figure("artifact_bytes", { kind: "model", state: "durable" })).toBeGreaterThan(0);
    // The worker beside the main process hands its files over by their names.
    expect(figure("transfer_files_total", { outcome: "adopted" })).toBeGreaterThan(0);
    expect(figure("transfers", { direction: "receiving" })).toBe(0);
  });

  test("tells how many files are open and how many may be", { skip: process.platform !== "linux" }, () => {
    expect(figure("process_open_fds")).toBeGreaterThan(3);
    expect(figure("process_max_fds")).toBeGreaterThan(figure("process_open_fds")!);
  });
});

/** The series that a query names, with the labels that it asks for; names of functions and of labels are none. */
const namedIn = (query: string): { name: string; labels: string[] }[] =>
  [...query.matchAll(/\b(ringrift_[a-z0-9_]+)(?:\{([^}]*)\})?/g)].map(([, name, labels = ""]) => ({
    name: name!,
    labels: [...labels.matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label!),
  }));

/** Labels that Prometheus adds to what it scrapes. */
const ADDED = ["instance", "job"];
/** Series that are there when something goes wrong, while something runs, or once the champion is rated: so short a run ends before. */
const NOT_ALWAYS = [
  "ringrift_dead_letters_unresolved",
  "ringrift_training_progress_metric",
  "ringrift_champion_elo",
  "ringrift_champion_elo_low",
  "ringrift_champion_elo_high",
];

function missing(query: string): string[] {
  return namedIn(query).flatMap(({ name, labels }) => {
    const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ""));
    if (family === undefined) return [`${name} is no figure`];
    const [sample] = family.samples;
    if (sample === undefined) return NOT_ALWAYS.includes(name) ? [] : [`${name} has no series`];
    return labels
      .filter((label) => !ADDED.includes(label) && !Object.hasOwn(sample.labels, label))
      .map((label) => `${name} has no label ${label}`);
  });
}

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly gridPos: Readonly<Record<"x" | "y" | "w" | "h", number>>;
  readonly targets?: readonly { readonly expr: string }[];
  readonly fieldConfig?: { readonly defaults: { readonly unit: string } };
}

describe("the files of deploy/", () => {
  const dashboard = JSON.parse(readFileSync("deploy/grafana-dashboard.json", "utf8")) as {
    panels: Panel[];
    templating: { list: { name: string; query: string | { query: string } }[] };
    annotations: { list: { expr: string }[] };
  };
  const panels = dashboard.panels.filter(({ type }) => type !== "row");
  const variables = dashboard.templating.list;

  test("the dashboard asks only for series and labels that a scrape has", () => {
    const queries = [
      ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
      ...variables.map(({ query }) => (typeof query === "string" ? query : query.query)),
      ...dashboard.annotations.list.map(({ expr }) => expr),
    ];
    expect(queries.flatMap(missing)).toEqual([]);
    expect(missing("rate(ringrift_games_produced_totals[5m])")).toEqual([
      "ringrift_games_produced_totals is no figure",
    ]);
    expect(missing('ringrift_loss{config="x"}')).toEqual(["ringrift_loss has no label config"]);
  });

  test("each of its panels has a query, and a unit that fits the name of what it draws", () => {
    for (const { title, targets = [], fieldConfig } of panels) {
      expect(targets.length, title).toBeGreaterThan(0);
      const unit = fieldConfig!.defaults.unit;
      for (const { expr } of targets) {
        const isRate = /rate\(/.test(expr) && !expr.includes("histogram_quantile");
        if (/_bytes(_total)?\b/.test(expr)) expect(unit, title).toBe(isRate ? "Bps" : "bytes");
        else if (/_seconds(_bucket)?\b/.test(expr)) expect(unit, title).toBe("s");
        else if (isRate) expect(unit, title).toMatch(/\/s$/);
      }
    }
  });

  test("its panels do not lie on each other, and use only variables that it defines", () => {
    const known = [...variables.map(({ name }) => name), "__rate_interval", "__interval", "__all"];
    const used = [...JSON.stringify(dashboard).matchAll(/\$\{?([a-z_]+)/g)].map(([, name]) => name!);
    expect(used.filter((name) => !known.includes(name))).toEqual([]);
    const overlaps = dashboard.panels.flatMap((a, i) =>
      dashboard.panels
        .slice(i + 1)
        .filter(
          (b) =>
            a.gridPos.x < b.gridPos.x + b.gridPos.w &&
            b.gridPos.x < a.gridPos.x + a.gridPos.w &&
            a.gridPos.y < b.gridPos.y + b.gridPos.h &&
            b.gridPos.y < a.gridPos.y + a.gridPos.h,
        )
        .map((b) => `${a.title} and ${b.title}`),
    );
    expect(overlaps).toEqual([]);
  });

  test("the alert rules ask only for series and labels that a scrape has", () => {
    expect(missing(readFileSync("deploy/prometheus-rules.yml", "utf8"))).toEqual([]);
  });

  const promtool = findPromtool();
  test.skipIf(promtool === undefined)("promtool finds no fault in the rules, the configuration and a scrape", () => {
    const run = (args: readonly string[], input?: string) => {
      const { status, stdout, stderr } = spawnSync(promtool!, args, { encoding: "utf8", input });
      return { status, said: `${stdout}${stderr}` };
    };
    for (const args of [
      ["check", "rules", "deploy/prometheus-rules.yml"],
      ["check", "config", "deploy/prometheus.yml"],
      ["test", "rules", "deploy/prometheus-rules.test.yml"],
    ])
      expect(run(args), args.join(" ")).toMatchObject({ status: 0 });
    expect(run(["check", "metrics"], text)).toEqual({ status: 0, said: "" });
  });
});
