/** Three processes with databases of their own over three real nats-servers: whoever leads is killed, and nothing acknowledged is lost. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { createStream } from "../../src/adapters/nats/connection.ts";
import { rowsDigest } from "../../src/adapters/sqlite/replica/digests.ts";
import { findNatsServer, natsServers } from "../support/nats-servers.ts";
import { patience, until } from "../support/patience.ts";
import { owned, type Started } from "../support/process.ts";
import type { MemberOptions } from "./parts/replica-member.ts";

const PART = new URL("./parts/replica-member.ts", import.meta.url);
/** Short, so that the test is; a busy machine needs more. */
const timing = {
  leaseMs: patience(4_000),
  marginMs: patience(1_000),
  beatMs: patience(800),
  headStartMs: patience(1_000),
};

const ackedBy = ({ lines }: Started) => lines.flatMap((line) => (line.startsWith("acked ") ? [line.slice(6)] : []));

test(
  "a leader that is killed is followed by another, and every replica has what was acknowledged",
  async ({ skip }) => {
    const program = findNatsServer();
    if (program === undefined) return skip();
    const own = owned(onTestFinished);
    const servers = await natsServers(own, program);
    const log = {
      servers: servers.map(({ url }) => url),
      monitors: servers.map(({ monitor }) => monitor),
      stream: "games",
      replicas: 3,
      answerMs: patience(1_000),
    };
    await until(
      () =>
        createStream(log).then(
          () => true,
          (thrown: { code?: string }) => thrown.code === "LOG_EXISTS",
        ),
      () => "no stream could be made",
    );
    const folder = own.folder();
    const folderOf = (name: string) => join(folder, name);
    const start = (name: string) => {
      mkdirSync(folderOf(name), { recursive: true });
      return own.startNode(PART, [
        JSON.stringify({ name, folder: folderOf(name), log, timing } satisfies MemberOptions),
      ]);
    };
    const running = new Map(["a", "b", "c"].map((name) => [name, start(name)]));
    const all = [...running.values()];
    const leads = (among: readonly Started[]) =>
      Promise.any(among.map(async (one) => ({ one, line: await one.waitForLine(/^leads (\d+)$/) })));

    const first = await leads(all);
    await until(
      () => ackedBy(first.one).length >= 50,
      () => "the leader acknowledged nothing",
    );
    await first.one.killNow();
    const [killed] = [...running].find(([, one]) => one === first.one)!;
    const second = await leads(all.filter((one) => one !== first.one));
    expect(Number(second.line.match[1])).toBeGreaterThan(Number(first.line.match[1]));
    await until(
      () => ackedBy(second.one).length >= 50,
      () => "the second leader acknowledged nothing",
    );
    const again = start(killed);
    running.set(killed, again);
    // It comes back as one that follows, and catches up with whoever leads now.
    const seqOf = (one: Started) => Number(one.lines.findLast((line) => line.startsWith("at "))?.slice(3) ?? 0);
    await until(
      () => seqOf(again) > 0 && seqOf(again) >= seqOf(second.one) - 20,
      () => "the killed one did not catch up",
    );
    second.one.kill("SIGTERM");
    await second.one.exited;
    const others = [...running.values()].filter((one) => one !== second.one);
    const third = await leads(others);
    for (const one of others.filter((other) => other !== third.one)) {
      one.kill("SIGTERM");
      await one.exited;
    }
    third.one.kill("SIGTERM");
    await third.one.exited;

    const acked = [...all, again].flatMap(ackedBy);
    expect(new Set(acked).size).toBe(acked.length);
    // The last one that led has everything; the others have ended at some entry before, and agree up to there.
    const opened = ["a", "b", "c"].map((name) => {
      const db = new DatabaseSync(join(folderOf(name), "coordination.db"));
      onTestFinished(() => db.close());
      const { seq } = db.prepare("SELECT seq FROM replica_position").get() as { seq: number };
      const events = db.prepare("SELECT seq, event_id FROM events ORDER BY seq").all() as {
        seq: number;
        event_id: string;
      }[];
      return { name, db, seq, events };
    });
    const newest = opened.toSorted((one, other) => other.seq - one.seq)[0]!;
    const stored = newest.events.map(({ event_id }) => event_id);
    expect(new Set(stored).size).toBe(stored.length);
    expect(acked.filter((id) => !stored.includes(id))).toEqual([]);
    for (const { events, seq, db } of opened) {
      expect(events).toEqual(newest.events.slice(0, events.length));
      if (seq === newest.seq) expect(rowsDigest(db)).toBe(rowsDigest(newest.db));
    }
  },
  patience(120_000),
);
