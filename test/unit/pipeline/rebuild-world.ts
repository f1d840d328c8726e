/**
 * The loop from games to model with the real queue, catalog and files: what a job makes are bytes that follow from what it
 * is given, as those of the built-in games do. The test is the orchestrator and the workers.
 */
import { createHash } from "node:crypto";
import { appendFileSync, readFileSync, rmSync } from "node:fs";
import { DaemonManager } from "../../../src/daemons/index.ts";
import { createUnitRuntime, type UnitRuntime } from "../../../src/daemons/unit/runtime.ts";
import { builtinRows, createCatalog } from "../../../src/events/index.ts";
import { canonicalJson, isOperatingError, type Json, seededRandom, silentLog } from "../../../src/kernel/index.ts";
import { autoExport } from "../../../src/pipeline/data/units/auto-export/auto-export.unit.ts";
import { qualityMonitor } from "../../../src/pipeline/data/units/quality-monitor/quality-monitor.unit.ts";
import { modelCoordinator } from "../../../src/pipeline/models/units/model-coordinator/model-coordinator.unit.ts";
import { queuePopulator, selfplayOrchestrator } from "../../../src/pipeline/selfplay/index.ts";
import {
  type ConfigPlanInput,
  configPlanSchema,
  configs,
  type Iteration,
  iterations,
  rebuildRows,
  type Stage,
} from "../../../src/pipeline/stage/index.ts";
import { trainingCoordinator } from "../../../src/pipeline/training/units/training-coordinator/training-coordinator.unit.ts";
import { trainingTrigger } from "../../../src/pipeline/training/units/training-trigger/training-trigger.unit.ts";
import { createWriteSet, type StateTable, type WriteSet } from "../../../src/router/index.ts";
import { type EvidenceInput, type Lease, WorkQueue } from "../../../src/work/index.ts";
import { defineKind } from "../../../src/work/job/kinds.ts";
import { syncWorld } from "../sync/sync-world.ts";
import { PLENTY } from "../work/work-world.ts";
import { testServices } from "./services.ts";

export const KEY = "othello6_2p";
const HOUR = 3_600_000;
/** How long files stay that nothing holds. */
export const GRACE_MS = 60_000;

const kinds = {
  selfplay: defineKind({ evidence: { outputs: 1, counts: ["games"] } }),
  export: defineKind({ evidence: { outputs: 1, counts: ["rows"] } }),
  training: defineKind({ evidence: { outputs: 1, counts: [] } }),
};

interface Payload {
  readonly parameters: { readonly [name: string]: Json };
  readonly inputs: readonly { readonly name: string; readonly sha256: string }[];
}

export async function rebuildWorld(plan: Partial<ConfigPlanInput> = {}) {
  const base = syncWorld({ policy: { graceMs: GRACE_MS } });
  const { clock, store, catalog, files, router, inspector, driven } = base;
  const log = silentLog();
  const queue = new WorkQueue({ router, store, clock, random: seededRandom(2), kinds });
  const nodes = ["a", "b"];
  const looks: Promise<unknown>[] = [];
  /** Nodes whose files are not what their jobs ask for. */
  const liars = new Set<string>();
  const verify = (sha256s: readonly string[]) => void looks.push(inspector.verify(sha256s));
  const services = testServices(
    { clock, queue, store, catalog, workersFor: () => nodes, verify },
    { allowPendingGate: true },
  );
  const units = [
    queuePopulator(services),
    selfplayOrchestrator(services),
    qualityMonitor(services),
    trainingTrigger(services),
    trainingCoordinator(services),
    modelCoordinator(services),
    autoExport(services),
  ];
  const events = createCatalog(builtinRows);
  const registry = { catalog: events, units, parts: [], ingress: [], excused: {}, delegations: [] };
  const manager = new DaemonManager({ clock, random: seededRandom(3), log, nodeId: "n1", pid: 1 });
  const runtime: UnitRuntime = createUnitRuntime({ registry, router, clock, log, manager });
  const write = (change: (rows: WriteSet) => void) =>
    driven(router.transact({ source: "test" }, ({ rows }) => change(rows)));
  await write((rows) =>
    rows.put(configs, KEY, {
      plan: configPlanSchema().parse({
        config_key: KEY,
        seed: 7,
        kinds: ["selfplay", "export", "training"],
        games_per_iteration: 40,
        games_per_job: 20,
        least_rows: 1,
        ...plan,
      }),
      paused: null,
    }),
  );
  await driven(runtime.start());

  const bring = async (name: string, text: string) => {
    const sha256 = await base.put(text);
    return { name, sha256, bytes: Buffer.byteLength(text) };
  };

  /** The inputs as a worker fetches them, or its failure. */
  const fetched = async ({ inputs }: Payload) => {
    for (const { name, sha256 } of inputs) {
      const { size } = await files.stat(sha256);
      const error = `input "${name}" cannot be fetched`;
      if (size === null) return { class: "bad_input", error, error_code: "no_input" } as const;
      try {
        const hash = createHash("sha256");
        for await (const chunk of files.read(sha256, 0, size)) hash.update(chunk);
        if (hash.digest("hex") === sha256) continue;
      } catch (thrown) {
        if (!isOperatingError(thrown, "ARTIFACT_DAMAGED")) throw thrown;
      }
      return { class: "retryable", error, error_code: "no_input" } as const;
    }
    return undefined;
  };

  const doJob = async (lease: Lease): Promise<EvidenceInput> => {
    const payload = lease.payload as unknown as Payload;
    const text = `${canonicalJson(lease.payload as Json)}${liars.has(lease.node_id) ? " but not quite" : ""}`;
    if (lease.work_type === "selfplay") {
      const games = Number(payload.parameters.games);
      return {
        outputs: [await bring("samples.npz", `samples ${text}`), await bring("games.arena", `games ${text}`)],
        counts: { games, rows: games * 10 },
      };
    }
    if (lease.work_type === "export")
      return {
        outputs: [await bring("train.npz", `train ${text}`), await bring("holdout.npz", `holdout ${text}`)],
        counts: { rows: 380, holdout_rows: 20, duplicates: 0, files: payload.inputs.length },
      };
    const outputs = [
      await bring("model.arena", `model ${text}`),
      await bring("checkpoint.arena", `checkpoint ${text}`),
    ];
    return payload.parameters.fresh === true
      ? { outputs, counts: { fresh: 1, steps: 0 } }
      : { outputs, counts: { steps: 10, rows: 400 }, summary: { loss: 1.5 } };
  };

  const world = {
    ...base,
    queue,
    liars,
    nodes,
    write,
    row: <T extends Json>(table: StateTable<T>): T | undefined => createWriteSet(store).get(table, KEY),
    /** Time passes, and whatever is being looked at on the disk is found. */
    async pass(ms: number) {
      for (let left = ms; left > 0; left -= 500) {
        await driven(new Promise<void>((resolve) => void clock.after(Math.min(left, 500), resolve)));
        await Promise.all(looks.splice(0));
      }
    },
    /** A node does one job; what it was, if there was one. */
    async work(node: string): Promise<string | undefined> {
      const [lease] = await queue.claim({ node_id: node, most: 1, offer: PLENTY });
      if (lease === undefined) return undefined;
      await queue.start(lease);
      const failure = await fetched(lease.payload as unknown as Payload);
      if (failure === undefined) await queue.complete(lease, await doJob(lease));
      else await queue.fail(lease, failure);
      return lease.work_type;
    },
    /** All nodes work until nothing is left to do; what was done. */
    async workFor(seconds: number): Promise<string[]> {
      const done: string[] = [];
      for (let second = 0; second < seconds; second += 1) {
        for (const node of nodes) {
          const did = await this.work(node);
          if (did !== undefined) done.push(did);
        }
        await this.pass(1_000);
      }
      return done;
    },
    async turn(stage: Stage, iteration: number, champion: string | null, attempt = 1) {
      const at: Iteration = {
        iteration,
        stage,
        attempt,
        state: "running",
        opened_at: clock.now(),
        stage_since: clock.now(),
        deadline: clock.now() + HOUR,
        champion,
        waits: [],
        failures: [],
        not_before: null,
      };
      await write((rows) => rows.put(iterations, KEY, at));
    },
    /** Bytes of a file are changed behind everybody's back. */
    damage: (sha256: string) => appendFileSync(files.pathOf(sha256), "x"),
    lose: (sha256: string) => rmSync(files.pathOf(sha256)),
    contentOf: (sha256: string) => readFileSync(files.pathOf(sha256), "utf8"),
    rebuilds: () => Object.values(createWriteSet(store).get(rebuildRows, KEY)?.rebuilds ?? {}),
    async close() {
      await driven(runtime.stop());
      await Promise.all(looks.splice(0));
      await base.close();
    },
  };
  return world;
}
export type RebuildWorld = Awaited<ReturnType<typeof rebuildWorld>>;
