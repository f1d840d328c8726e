import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { MachineProvider } from "../../cluster/fleet/index.ts";
import { madeNothing } from "../../cluster/fleet/provider-errors.ts";
import { alertSinks } from "../../cluster/services.ts";
import { type Guard, silentLog, systemClock, virtualClock } from "../../kernel/index.ts";
import type { ArtifactStore, BackupRunner, NodeDesk } from "../../sync/index.ts";
import type { ClaimDesk } from "../../work/index.ts";
import { readSettings } from "../settings.ts";
import {
  guardedBackups,
  guardedClaims,
  guardedFiles,
  guardedOrders,
  guardedProvider,
  guardOf,
} from "./outside-acts.ts";

const never = new AbortController().signal;

/** A lease of ten seconds on a clock that the test moves, and whatever was done outside. */
function world() {
  const clock = virtualClock();
  const done: string[] = [];
  const act = (what: string) => async () => void done.push(what);
  const trustedUntil = clock.monotonic() + 10_000;
  const guard: Guard = guardOf({ isTrusted: () => clock.monotonic() < trustedUntil })!;
  const pass = (ms: number) => {
    clock.after(ms, () => {});
    clock.step();
  };
  return { clock, guard, done, act, pass };
}

test("after the time in which it may trust itself a leader does nothing outside of the database", async () => {
  const { guard, done, act, pass } = world();
  const hook = createServer((_, answer) => {
    done.push("alert");
    answer.end();
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void hook.close());
  await once(hook, "listening");
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/hook`;
  const settings = { ...readSettings({}, "/").alerts, webhookUrl: { reveal: () => url } };
  const sinks = alertSinks(settings as never, systemClock(), silentLog(), guard);
  const sink = sinks.find(({ name }) => name === "webhook")!;
  const provider = guardedProvider(guard, {
    ...{ name: "cloud", list: async () => [], create: act("rent"), terminate: act("end"), reboot: act("reboot") },
  } as unknown as MachineProvider);
  const files = guardedFiles(guard, {
    ...{ take: act("take"), dropPart: act("part"), emptyQuarantine: act("quarantine"), stat: async () => "known" },
  } as unknown as ArtifactStore);
  const desk = guardedClaims(guard, { waiting: 3, claim: act("job") } as unknown as ClaimDesk);
  const orders = guardedOrders(guard, { exchange: act("order") } as unknown as NodeDesk);
  const backup = guardedBackups(guard, systemClock(), act("backup") as unknown as BackupRunner);
  const message = { id: 1, idempotencyKey: "k", transition: "opened", kind: "alert", alert: { severity: "error" } };
  const acts: (() => Promise<unknown>)[] = [
    () => provider.create({} as never, never),
    () => provider.terminate("m1", never),
    () => provider.reboot!("m1", never),
    () => files.take([], 0, async () => []),
    () => files.dropPart({} as never, 0),
    () => files.emptyQuarantine(0, 0 as never),
    () => desk.claim({} as never, 0, never),
    () => orders.exchange({} as never),
    () => backup({ kind: "run" } as never, { signal: never }),
    () => sink.deliver(message as never, never),
  ];
  for (const one of acts) await one();
  expect(done).toEqual("rent end reboot take part quarantine job order backup alert".split(" "));
  pass(10_000);
  for (const one of acts) {
    const refusal = await one().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(refusal).toMatchObject({ code: "LEAD_UNSURE", retryable: true });
    // The ledger may believe that nothing was rented.
    expect(madeNothing(refusal)).toBe(true);
  }
  expect(done).toHaveLength(acts.length);
  // What only looks goes on.
  expect([desk.waiting, await provider.list(never), await files.stat("x")]).toEqual([3, [], "known"]);
});

test("a backup that outlasts the trust is called off", async () => {
  const { clock, guard } = world();
  const run: BackupRunner = (_, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const backup = guardedBackups(guard, clock, run)({ kind: "run" } as never, { signal: never });
  const ended = expect(backup).rejects.toMatchObject({ code: "LEAD_UNSURE" });
  for (let looks = 0; looks < 100; looks += 1) clock.step();
  await ended;
});

test("one coordinator by itself asks nobody", () => {
  expect(guardOf(undefined)).toBeUndefined();
});
