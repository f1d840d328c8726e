/** The replicated log on three real nats-servers: the suite of the port, and one leader of the stream that is killed. */
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createStream } from "../../src/adapters/nats/connection.ts";
import { openJetStreamLog } from "../../src/adapters/nats/jetstream-log.ts";
import { type OperatingError, systemClock } from "../../src/kernel/index.ts";
import { replicatedLogContract } from "../../src/router/replicated-log.contract.ts";
import type { ReplicatedLog } from "../../src/router/replicated-log.port.ts";
import { findNatsServer, type NatsServer, natsServers } from "../support/nats-servers.ts";
import { until } from "../support/patience.ts";
import { owned } from "../support/process.ts";

const own = owned();
const program = findNatsServer();
let servers: readonly NatsServer[] = [];
beforeAll(async () => {
  if (program !== undefined) servers = await natsServers(own, program);
});
afterAll(() => own.end());

const ANSWER_MS = 1_000;
let streams = 0;
const optionsFor = (stream: string) => ({
  servers: servers.map(({ url }) => url),
  monitors: servers.map(({ monitor }) => monitor),
  stream,
  replicas: 3,
  answerMs: ANSWER_MS,
  clock: systemClock(),
  // Elections and dead servers are part of these tests; anything else is a mistake.
  onTrouble: ({ cause }: OperatingError) => expect(cause).not.toMatchObject({ name: "InvalidArgumentError" }),
});

const newStream = async () => {
  streams += 1;
  const options = optionsFor(`log-${streams}`);
  // The servers have found each other; their first leader may still be on its way.
  await until(
    () =>
      createStream(options).then(
        () => true,
        (thrown: { code?: string }) => thrown.code === "LOG_EXISTS",
      ),
    () => "no stream could be made",
  );
  return options;
};

const managed = async <T>(work: (manager: Awaited<ReturnType<typeof jetstreamManager>>) => Promise<T>): Promise<T> => {
  const connection = await connect({ servers: servers.map(({ url }) => url) });
  try {
    return await work(await jetstreamManager(connection));
  } finally {
    await connection.close();
  }
};

replicatedLogContract("the log of JetStream", async () => {
  if (program === undefined) return undefined;
  const options = await newStream();
  return {
    connect: () => openJetStreamLog(options),
    silence: async () => {
      for (const { process } of servers) process().kill("SIGSTOP");
      return async () => {
        for (const { process } of servers) process().kill("SIGCONT");
      };
    },
  };
});

test("a stream that is missing, or not as it must be, is refused and never made or changed", async ({ skip }) => {
  if (program === undefined) return skip();
  await expect(openJetStreamLog(optionsFor("nobody-made-it"))).rejects.toMatchObject({ code: "LOG_MISSING" });
  const options = await newStream();
  await expect(createStream(options)).rejects.toMatchObject({ code: "LOG_EXISTS" });
  await managed(({ streams }) => streams.update(options.stream, { num_replicas: 1 }));
  await expect(openJetStreamLog(options)).rejects.toMatchObject({
    code: "LOG_UNSAFE",
    message: expect.stringContaining("num_replicas"),
  });
});

/** Sends one entry until it is known what became of it, as a leader does. */
async function appendSurely(log: ReplicatedLog, id: string, expected: number): Promise<number> {
  for (;;) {
    const outcome = await log.append({ id, bytes: Buffer.from(id) }, expected);
    if (outcome.outcome === "accepted") return outcome.seq;
    expect(outcome).toMatchObject({ outcome: "unknown" });
  }
}

test("kill -9 of the stream's leader loses no accepted entry and stores none twice", async ({ skip }) => {
  if (program === undefined) return skip();
  const options = await newStream();
  const log = await openJetStreamLog(options);
  onTestFinished(() => log.close());
  const leader = await managed(async ({ streams }) => (await streams.info(options.stream)).cluster?.leader);
  const killed = servers.find(({ name }) => name === leader)!;
  const entries = 60;
  const ended = new AbortController();
  const seen: string[] = [];
  const following = (async () => {
    for await (const { seq, bytes } of log.follow(0, ended.signal)) seen.push(`${seq} ${Buffer.from(bytes)}`);
  })();
  let gone: Promise<unknown> | undefined;
  for (let expected = 0; expected < entries; expected += 1) {
    if (expected === 20) gone = killed.process().killNow();
    expect(await appendSurely(log, `entry ${expected + 1}`, expected)).toBe(expected + 1);
  }
  await gone;
  const all = Array.from({ length: entries }, (_, i) => `${i + 1} entry ${i + 1}`);
  await expect.poll(() => seen).toEqual(all);
  killed.start();
  const late = await openJetStreamLog(options);
  onTestFinished(() => late.close());
  // While the servers choose a leader nobody says anything; one that has just come back may say an old number.
  await expect
    .poll(() => late.append({ id: "stale", bytes: Buffer.from("stale") }, entries - 1))
    .toMatchObject({ outcome: "refused", last: entries });
  ended.abort();
  await following;
});
