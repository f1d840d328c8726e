/** The oracle of the chaos tests: it must believe an honest queue, and no other. */
import { afterEach, describe, expect, test } from "vitest";
import { JOB_BOOKS, type JobBook, jobFaults } from "../../chaos/parts/job-books.ts";
import { EVIDENCE, PLENTY, type WorkWorld, workWorld } from "./work-world.ts";

let w: WorkWorld;
const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});
const open = () => {
  w = workWorld();
  ends.push(() => w.close());
};

const claim = async (node: string) => (await w.queue.claim({ node_id: node, most: 1, offer: PLENTY, start: true }))[0]!;
const book = () => w.store.read<JobBook>(JOB_BOOKS)[0]!;
/** Its holder is not heard until its lease has ended. */
const fallSilent = async () => {
  await w.pass(120_000);
  await w.driven(w.queue.reap());
  await w.pass(120_000);
};

describe("the books of a job", () => {
  test("are right when the first holder, told to be lost, brings the result before the second", async () => {
    open();
    await w.queue.add({ work_type: "selfplay" });
    const first = await claim("a");
    await w.queue.heartbeat(first);
    await fallSilent();
    const second = await claim("b");
    expect(second).toMatchObject({ work_id: first.work_id, fence: 2, attempts: 2 });
    await w.queue.complete(first, EVIDENCE);
    expect(book()).toMatchObject({ state: "completed", attempts: 1, fence: 2, winner: 1, given_up: 1, late: 1 });
    expect(jobFaults(book())).toEqual([]);
  });

  test("are right when the second holder does it", async () => {
    open();
    await w.queue.add({ work_type: "selfplay" });
    await w.queue.heartbeat(await claim("a"));
    await fallSilent();
    await w.queue.complete(await claim("b"), EVIDENCE);
    expect(book()).toMatchObject({ attempts: 2, fence: 2, winner: 2, retried: 1, given_up: 0, late: 0 });
    expect(jobFaults(book())).toEqual([]);
  });

  const done: JobBook = {
    ...{ work_id: "w1", state: "completed", attempts: 1, fence: 1, winner: 1, outcome: null },
    ...{ completed: 1, claimed: 1, retried: 0, given_up: 0, after: 0, late: 0 },
  };
  test.each<[string, Partial<JobBook>]>([
    ["is failed", { state: "failed" }],
    ["was completed 2 times", { completed: 2 }],
    ["was claimed 2 times", { claimed: 2 }],
    ["has 3 attempts after 1 retries", { attempts: 3, retried: 1 }],
    ["was done by attempt 1, which was told to be tried again", { given_up: 1 }],
    ["was done by attempt 1, which was told to be tried again", { fence: 2, claimed: 2, given_up: 1 }],
    ["was tried again after attempt 1", { after: 1 }],
  ])("are wrong when it %s", (fault, news) => {
    expect(jobFaults(done)).toEqual([]);
    expect(jobFaults({ ...done, ...news })).toEqual([expect.stringContaining(fault)]);
  });
});
