import { expect, onTestFinished, test } from "vitest";
import { PLENTY, workWorld } from "../../test/unit/work/work-world.ts";
import { createClaimDesk } from "./claim-desk.ts";
import type { ClaimRequest } from "./job/claim-request.ts";
import { claimDeskLimits } from "./limits.ts";

const never = new AbortController().signal;
const breathe = () => new Promise<void>((resolve) => setImmediate(resolve));

function world(limits: Partial<typeof claimDeskLimits> = {}) {
  const w = workWorld();
  onTestFinished(() => w.close());
  /** How many claims were decided together, each time. */
  const asked: number[] = [];
  const { queue } = w.services;
  const counting = {
    claimAll(requests: readonly ClaimRequest[]) {
      asked.push(requests.length);
      return queue.claimAll(requests);
    },
    claimable: queue.claimable.bind(queue),
    release: queue.release.bind(queue),
    onClaimable: queue.onClaimable.bind(queue),
  };
  const desk = createClaimDesk(counting, w.clock, { ...claimDeskLimits, ...limits });
  onTestFinished(() => desk.close());
  const claim = (node_id: string, waitMs: number, more = {}, signal = never) =>
    desk.claim({ node_id, most: 1, offer: PLENTY, ...more }, waitMs, signal);
  return { ...w, desk, claim, asked };
}

test("who does not want to wait is answered at once", async () => {
  const { claim, queue } = world();
  expect(await claim("a", 0)).toEqual([]);
  await queue.add({ work_type: "check" });
  expect(await claim("a", 0)).toHaveLength(1);
});

test("who waits gets the first job that fits, in turn; a job that fits only those behind goes to them", async () => {
  const { claim, queue, desk, driven } = world();
  const first = claim("a", 60_000, { kinds: ["training"] });
  const second = claim("b", 60_000);
  const third = claim("c", 60_000);
  await breathe();
  expect(desk.waiting).toBe(3);
  await queue.add({ work_type: "check" });
  expect(await driven(second)).toMatchObject([{ work_type: "check", node_id: "b" }]);
  expect(desk.waiting).toBe(2);
  await queue.addAll([{ work_type: "check" }, { work_type: "training" }]);
  expect(await driven(first)).toMatchObject([{ work_type: "training" }]);
  expect(await driven(third)).toMatchObject([{ work_type: "check" }]);
});

test("whose time is over gets nothing, and who hangs up is waited for by nobody", async () => {
  const { claim, queue, desk, driven, pass } = world();
  const patient = claim("a", 5_000);
  const gone = new AbortController();
  const leaver = claim("b", 60_000, {}, gone.signal);
  await breathe();
  gone.abort();
  expect(await leaver).toEqual([]);
  await pass(5_000);
  expect(await driven(patient)).toEqual([]);
  expect(desk.waiting).toBe(0);
  const { work_id } = await queue.add({ work_type: "check" });
  expect(queue.show(work_id)).toMatchObject({ state: "pending", attempts: 0 });
});

test("a job whose time comes by itself is found by those who wait", async () => {
  const { claim, queue, driven, pass } = world();
  const { work_id } = await queue.add({ work_type: "check" });
  const [lease] = await claim("a", 0);
  await queue.fail(lease!, { class: "retryable", error: "a hiccup" });
  const waiting = claim("b", 600_000);
  await pass(20_000);
  expect(await driven(waiting)).toMatchObject([{ work_id, attempts: 2 }]);
});

test("a node that is held back learns it at once, also while it waits", async () => {
  const { claim, queue, driven } = world();
  const held = workWorld({ nodePolicy: () => ({ accepts: false, reason: "cordoned" }) });
  onTestFinished(() => held.close());
  const desk = createClaimDesk(held.services.queue, held.clock);
  await expect(desk.claim({ node_id: "a", most: 1, offer: PLENTY }, 60_000, never)).rejects.toMatchObject({
    code: "NODE_HELD_BACK",
  });
  desk.close();
  const waiting = claim("a", 60_000);
  await queue.add({ work_type: "check" });
  expect(await driven(waiting)).toHaveLength(1);
});

test("claims that come together are decided together, and each is answered by itself", async () => {
  const { claim, queue, said, desk, asked } = world();
  await queue.addAll(Array.from({ length: 30 }, () => ({ work_type: "check" as const })));
  const nodes = Array.from({ length: 40 }, (_, i) => `n${i}`);
  const answers = await Promise.all(nodes.map((node) => claim(node, 0)));
  expect(asked).toEqual([1, 1, 32, 6]);
  const leases = answers.flat();
  expect(new Set(leases.map(({ work_id }) => work_id)).size).toBe(30);
  for (const [i, mine] of answers.entries()) for (const { node_id } of mine) expect(node_id).toBe(nodes[i]);
  expect(said("WORK_CLAIMED")).toHaveLength(30);
  expect(desk.inLine).toBe(0);
});

test("of those who wait only as many are asked as there are jobs", async () => {
  const { claim, queue, driven, asked, desk } = world();
  const crowd = Array.from({ length: 50 }, (_, i) => claim(`n${i}`, 60_000));
  await breathe();
  asked.length = 0;
  await queue.addAll([{ work_type: "check" }, { work_type: "check" }]);
  await driven(Promise.all(crowd.slice(0, 2)));
  expect(asked).toEqual([1, 1]);
  expect(desk.waiting).toBe(48);
});

test("a node that is held back among others is refused alone", async () => {
  const held = workWorld({
    nodePolicy: (node) => (node === "b" ? { accepts: false, reason: "cordoned" } : { accepts: true }),
  });
  onTestFinished(() => held.close());
  const desk = createClaimDesk(held.services.queue, held.clock, { ...claimDeskLimits, atOnce: 1 });
  onTestFinished(() => desk.close());
  await held.queue.addAll([{ work_type: "check" }, { work_type: "check" }, { work_type: "check" }]);
  const answers = await Promise.allSettled(
    ["x", "a", "b", "c"].map((node_id) => desk.claim({ node_id, most: 1, offer: PLENTY }, 0, never)),
  );
  expect(answers).toMatchObject([
    { value: [{ node_id: "x" }] },
    { value: [{ node_id: "a" }] },
    { reason: { code: "NODE_HELD_BACK" } },
    { value: [{ node_id: "c" }] },
  ]);
});

test("a claim that is said again while it is under way is the same claim", async () => {
  const { claim, queue, driven, desk } = world();
  const [one, same] = [claim("a", 60_000, { claim_id: "k" }), claim("a", 60_000, { claim_id: "k" })];
  const other = claim("b", 60_000, { claim_id: "k" });
  await breathe();
  expect(desk.waiting).toBe(2);
  await queue.addAll([{ work_type: "check" }, { work_type: "check" }]);
  expect(await driven(same)).toEqual(await driven(one));
  expect((await driven(other))[0]!.work_id).not.toBe((await one)[0]!.work_id);
  const [lease] = await claim("a", 0, { claim_id: "k" });
  expect(lease!.work_id).toBe((await one)[0]!.work_id);
  await queue.start(lease!);
  expect(await claim("a", 0, { claim_id: "k" })).toEqual([]);
});

test("is bounded: in how many wait, and in how many stand in line", async () => {
  const { claim, desk } = world({ maxWaiting: 1, atOnce: 1, maxInLine: 1 });
  const waiting = claim("a", 60_000);
  await breathe();
  await expect(claim("b", 60_000)).rejects.toMatchObject({ code: "CLAIMS_BUSY", retryable: true });
  const crowd = await Promise.allSettled([claim("b", 0), claim("c", 0), claim("d", 0)]);
  expect(crowd.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
  desk.close();
  expect(await waiting).toEqual([]);
});
