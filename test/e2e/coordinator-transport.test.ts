/** The last resort: files by the routes of a coordinator that really runs, with every request signed by a node that joined. */
import { hash } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { coordinatorTransport } from "../../src/adapters/transports/coordinator/coordinator-transport.ts";
import { signRequest } from "../../src/cluster/index.ts";
import { seededRandom } from "../../src/kernel/index.ts";
import { receiver, transportContract, wantedOf } from "../../src/sync/transport.contract.ts";
import type { Wanted } from "../../src/sync/transport.port.ts";
import { type FaultProxy, faultProxy } from "../chaos/parts/fault-proxy.ts";
import { joinNode, type TestNode } from "../support/node-client.ts";
import { type RunningSurface, runSurface } from "../support/surface.ts";

let surface: RunningSurface;
let proxy: FaultProxy;
let node: TestNode;
beforeAll(async () => {
  surface = await runSurface({ RINGRIFT_HOST: "127.0.0.1" });
  const { port } = surface.coordination.api;
  proxy = await faultProxy({ target: port!, random: seededRandom(1) });
  node = await joinNode({ host: "127.0.0.1", port: port! }, surface.token, "n1");
});
afterAll(async () => {
  await proxy.close();
  await surface.end();
});

const EMPTY = hash("sha256", "", "hex");

async function open({ boot = node.boot } = {}) {
  const pathOf = ({ sha256 }: Wanted) => join(surface.dataDir, "artifacts", sha256.slice(0, 2), sha256);
  let known = boot;
  const transport = coordinatorTransport({
    url: `http://127.0.0.1:${proxy.port}`,
    async prove(method, path, refused) {
      if (typeof refused?.details.boot === "string") known = refused.details.boot;
      node.counter += 1;
      const { nodeId, incarnation, counter } = node;
      const claim = { nodeId, incarnation, counter, issuedAt: Math.floor(Date.now() / 1_000), boot: known };
      return { "x-ringrift-node": signRequest(claim, { method, path, bodySha256: EMPTY }, node.privateKey) };
    },
  });
  onTestFinished(() => void transport.close());
  return {
    transport,
    async give(content: Uint8Array) {
      const wanted = wantedOf(content);
      mkdirSync(join(surface.dataDir, "artifacts", wanted.sha256.slice(0, 2)), { recursive: true });
      writeFileSync(pathOf(wanted), content);
      return wanted;
    },
    async spoil(wanted: Wanted, content: Uint8Array | undefined) {
      if (content === undefined) rmSync(pathOf(wanted));
      else writeFileSync(pathOf(wanted), content);
    },
    async vanish() {
      proxy.fault = "refuse";
      proxy.cutAll();
    },
    async comeBack() {
      proxy.fault = "none";
    },
  };
}

transportContract("the coordinator", { open });

test("a coordinator that was started again tells what it would take, and is asked so", async () => {
  const { transport, give } = await open({ boot: "of-the-one-before" });
  const wanted = await give(Buffer.from("x"));
  expect((await receiver().fetch([wanted], [transport])).arrived).toEqual([wanted.sha256]);
});
