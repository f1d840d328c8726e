/**
 * What it costs that every commit goes through a log on three real nats-servers first: publishing beside the same store without a log, and
 * beside JetStream with a message an event. Stores, router and servers share this machine, and both stores write on the thread that
 * measures, so that the ratio is that of the log alone.
 */
import { join } from "node:path";
import { jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { createStream } from "../../src/adapters/nats/connection.ts";
import { openJetStreamLog } from "../../src/adapters/nats/jetstream-log.ts";
import { subjectOf } from "../../src/adapters/nats/stream-settings.ts";
import { inThreadStore } from "../../src/adapters/sqlite/in-thread-store.ts";
import { openReplica } from "../../src/adapters/sqlite/replica/replica.ts";
import { replicatedStore } from "../../src/adapters/sqlite/replica/replicated-store.ts";
import { installSnapshot, takeSnapshot } from "../../src/adapters/sqlite/replica/snapshot.ts";
import { replicaPort } from "../../src/adapters/sqlite/replica/term-writer.ts";
import { openWriter } from "../../src/adapters/sqlite/writer.ts";
import { storeModules } from "../../src/app/store-modules.ts";
import { leaseTimingOf } from "../../src/cluster/leadership/index.ts";
import { createCatalog } from "../../src/events/index.ts";
import { seededRandom, silentLog, systemClock, systemRandom } from "../../src/kernel/index.ts";
import { EventRouter, type Store } from "../../src/router/index.ts";
import { startCluster } from "../soak/fail-over/cluster.ts";
import { harmOnce } from "../soak/fail-over/harms.ts";
import { findNatsServer, natsServers } from "../support/nats-servers.ts";
import { until } from "../support/patience.ts";
import { type Owned, owned } from "../support/process.ts";
import { durablePayload, durableRows } from "./events-durable.ts";
import { inFolder } from "./support/folder.ts";
import { defineBench, sized } from "./support/frame.ts";
import { atLeast, atMost, type Contender, compare } from "./support/measure.ts";
import type { StandbyOptions } from "./support/standby.ts";
import type { Section } from "./support/table.ts";

export const about = "publishing through a log on three nats-servers, beside the same without a log";

interface CaughtUp {
  readonly entries: number;
  readonly events: number;
  readonly ms: number;
}
interface Lag {
  readonly p50: number;
  readonly p99: number;
}

/** A million in a minute. */
const CATCH_UP = 1_000_000 / 60;
/** What a new one may take until it has a million events. */
const READY_SECONDS = 60;
/** From kill -9 to the next acknowledged event: what is hoped for, and what must hold. */
const FIRST_ACK_MS = { p50: 15_000, p99: 30_000 };
const LEASE_MS = 12_000;
const MINUTES = { timeoutMs: 300_000 };
const clock = systemClock();
const NAMES = { plain: "plain", replicated: "replicated", bare: "JetStream, a message an event" };
const CLUSTER = { cluster: "bench", generation: 1 };
const TERM = { ...CLUSTER, term: 1, boot: "bench", node: "bench" };

const routerOver = (store: Store) =>
  new EventRouter({
    catalog: createCatalog(durableRows),
    store,
    clock,
    random: systemRandom(),
    log: silentLog(),
    nodeId: "bench",
  });

/** Runs `times` of them, never more than `inFlight` at once. */
const pipelined =
  (inFlight: number, one: (n: number) => Promise<unknown>): Contender["run"] =>
  async (times) => {
    let next = 0;
    const lane = async () => {
      while (next < times) {
        next += 1;
        await one(next);
      }
    };
    await Promise.all(Array.from({ length: Math.min(inFlight, times) }, lane));
  };

interface Sizes {
  readonly events: number;
  readonly awaited: number;
  readonly rounds: number;
  /** How many events there are when a new one comes. */
  readonly total: number;
}

async function measure({ events, awaited, rounds, total }: Sizes): Promise<readonly Section[]> {
  const program = findNatsServer();
  if (program === undefined)
    return [{ title: "replicated", measured: [], goals: [], notes: { skipped: "no nats-server from 2.15 on" } }];
  await using own = owned();
  const servers = await natsServers(own, program);
  const where = {
    servers: servers.map(({ url }) => url),
    monitors: servers.map(({ monitor }) => monitor),
    replicas: 3,
    answerMs: 5_000,
  };
  const options = { ...where, clock };
  for (const stream of ["bench", "bare"])
    await until(
      () =>
        createStream({ ...options, stream }).then(
          () => true,
          (thrown: { code?: string }) => thrown.code === "LOG_EXISTS",
        ),
      () => "no stream could be made",
    );
  // The servers live as long as this.
  return await inFolder(async (folder) => {
    const plainWriter = openWriter(join(folder, "plain.db"), storeModules);
    const plain = routerOver(inThreadStore(plainWriter, { clock, onClosed: plainWriter.close }));
    const log = await openJetStreamLog({ ...options, stream: "bench" });
    const path = join(folder, "replicated.db");
    const replica = openReplica(openWriter(path, storeModules).db, CLUSTER);
    let sent = 0;
    const nextId = () => {
      sent += 1;
      return `bench.${sent}`;
    };
    const port = replicaPort({ replica, modules: storeModules, log, clock, nextId });
    const claimed = await port.claim(TERM);
    if (claimed.claim !== "won") throw new Error("the term was not won");
    const writer = port.open(TERM, { trustedUntil: () => Number.POSITIVE_INFINITY, onAccepted() {} });
    const replicated = routerOver(replicatedStore(writer, path, clock));
    const connection = await connect({ servers: options.servers });
    const client = jetstream(connection);
    const publishOn = (router: EventRouter<typeof durableRows>) => (n: number) =>
      router.publish("GAMES_PLAYED", durablePayload(n), { source: "bench" });
    const ways = {
      [NAMES.plain]: publishOn(plain),
      [NAMES.replicated]: publishOn(replicated),
      [NAMES.bare]: (n: number) =>
        client.publish(subjectOf("bare"), JSON.stringify(durablePayload(n)), {
          timeout: 30_000,
          msgID: `${n}.${Math.random()}`,
        }),
    };
    const among = (inFlight: number): Contender[] =>
      Object.entries(ways).map(([name, one]) => ({ name, run: pipelined(inFlight, one) }));
    const sections: Section[] = [];
    for (const [inFlight, least] of [
      [1_000, 0.8],
      [100, 0.6],
    ] as const) {
      const found = await compare(among(inFlight), events, rounds);
      sections.push({
        title: `durable publish, ${inFlight} in flight`,
        measured: found.contenders,
        goals: [
          atLeast("events a second, share of plain", found.costRatio(NAMES.plain, NAMES.replicated), least),
          atLeast("events a second, share of JetStream's", found.costRatio(NAMES.bare, NAMES.replicated), 1),
        ],
        notes: {},
      });
    }
    const one = await compare(among(1), awaited, rounds);
    const costOf = (name: string) => one.contenders.find((each) => each.name === name)!.costUs;
    sections.push({
      title: "durable publish, awaited one by one",
      measured: one.contenders,
      goals: [
        atMost(
          "microseconds, beside a publish to JetStream + 1 ms",
          costOf(NAMES.replicated),
          costOf(NAMES.bare) + 1_000,
        ),
      ],
      notes: {},
    });
    const publishMore = pipelined(1_000, ways[NAMES.replicated]!);
    const there = () => Number(replicated.store.read<{ n: number }>("SELECT count(*) AS n FROM events")[0]!.n);
    await publishMore(Math.max(0, total - there()));
    sections.push(
      await newcomers(own, path, publishMore.bind(undefined, events), {
        ...{ folder, log: { ...where, stream: "bench" }, cluster: CLUSTER },
      }),
    );
    await connection.close();
    await plain.stop();
    await replicated.stop();
    await plain.store.close();
    await replicated.store.close();
    await writer.end("the bench is over");
    await log.close();
    return sections;
  });
}

/** One that takes the whole log, and how late it is under load; and one that begins with a copy of the database. */
async function newcomers(
  own: Owned,
  path: string,
  publish: () => void | Promise<void>,
  options: StandbyOptions,
): Promise<Section> {
  const { folder } = options;
  const standby = own.startNode(new URL("./support/standby.ts", import.meta.url), [JSON.stringify(options)]);
  const caught = JSON.parse((await standby.waitForLine(/^caught up (.*)$/, MINUTES)).match[1]!) as CaughtUp;
  await publish();
  standby.write("lag\n");
  const lag = JSON.parse((await standby.waitForLine(/^lag (.*)$/, MINUTES)).match[1]!) as Lag;
  await standby.killNow();
  const begun = clock.monotonic();
  const copy = join(folder, "copy.db");
  await installSnapshot(copy, await takeSnapshot(path, copy), join(folder, "new.db"));
  const copiedSeconds = (clock.monotonic() - begun) / 1_000;
  return {
    title: "a standby",
    measured: [],
    goals: [
      atLeast("events a second, of a new one that takes the whole log", (caught.events / caught.ms) * 1_000, CATCH_UP),
      atMost("seconds until a new one has a copy of the database", copiedSeconds, READY_SECONDS),
      atMost("milliseconds behind under load, p99", lag.p99, 1_000),
    ],
    notes: {
      events: caught.events,
      entries: caught.entries,
      whole_log_seconds: Math.round(caught.ms / 1_000),
      lag_p50_ms: Math.round(lag.p50),
    },
  };
}

/** Whoever leads is killed, again and again, with the lease that is the default. */
async function failOvers(kills: number): Promise<readonly Section[]> {
  const program = findNatsServer();
  if (program === undefined || kills === 0) return [];
  await using own = owned();
  const timing = leaseTimingOf(LEASE_MS);
  const cluster = await startCluster({ own, program, hosts: undefined, disks: undefined, timing, seed: 1 });
  const silences: number[] = [];
  for (let i = 0; i < kills; i += 1) silences.push(await harmOnce(cluster, "kill", seededRandom(i)));
  const sorted = silences.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
  return [
    {
      title: "fail-over",
      measured: [],
      goals: [
        atMost("milliseconds from kill -9 to the next acknowledged event, p50", at(0.5), FIRST_ACK_MS.p50),
        atMost("milliseconds from kill -9 to the next acknowledged event, p99", at(0.99), FIRST_ACK_MS.p99),
      ],
      notes: { kills, lease_ms: LEASE_MS },
    },
  ];
}

const bench = defineBench("replicated", {
  publish: (size) =>
    measure({
      ...{ events: sized(size, 20_000, 4_000, 50), awaited: sized(size, 300, 50, 3), rounds: sized(size, 9, 3, 1) },
      total: sized(size, 1_000_000, 0, 0),
    }),
  "fail-over": (size) => failOvers(sized(size, 10, 2, 0)),
});
export const run = bench.run;
export const tiny = bench.tiny;
export const print = bench.print;

if (import.meta.main) await bench.main();
