import { expect, test } from "vitest";
import { listeningTime, virtualClock } from "../../kernel/index.ts";
import { createKnownWorkers } from "./known-workers.ts";

const limits = { goneAfterMs: 60_000, settleMs: 35_000, max: 2 };
const offer = { cpu: 1, gpu: 0, memory_gb: 1, gpu_memory_gb: 0, tags: [] };
const begin = () => {
  const clock = virtualClock();
  const { listened } = listeningTime(clock);
  const workers = createKnownWorkers(clock, listened, limits);
  const ask = (node_id: string, kinds?: string[]) => workers.asked({ node_id, most: 1, offer, kinds });
  const pass = (ms: number) => {
    let isOver = false;
    clock.after(ms, () => {
      isOver = true;
    });
    while (!isOver) clock.step();
  };
  return { workers, ask, pass, clock };
};

test("who asks for a kind takes it, and so does who names none", () => {
  const { workers, ask } = begin();
  ask("b", ["selfplay", "validation"]);
  ask("a");
  expect(workers.takers("validation")).toEqual(["a", "b"]);
  expect(workers.takers("training")).toEqual(["a"]);
});

test("a worker that neither asks nor beats for a minute is not there; one that beats is", () => {
  const { workers, ask, pass } = begin();
  ask("silent");
  ask("busy");
  pass(40_000);
  workers.heard("busy");
  workers.heard("a stranger");
  pass(20_000);
  expect(workers.takers("selfplay")).toEqual(["busy", "silent"]);
  pass(1);
  expect(workers.takers("selfplay")).toEqual(["busy"]);
});

test("while the process stands still nobody goes", () => {
  const { workers, ask, pass, clock } = begin();
  ask("there");
  clock.standStill(10 * 60_000);
  expect(workers.takers("selfplay")).toEqual(["there"]);
  pass(60_000);
  expect(workers.takers("selfplay")).toEqual([]);
});

test("of too many the one heard longest ago is forgotten", () => {
  const { workers, ask } = begin();
  for (const node of ["a", "b", "a", "c"]) ask(node);
  expect(workers.takers("selfplay")).toEqual(["a", "c"]);
});

test("it is settled once everybody had the time to ask", () => {
  const { workers, pass } = begin();
  expect(workers.settled).toBe(false);
  pass(35_000);
  expect(workers.settled).toBe(true);
});
