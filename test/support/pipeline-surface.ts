/** The control surface on a folder of its own, with a loop behind it and nothing else. Commands find it as they find any. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { memoryStore } from "../../src/adapters/sqlite/in-thread-store.ts";
import { runCli } from "../../src/app/cli.ts";
import { serveControl } from "../../src/app/serving.ts";
import { readSettings } from "../../src/app/settings.ts";
import { storeModules } from "../../src/app/store-modules.ts";
import { createRefusals } from "../../src/cluster/nodes/refusals.ts";
import { momentOf, seededRandom, silentLog, systemClock } from "../../src/kernel/index.ts";
import type { PipelineConsole } from "../../src/pipeline/index.ts";
import { type ControlPorts, createMetrics, ENDPOINT_FILE } from "../../src/surfaces/index.ts";
import { createArtifactCatalog, createArtifactConsole, createCopies } from "../../src/sync/index.ts";
import { owned } from "./process.ts";
import { type Answer, type Asking, ask } from "./surface.ts";
import { recordedTerminal } from "./terminal.ts";

export interface PipelineSurface {
  readonly token: string;
  ask(via: "socket" | "port", path: string, asking?: Asking): Promise<Answer>;
  /** Runs `ringrift` with these words on its folder. */
  run(...args: string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }>;
}

const TOKEN = "the-token-of-the-operator";

export async function runPipelineSurface(
  atEnd: (run: () => Promise<void>) => void,
  pipeline: PipelineConsole | undefined,
): Promise<PipelineSurface> {
  const own = owned(atEnd);
  const dataDir = own.folder();
  const clock = systemClock();
  const random = seededRandom(1);
  const store = memoryStore(storeModules, clock);
  const metrics = createMetrics(clock, () => undefined);
  const nodeId = "home";
  const policy = { games: 2, models: 3, samples: 1, rebuildable: 1, exceptions: [] };
  const copies = createCopies({ store, nodeId, copies: policy, nodes: () => [] });
  const unused = (what: string) => () => {
    throw new Error(`the loop's routes have no use for ${what}`);
  };
  const control = serveControl({
    settings: readSettings({}, dataDir, { dataDir, port: 0 }),
    socketPath: join(dataDir, "s.sock"),
    localToken: TOKEN,
    clock,
    random,
    log: silentLog(),
    ports: {
      router: undefined as never,
      daemons: { livenessProbe: () => true } as never,
      nodes: { refusals: createRefusals(clock), book: { named: String, nameOf: String } } as never,
      store,
      metrics,
      version: "0.1.0",
      phase: () => "ready",
      readiness: unused("readiness"),
      units: unused("units"),
      started: momentOf(clock),
      audit: unused("the audit"),
      shutdown: unused("an end"),
      library: createArtifactConsole({
        store,
        clock,
        nodeId,
        catalog: createArtifactCatalog({ store, clock }),
        copies,
      }),
      pipeline,
    } as Partial<ControlPorts> as ControlPorts,
  });
  await control.surface.open();
  const { socketPath, port } = control.surface;
  const endpoint = {
    pid: process.pid,
    socket_path: socketPath,
    port,
    node_id: "home",
    version: "0.1.0",
    started_at: 1,
  };
  writeFileSync(join(dataDir, ENDPOINT_FILE), JSON.stringify(endpoint));
  atEnd(async () => {
    rmSync(join(dataDir, ENDPOINT_FILE), { force: true });
    control.endStreams();
    await control.close();
    metrics.stop();
    await store.close();
  });
  return {
    token: TOKEN,
    ask: (via, path, asking) => ask(via === "socket" ? { socketPath } : { host: "127.0.0.1", port }, path, asking),
    async run(...args) {
      const { io, said } = recordedTerminal({ env: { NO_COLOR: "1" }, cwd: dataDir });
      const code = await runCli(["--data-dir", dataDir, ...args], io, { clock, random, actor: "tester" });
      return { code, ...said };
    },
  };
}
