import { expect, onTestFinished, test } from "vitest";
import { CAPABILITIES, nodeKeys } from "../../../test/support/node-client.ts";
import { type RunningSurface, runSurface } from "../../../test/support/surface.ts";

const OFFER = { cpu: 8, gpu: 0, memory_gb: 32, gpu_memory_gb: 0, tags: [] };

const joining = (label: string) => ({
  ...{ label, public_key: nodeKeys().public_key },
  ...{ version: "0.1.0", protocol: 1, capabilities: CAPABILITIES },
});

interface Lease {
  readonly work_id: string;
  readonly node_id: string;
  readonly fence: number;
}

/** A running surface with jobs that wait, and workers that come with tokens. */
async function open(env: Readonly<Record<string, string>> = {}, jobs = 6) {
  const surface: RunningSurface = await runSurface(env);
  onTestFinished(() => surface.end());
  const post = (via: "socket" | "port", path: string, body: unknown, token?: string) =>
    surface.ask(via, path, { method: "POST", body, ...(token === undefined ? {} : { token }) });
  const added = await post("socket", "/v1/work/jobs", {
    jobs: Array.from({ length: jobs }, () => ({ work_type: "selfplay", config_key: "hex8_2p" })),
  });
  expect(added.status).toBe(201);
  const worker = async (label: string) => {
    const made = await post("socket", "/v1/tokens", { label, scope: "worker" });
    const token = String(made.json.token);
    return {
      id: String(made.json.id),
      post: (path: string, body: unknown) => post("port", path, body, token),
      async claim(node_id: string, most = 1) {
        const { status, json } = await post(
          "port",
          "/v1/work/claim",
          { node_id, most, offer: OFFER, start: true },
          token,
        );
        return { status, code: json.code, reason: json.reason, leases: (json.leases ?? []) as Lease[] };
      },
    };
  };
  const node = async (name: string) => (await surface.ask("socket", `/v1/nodes/${name}`)).json;
  const order = (name: string, verb: string) => post("socket", `/v1/nodes/${name}/${verb}`, { reason: "a test" });
  return { surface, worker, node, order };
}

test("a worker with a token is a node from its first claim on, and can be cordoned, drained and let in again", async () => {
  const { surface, worker, node, order } = await open();
  const lab = await worker("lab");
  const [lease] = (await lab.claim("gpu-box")).leases;
  const { nodes } = (await surface.ask("socket", "/v1/nodes")).json as { nodes: Record<string, unknown>[] };
  expect(nodes.find(({ node_id }) => node_id === "gpu-box")).toMatchObject({
    label: "gpu-box",
    joined_by: "lab",
    with_token: true,
    capabilities: { cpu: 8, memory_gb: 32 },
    held: { jobs: 1, max: 256, slots: 1 },
  });
  await expect.poll(async () => (await node("gpu-box")).state).toBe("online");

  await order("gpu-box", "cordon");
  expect(await lab.claim("gpu-box")).toMatchObject({
    leases: [],
    code: "NODE_HELD_BACK",
    reason: expect.stringContaining("it is cordoned: a test"),
  });
  const beat = async () => {
    const { work_id, node_id, fence } = lease!;
    const { json } = await lab.post("/v1/work/beat", { beats: [{ ref: { work_id, node_id, fence } }] });
    return (json.answers as { value: { stop: unknown } }[])[0]!.value.stop;
  };
  expect(await beat()).toBeNull();
  await order("gpu-box", "drain");
  expect(await beat()).toMatchObject({ kind: "preempted", reason: "a test" });
  await order("gpu-box", "uncordon");
  expect((await lab.claim("gpu-box")).leases).toHaveLength(1);
});

test("the workers of one token hold no more than it may, under however many names and at once", async () => {
  const { worker, node } = await open({ RINGRIFT_WORK_MAX_HELD_BY_TOKEN: "3", RINGRIFT_WORK_MAX_HELD_BY_NODE: "2" });
  const [greedy, honest] = [await worker("greedy"), await worker("honest")];
  const claims = await Promise.all(["a", "b", "c", "d"].map((name) => greedy.claim(name, 1_000)));
  const given = claims.map(({ leases }) => leases.length);
  expect(Math.max(...given)).toBeLessThanOrEqual(2);
  let held = given.reduce((sum, each) => sum + each);
  expect(held).toBeLessThanOrEqual(3);
  // A machine that is busy hands out less at once.
  const more = async () => {
    if (held < 3) held += (await greedy.claim("f", 1_000)).leases.length;
    return held;
  };
  await expect.poll(more, { timeout: 20_000 }).toBe(3);
  expect(await greedy.claim("e", 1_000)).toMatchObject({
    status: 200,
    leases: [],
    code: "TOO_MANY_JOBS_HELD",
    reason: expect.stringContaining("the workers of its token hold 3 jobs, 3 are allowed"),
  });
  expect(await node("e")).toMatchObject({ held: { jobs: 0, max: 2 }, held_by_token: { jobs: 3, max: 3 } });
  expect((await honest.claim("mine", 1_000)).leases).toHaveLength(2);
  expect(await honest.claim("mine")).toMatchObject({
    code: "TOO_MANY_JOBS_HELD",
    reason: expect.stringContaining("it holds 2 jobs, 2 are allowed"),
  });
});

test("a token brings no more workers than it may, and its names are its own until it ends", async () => {
  const { surface, worker } = await open({ RINGRIFT_NODES_MAX_OF_TOKEN: "2" });
  const [one, other] = [await worker("one"), await worker("other")];
  expect((await one.claim("a")).status).toBe(200);
  expect((await one.claim("b")).status).toBe(200);
  expect((await one.claim("a")).status).toBe(200);
  expect(await one.claim("c")).toMatchObject({ status: 503, code: "TOO_MANY_NODES_OF_TOKEN" });
  expect(await other.claim("a")).toMatchObject({ status: 403, code: "NOT_YOUR_NODE" });
  await surface.ask("socket", `/v1/tokens/${one.id}`, { method: "DELETE" });
  expect((await other.claim("a")).status).toBe(200);
  const { json } = await surface.ask("socket", "/v1/nodes/a");
  expect(json).toMatchObject({ joined_by: "other" });
});

test("nodes with keys count as well, where the token does not say for how many it is good", async () => {
  const { surface, worker } = await open({ RINGRIFT_NODES_MAX_OF_TOKEN: "2" });
  const one = await worker("one");
  const join = (label: string) => one.post("/v1/nodes/join", joining(label));
  expect((await join("a")).status).toBe(200);
  expect((await one.claim("b")).status).toBe(200);
  expect((await join("c")).json.code).toBe("TOO_MANY_NODES_OF_TOKEN");
  const made = await surface.ask("socket", "/v1/tokens", {
    method: "POST",
    body: { label: "many", scope: "worker", join_uses: 3 },
  });
  for (const label of ["d", "e", "f"]) {
    const { status } = await surface.ask("port", "/v1/nodes/join", {
      method: "POST",
      body: joining(label),
      token: String(made.json.token),
    });
    expect(status).toBe(200);
  }
});

test("one that still works is not forgotten: its token is what lets it in", async () => {
  const { worker, node, order } = await open();
  const lab = await worker("lab");
  await lab.claim("box");
  await expect.poll(async () => (await node("box")).state).toBe("online");
  const refused = await order("box", "forget");
  expect([refused.status, refused.json.code]).toEqual([409, "NODE_HAS_TOKEN"]);
  expect(refused.json.hint).toContain(`ringrift token revoke ${lab.id}`);
});
