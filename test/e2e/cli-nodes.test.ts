/** `ringrift nodes`, `ringrift queue` and `ringrift why` against a main process with a node that joined. */
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Lease } from "../../src/work/index.ts";
import { commandsOn, mainOn } from "../support/commands.ts";
import { CAPABILITIES, joinNode } from "../support/node-client.ts";
import { owned } from "../support/process.ts";
import { ask } from "../support/surface.ts";

async function world() {
  const own = owned(onTestFinished);
  const dataDir = join(own.folder(), "data");
  const { main, stop } = await mainOn(dataDir, { nodeId: "home" });
  onTestFinished(stop);
  const run = commandsOn(dataDir);
  const json = async (...args: string[]) => JSON.parse((await run(...args, "--json")).out);
  const made = await ask({ socketPath: main.api.socketPath }, "/v1/tokens", {
    method: "POST",
    body: { label: "w", scope: "worker" },
  });
  const node = await joinNode({ host: "127.0.0.1", port: main.api.port }, String(made.json.token), "bee");
  await node.beat();
  await expect.poll(async () => (await json("nodes", "show", "bee")).node.state).toBe("online");
  return { run, json, node };
}

describe("ringrift nodes and queue", () => {
  test("show machines and jobs, steer them, and say why", async () => {
    const { run, json, node } = await world();
    const listed = await run("nodes");
    expect(listed).toMatchObject({ code: 0, err: "" });
    expect(listed.out).toMatch(/^NODE +STATE +JOBS +IDLE +GAMES\/H +HEARD +VERSION +HAS +ID\n/);
    expect(listed.out).toMatch(new RegExp(`\\nbee +online .*${node.nodeId}`));
    expect(listed.out).toMatch(/\nhome +(online|joined) .*this process .*home/);
    expect((await json("nodes", "list")).nodes).toHaveLength(2);

    const added = await run(
      "queue",
      "add",
      "selfplay",
      "--config-key",
      "hex8_2p",
      "--payload",
      '{"games": 3}',
      "--count",
      "2",
      "--cpu",
      "2",
    );
    expect(added.out).toBe("w1\nw2\n");
    expect((await run("why", "w1")).out).toMatch(/waits for its turn; 2 nodes could take it/);
    const huge = await run("queue", "add", "training", "--gpu", "8");
    const stuck = await run("why", huge.out.trim());
    expect(stuck.code).toBe(1);
    expect(stuck.out).toMatch(/✗ a_node_for_it/);
    expect(stuck.out).toMatch(/✗ node:bee[\s\S]*gpu 0 of 8/);

    const claim = await node.send("POST", "/v1/work/claim", { node_id: node.nodeId, most: 1, offer: CAPABILITIES });
    const [lease] = claim.json.leases as [Lease];
    expect((await run("why", "w1")).out).toContain("w1 is claimed on bee");
    expect((await run("queue", "list", "--state", "claimed")).out).toMatch(/w1 .* on bee for /);
    expect((await run("why", node.nodeId.slice(0, 8))).out).toMatch(/^bee \(node\)/);
    expect((await run("nodes", "show", node.nodeId.slice(0, 8))).out).toMatch(/^bee /);
    expect((await run("nodes", "show", "bee")).out).toMatch(/holds\n {2}w1 +selfplay +hex8_2p/);
    const ref = { work_id: "w1", node_id: node.nodeId, fence: lease.fence };
    const failure = { class: "bad_input", error: "no such opening", stderr_tail: "line one\nline two" };
    await node.send("POST", "/v1/work/fail", { failures: [{ ref, failure }] });
    const shown = await run("queue", "show", "w1");
    expect(shown.out).toMatch(/state +failed/);
    expect(shown.out).toContain("line one\nline two");
    expect((await run("why", "w1")).out).toContain("no such opening");
    expect((await run("queue", "retry", "w1")).out).toBe("w1 is pending (reason: asked for by tester)\n");
    expect((await run("queue", "cancel", "w2", "--reason", "enough")).out).toBe("w2 is cancelled (reason: enough)\n");
    expect((await run("queue", "list", "--state", "cancelled")).out).toMatch(
      /\nw2 +selfplay +hex8_2p +normal +cancelled/,
    );
    expect((await run("queue", "stats")).out).toMatch(/2 jobs not finished[\s\S]*CONFIG +KIND +PENDING +CANCELLED/);

    expect((await run("nodes", "cordon", "bee", "--reason", "fans")).out).toBe(
      "bee gets no new work; its running jobs continue (reason: fans)\n",
    );
    const why = await run("why", "bee");
    expect(why.code).toBe(1);
    expect(why.out).toMatch(/✗ not_cordoned[\s\S]*fans[\s\S]*ringrift nodes uncordon/);
    expect((await json("why", "bee")).gates.map(({ gate }: { gate: string }) => gate)).toContain("takes_work");
    expect((await run("nodes", "drain", "bee")).code).toBe(0);
    expect((await run("nodes", "uncordon", "bee")).out).toBe("bee takes work again\n");
    expect((await run("nodes", "forget", "bee", "--dry-run")).out).toMatch(
      /^bee would be removed: .*this was a dry run$/m,
    );
    expect((await run("nodes", "show", "bee")).code).toBe(0);
    expect((await run("nodes", "forget", "bee")).out).toMatch(/^bee is removed/);
    const gone = await run("nodes", "show", "bee");
    expect([gone.code !== 0, gone.err]).toEqual([true, expect.stringContaining("there is no node 'bee'")]);
    const wrong = await run("nodes", "forget", "home");
    expect(wrong.err).toContain("its own node");
  });

  test("say what is wrong with what they are given", async () => {
    const { run } = await world();
    for (const [args, text] of [
      [["queue", "add", "knitting"], "no executor is registered"],
      [["queue", "add", "selfplay", "--payload", "[1]"], "must be a JSON object"],
      [["queue", "add", "selfplay", "--payload", "{"], "not JSON"],
      [["queue", "list", "--state", "sleeping"], "there is no 'sleeping'"],
      [["queue", "show", "x1"], "there is no job 'x1'"],
      [["why", "w99"], "there is no config, job, node, file, daemon or unit 'w99'"],
    ] as const) {
      const { code, err } = await run(...args);
      expect([code !== 0, err], args.join(" ")).toEqual([true, expect.stringContaining(text)]);
    }
  });
});
