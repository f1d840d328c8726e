/** A main process and workers as real processes, on folders of their own. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { JobView } from "../../../src/work/index.ts";
import { begin } from "../../support/commands.ts";
import { COMPILE_CACHE } from "../../support/compiled.ts";
import type { Owned, Started, StartOptions } from "../../support/process.ts";
import { ask } from "../../support/surface.ts";

const TINY = fileURLToPath(new URL("./tiny-workload.ts", import.meta.url));

export interface Job {
  readonly work_type?: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly max_attempts?: number;
  readonly batch_id?: string;
  readonly needs?: { readonly gpu?: number };
}

/** The settings file of a folder whose only workload is the tiny program. */
export function declareTiny(folder: string, more: object = {}): void {
  const program = { command: process.execPath, args: [TINY], env_allow: [COMPILE_CACHE] };
  const tiny = { ...program, kinds: ["selfplay", "evaluation"], ...more };
  writeFileSync(join(folder, "ringrift.config.json"), JSON.stringify({ workloads: { arena: tiny } }));
}

export interface MainProcess {
  readonly folder: string;
  readonly dataDir: string;
  /** The process that runs now. */
  readonly started: () => Started;
  start(args?: readonly string[], env?: StartOptions["env"]): Promise<{ started: Started; port: number }>;
  /** In the process of the test, where nobody kills it or reads what it prints; until the end that `atEnd` takes. */
  startInside(atEnd: (end: () => Promise<void>) => void): Promise<{ port: number }>;
  add(jobs: readonly Job[]): Promise<string[]>;
  show(id: string): Promise<JobView>;
  jobs(query?: string): Promise<JobView[]>;
  states(): Promise<Record<string, number>>;
  post(path: string, body: unknown): Promise<Record<string, unknown>>;
  token(scope?: string): Promise<string>;
}

export function mainProcess(own: Owned, env: StartOptions["env"] = {}): MainProcess {
  const folder = own.folder();
  const dataDir = join(folder, ".ringrift");
  declareTiny(folder);
  let current: Started | undefined;
  const socketPath = () =>
    (JSON.parse(readFileSync(join(dataDir, "endpoint.json"), "utf8")) as { socket_path: string }).socket_path;
  const get = async (path: string) => (await ask({ socketPath: socketPath() }, path)).json;
  const post = async (path: string, body: unknown) => {
    const { status, json } = await ask({ socketPath: socketPath() }, path, { method: "POST", body });
    if (status >= 300) throw new Error(`${path}: ${status} ${JSON.stringify(json)}`);
    return json;
  };
  return {
    folder,
    dataDir,
    started: () => current!,
    async start(args = [], more = {}) {
      const started = own.startCli(["up", ...args], { cwd: folder, env: { RINGRIFT_PORT: "0", ...env, ...more } });
      current = started;
      const { match } = await started.waitForLine(/ready pid \d+ port (\d+)/);
      return { started, port: Number(match[1]) };
    },
    async startInside(atEnd) {
      const given = { NO_COLOR: "1", RINGRIFT_LOG_LEVEL: "ERROR", RINGRIFT_PORT: "0", ...env };
      const up = begin(["up"], { cwd: folder, env: given });
      atEnd(async () => void (await up.stop()));
      const [, port] = await up.waitFor(/ready pid \d+ port (\d+)/);
      return { port: Number(port) };
    },
    async add(jobs) {
      const ids: string[] = [];
      for (let at = 0; at < jobs.length; at += 500) {
        const some = jobs.slice(at, at + 500).map(({ work_type = "evaluation", parameters = {}, ...rest }) => ({
          work_type,
          config_key: "hex8_2p",
          payload: { parameters },
          ...rest,
        }));
        const { added } = (await post("/v1/work/jobs", { jobs: some })) as { added: { work_id: string }[] };
        ids.push(...added.map(({ work_id }) => work_id));
      }
      return ids;
    },
    show: async (id) => (await get(`/v1/work/jobs/${id}`)) as unknown as JobView,
    jobs: async (query = "") => ((await get(`/v1/work/jobs?limit=1000${query}`)) as { jobs: JobView[] }).jobs,
    states: async () => ((await get("/v1/work/stats")) as { states: Record<string, number> }).states,
    post,
    async token(scope = "worker") {
      const { token } = await post("/v1/tokens", { label: "node", scope });
      return String(token);
    },
  };
}

/** Processes that run a program under this name with this text in their environment or arguments. */
export function processesWith(text: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      if (pid === process.pid) return false;
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
        if (/\)\s+[ZX]\s/.test(stat)) return false;
        return (
          readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(text) ||
          readFileSync(`/proc/${pid}/environ`, "latin1").includes(text)
        );
      } catch {
        // It has ended between the two looks.
        return false;
      }
    });
}
