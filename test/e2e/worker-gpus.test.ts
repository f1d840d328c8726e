/** Accelerators as a worker gives them to programs: found through a tool, each for one job at a time, free when that is gone. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { PATIENT } from "../support/patience.ts";
import { owned } from "../support/process.ts";
import { ask } from "../support/surface.ts";
import { declareTiny, mainProcess } from "./parts/worker-world.ts";

const soon = <T>(look: () => T | Promise<T>) => vi.waitFor(look, PATIENT);
const GPUS = [1, 2].map((n) => `GPU-${String(n).repeat(8)}-0000-0000-0000-000000000000`);

test("two jobs never share an accelerator, one whose program is killed gives it back, and nodes without prepare the data", async () => {
  const own = owned(onTestFinished);
  const main = mainProcess(own, { RINGRIFT_WORKER_BEAT_INTERVAL: "0.3" });
  const kinds = ["evaluation", "validation"];
  declareTiny(main.folder, { kinds });
  const { port } = await main.startInside(onTestFinished);
  const tools = join(main.folder, "tools");
  mkdirSync(tools);
  const lines = GPUS.map((id, n) => `${n}, ${id}, 24576`).join("\\n");
  writeFileSync(join(tools, "nvidia-smi"), `#!/bin/sh\nprintf '${lines}\\n'\n`, { mode: 0o755 });
  const worker = own.startCli(["worker", "--slots", "4"], {
    cwd: main.folder,
    env: { PATH: `${tools}${delimiter}${process.env.PATH}` },
  });
  await worker.waitForLine(/worker ready/);
  const told = join(main.folder, "told");
  const add = (count: number, parameters: object) =>
    main.add(Array.from({ length: count }, () => ({ parameters: { gpus: told, ...parameters }, needs: { gpu: 1 } })));
  const said = () =>
    (existsSync(told) ? readFileSync(told, "utf8") : "")
      .trim()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => line.split(" ") as [what: string, gpu: string, pid: string]);

  const [killed] = await add(1, { ms: 600_000, again_ms: 0 });
  await soon(() => expect(said()).toHaveLength(1));
  expect((await main.show(killed!)).gpus).toBe(1);
  process.kill(Number(said()[0]![2]), "SIGKILL");
  const ids = await add(4, { ms: 100 });
  await soon(async () => {
    for (const id of [killed!, ...ids]) expect((await main.show(id)).state).toBe("completed");
  });
  for (const gpu of GPUS) {
    const here = said().filter(([, seen]) => seen === gpu);
    expect(here.length).toBeGreaterThan(0);
    // Whoever begins does so after the one before has ended, or was killed.
    for (const [n, [what, , pid]] of here.entries())
      if (what === "begins" && n > 0)
        expect([here[n - 1]![0], here[n - 1]![2] === said()[0]![2]]).not.toEqual(["begins", false]);
      else if (what === "ends") expect(here[n - 1]).toEqual(["begins", gpu, pid]);
  }
  expect(new Set(said().map(([, gpu]) => gpu))).toEqual(new Set(GPUS));

  // Whoever has none gets what prepares data, though the other has more room: accelerators would stand idle meanwhile.
  const folder = own.folder();
  declareTiny(folder, { kinds });
  const args = ["join", `http://localhost:${port}`, await main.token(), "--label", "plain", "--slots", "1"];
  own.startCli(args, { cwd: folder, env: { RINGRIFT_WORKER_DETECT_GPUS: "0" } });
  const { socket_path: socketPath } = JSON.parse(readFileSync(join(main.dataDir, "endpoint.json"), "utf8"));
  const get = async <T>(path: string) => (await ask({ socketPath }, path)).json as T;
  interface Node {
    readonly node_id: string;
    readonly label: string;
    readonly held: object;
  }
  const plain = async () => (await get<{ nodes: Node[] }>("/v1/nodes")).nodes.find(({ label }) => label === "plain");
  await soon(async () => expect(await plain()).toMatchObject({ held: { slots: 1 } }));
  const { node_id } = (await plain())!;
  const prepared = await main.add(
    Array.from({ length: 3 }, () => ({ work_type: "validation", parameters: { ms: 50 } })),
  );
  await soon(async () => {
    for (const id of prepared) expect(await main.show(id)).toMatchObject({ state: "completed", node_id });
  });
  interface Told {
    readonly events: readonly { readonly source: string; readonly data: { work_id: string; node_id: string } }[];
  }
  await soon(async () => {
    const { events } = await get<Told>("/v1/events?event_type=CPU_PIPELINE_JOB_COMPLETED");
    expect(events.map(({ data }) => [data.work_id, data.node_id]).sort()).toEqual(
      prepared.map((id) => [id, node_id]).sort(),
    );
  });
});
