/** What operators decide about nodes, and how nodes are listed and counted. */
import { expect, onTestFinished, test, vi } from "vitest";
import { CAPABILITIES, nodeKeys } from "../../../test/support/node-client.ts";
import { memoryStore } from "../../adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../../app/store-modules.ts";
import { silentLog, virtualClock } from "../../kernel/index.ts";
import { KnownNodes } from "./known-nodes.ts";
import { NodeRegistry } from "./node-registry.ts";
import { isGuest } from "./node-rows.ts";
import { nodeTimingDefaults as timing } from "./timing.ts";

const LOCAL = "home";

async function world() {
  const clock = virtualClock();
  const store = memoryStore(storeModules, clock);
  onTestFinished(() => store.close());
  const open = (localNodeId = LOCAL) =>
    new NodeRegistry({ store, clock, log: silentLog(), timing, localNodeId, version: "0.1.0" });
  const nodes = open();
  await nodes.ensureLocal(CAPABILITIES);
  const join = async (label: string, tokenId: string | null = null) => {
    const { public_key } = nodeKeys();
    const request = { public_key, label, version: "0.1.0", protocol: 1, capabilities: CAPABILITIES };
    return (await nodes.join(request, { actor: "ann", address: "192.0.2.1", tokenId })).node_id;
  };
  const enlist = (node_id: string) =>
    nodes.enlist({ node_id, tokenId: "t1", actor: "lab", address: "192.0.2.2", capabilities: CAPABILITIES });
  return { clock, nodes, join, enlist, open };
}

test("the own node of a coordinator leaves when another one leads, and comes back with it", async () => {
  const { join, open } = await world();
  const box = await join("box");
  const next = open("other");
  await next.ensureLocal(CAPABILITIES);
  expect([LOCAL, "other", box].map((id) => next.find(id).left_reason)).toEqual([
    "another coordinator leads",
    null,
    null,
  ]);
  const again = open();
  await again.ensureLocal(CAPABILITIES);
  expect([LOCAL, "other"].map((id) => again.find(id).left_reason)).toEqual([null, "another coordinator leads"]);
});

test("a cordon and a drain say who decided it, when and why, are kept, and are lifted as a whole", async () => {
  const { clock, nodes, join, open } = await world();
  const box = await join("box");
  expect(nodes.barred(box)).toBeUndefined();
  await nodes.cordon("box", { reason: "new disk", by: "ann", drain: false });
  expect(nodes.find(box)).toMatchObject({
    cordon_reason: "new disk",
    cordoned_at: clock.now(),
    cordoned_by: "ann",
    draining: 0,
  });
  expect(nodes.barred(box)).toBe("it is cordoned: new disk");
  await nodes.cordon(box, { reason: "it goes home", by: "bob", drain: true });
  expect(nodes.find(box)).toMatchObject({ cordoned_by: "bob", draining: 1 });
  expect(nodes.barred(box)).toBe("it is being drained: it goes home");
  expect(open().barred(box)).toBe("it is being drained: it goes home");
  await nodes.uncordon("box");
  expect(nodes.find(box)).toMatchObject({ cordon_reason: null, cordoned_at: null, cordoned_by: null, draining: 0 });
  expect(nodes.barred(box)).toBeUndefined();
});

test("nobody forgets the coordinator's own node, nor a worker with a token that would come back; a dry run changes nothing", async () => {
  const { clock, nodes, join, enlist } = await world();
  await expect(nodes.forget(LOCAL)).rejects.toMatchObject({
    code: "NODE_IS_LOCAL",
    message: "the coordinator cannot forget its own node",
    hint: "To give it no work, cordon it.",
  });
  await enlist("gpu-box");
  nodes.settled("gpu-box", { state: "online" });
  await expect(nodes.forget("gpu-box", true)).rejects.toMatchObject({
    code: "NODE_HAS_TOKEN",
    message: "gpu-box uses the token 'lab', so it would come back with its next claim",
    hint: "Revoke its token: 'ringrift token revoke t1'. Or give it no new work: 'ringrift nodes cordon'.",
  });
  nodes.settled("gpu-box", { state: "dead" });
  expect(await nodes.forget("gpu-box", true)).toMatchObject({ forgotten_at: null });
  expect(await nodes.forget("gpu-box")).toMatchObject({ forgotten_at: clock.now() });
  // One with a key goes whenever somebody says so: it has to join again.
  const box = await join("box");
  nodes.settled(box, { state: "online" });
  await nodes.forget(box);
  expect(nodes.barred(box)).toBe("it was forgotten");
  expect(nodes.list().map(({ node_id }) => node_id)).toEqual([LOCAL]);
});

test("nodes are listed by their ids, counted by their states, and found by id, start of it and label", async () => {
  const { nodes, join, enlist } = await world();
  const boxes = [];
  for (const label of ["c", "a", "b", "d"]) boxes.push(await join(label));
  for (const name of ["z-worker", "a-worker"]) await enlist(name);
  for (const box of boxes) nodes.settled(box, { state: "online" });
  nodes.settled("z-worker", { state: "dead" });
  expect(nodes.list().map(({ node_id }) => node_id)).toEqual([...boxes, LOCAL, "z-worker", "a-worker"].sort());
  expect(nodes.counts()).toEqual({ online: 4, dead: 1, joined: 2 });
  expect(nodes.find("d").node_id).toBe(boxes[3]);
  expect(nodes.find(boxes[0]!).label).toBe("c");
  expect(nodes.find(boxes[0]!.slice(0, 12)).label).toBe("c");
  expect(() => nodes.find("nobody")).toThrow(expect.objectContaining({ code: "NODE_NOT_FOUND" }));
});

test("a node is called by its label, and by its id too where others present have the same", async () => {
  const { nodes, join } = await world();
  const [one, other] = [await join("box"), await join("box")];
  const names = () => [one, other].map((id) => nodes.nameOf(id));
  expect(names()).toEqual([`box (${one.slice(0, 8)})`, `box (${other.slice(0, 8)})`]);
  await nodes.forget(one);
  expect(names()).toEqual([`box (${one.slice(0, 8)})`, "box"]);
  nodes.dropped(one);
  expect(names()).toEqual([one, "box"]);
  nodes.settled(other, { label: "shed" });
  expect(nodes.nameOf(other)).toBe("shed");
});

test("asked for the names of all nodes, it looks through them once, not once for each", async () => {
  const { nodes, join } = await world();
  for (let n = 0; n < 30; n += 1) await join(`box${n}`);
  const looks = vi.spyOn(KnownNodes.prototype, "present");
  onTestFinished(() => looks.mockRestore());
  expect(nodes.list().map(({ node_id }) => nodes.nameOf(node_id))).toContain("box29");
  expect(looks).toHaveBeenCalledOnce();
});

test("a view says what its row says now", async () => {
  const { clock, nodes, join } = await world();
  const box = await join("box");
  const view = () => nodes.view(nodes.row(box)!);
  expect(view()).toMatchObject({ label: "box", draining: false, cordoned: null });
  await nodes.cordon(box, { reason: "it goes home", by: "me", drain: true });
  expect(view()).toMatchObject({ draining: true, cordoned: { reason: "it goes home", by: "me" } });
  nodes.heard(box);
  expect(view().last_seen_at).toBe(clock.now());
});

test("a guest came with a token and without a key", async () => {
  const { nodes, join, enlist } = await world();
  await enlist("gpu-box");
  expect(isGuest(nodes.find("gpu-box"))).toBe(true);
  expect(isGuest(nodes.find(LOCAL))).toBe(false);
  expect(isGuest(nodes.find(await join("counted", "t2")))).toBe(false);
  expect(isGuest(nodes.find(await join("box")))).toBe(false);
});
