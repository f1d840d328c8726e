/**
 * The control surface over a large state: every GET route is read, and then many readers ask at once. What one answer costs,
 * how long the main loop is held up while it is made, and how much memory the process takes.
 */
import { Agent, request } from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { bootstrapCoordination } from "../../src/app/bootstrap.ts";
import { readSettings } from "../../src/app/settings.ts";
import { silentLog, systemClock } from "../../src/kernel/index.ts";
import { allRoutes } from "../../src/surfaces/index.ts";
import { fillLargeState, type LargeState } from "../support/large-state.ts";
import { owned } from "../support/process.ts";
import { urlsOf } from "../support/routes.ts";
import { atMost, type Goal } from "./support/measure.ts";
import { printSections, type Section } from "./support/table.ts";

export const about = "every GET route over 200,000 jobs, 1 million events and 100,000 artifacts";

const MAX_HELD_MS = 50;
const MAX_RSS_MB = 700;

export interface SurfaceOptions extends Partial<LargeState> {
  readonly rounds?: number;
  readonly readers?: number;
}

export const tiny = { jobs: 1_000, events: 1_000, artifacts: 1_000, others: 500, rounds: 2, readers: 4 };

const rssMb = () => process.memoryUsage.rss() / 1e6;

/** Milliseconds from a request to the last byte of its answer. */
const timed = (agent: Agent, socketPath: string, path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const began = performance.now();
    request({ agent, socketPath, path }, (answer) => {
      answer
        .resume()
        .once("end", () =>
          (answer.statusCode ?? 500) < 500
            ? resolve(performance.now() - began)
            : reject(new Error(`${path}: ${answer.statusCode}`)),
        );
    })
      .once("error", reject)
      .end();
  });

/** What was asked, how long an answer took at most, and how long the loop was held up: the 99th percentile and the worst. */
async function measured(what: string, ask: () => Promise<number>) {
  const held = monitorEventLoopDelay({ resolution: 1 });
  held.enable();
  const took = await ask();
  held.disable();
  return { what, took, p99: held.percentile(99) / 1e6, worst: held.max / 1e6 };
}

export async function run(options: SurfaceOptions = {}) {
  const {
    jobs = 200_000,
    events = 1_000_000,
    artifacts = 100_000,
    others = 20_000,
    rounds = 20,
    readers = 30,
  } = options;
  await using own = owned();
  const dataDir = own.folder();
  fillLargeState(dataDir, { jobs, events, artifacts, others }, systemClock().now());
  const main = await bootstrapCoordination({
    settings: readSettings({ RINGRIFT_RATE_FACTOR: "10000" }, dataDir, { dataDir, port: 0 }),
    log: silentLog(),
  });
  const agent = new Agent({ keepAlive: true, maxSockets: readers });
  const { socketPath } = main.api;
  let rss = rssMb();
  const several = async (path: string, at: number): Promise<number> => {
    let most = 0;
    for (let i = 0; i < rounds; i += 1) {
      const times = await Promise.all(Array.from({ length: at }, () => timed(agent, socketPath, path)));
      most = Math.max(most, ...times);
      rss = Math.max(rss, rssMb());
    }
    return most;
  };
  const urls = allRoutes.filter(({ method, endless }) => method === "GET" && !endless).flatMap(urlsOf);
  for (const url of urls) await timed(agent, socketPath, url);
  const alone = [];
  for (const url of urls) alone.push(await measured(url, () => several(url, 1)));
  const together = await measured("all", async () =>
    Math.max(...(await Promise.all(urls.map((url) => several(url, 1))))),
  );
  const crowd = await measured("/v1/work/stats", () => several("/v1/work/stats", readers));
  agent.destroy();
  await main.shutdown();
  const slowest = alone.toSorted((a, b) => b.p99 - a.p99)[0]!;
  const goals: Goal[] = [
    atMost(`main loop held up by the worst route (${slowest.what}), p99 in ms`, slowest.p99, MAX_HELD_MS),
    atMost("main loop held up while all routes are read at once, p99 in ms", together.p99, MAX_HELD_MS),
    atMost(`main loop held up by ${readers} readers of /v1/work/stats, p99 in ms`, crowd.p99, MAX_HELD_MS),
    atMost("memory of the process, MB", rss, MAX_RSS_MB),
  ];
  const notes = Object.fromEntries(
    [...alone, together, crowd].flatMap(({ what, took, p99, worst }) => [
      [`${what}: most ms`, took],
      [`${what}: loop p99 ms`, p99],
      [`${what}: loop worst ms`, worst],
    ]),
  );
  const title = `${jobs} jobs, ${events} events, ${artifacts} artifacts`;
  const section: Section = { title, measured: [], goals, notes };
  return { bench: "surface", sections: [section] };
}

export const print = ({ sections }: { sections: readonly Section[] }): string => printSections(sections);

if (import.meta.main) console.log(print(await run()));
