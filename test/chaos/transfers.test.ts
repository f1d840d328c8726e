/** Either side of a transfer is killed again and again: what is visible is whole and right, and in the end all of it is there. */
import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { pick, seededRandom } from "../../src/kernel/index.ts";
import type { Source, TransferReport, Wanted } from "../../src/sync/index.ts";
import { createFlusher } from "../../src/sync/transfer/flush.ts";
import { openPackStore } from "../../src/sync/transfer/pack-store.ts";
import { listClaim, signTicket } from "../../src/sync/transfer/ticket.ts";
import { nodeKey } from "../support/node-keys.ts";
import { owned, type Started } from "../support/process.ts";

const sha256Of = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Every file that has its name must be what the name says. */
function checkNames(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && /^[0-9a-f]{64}$/.test(entry.name),
  );
  for (const { name, parentPath } of files) expect(sha256Of(readFileSync(join(parentPath, name)))).toBe(name);
  return files.length;
}

/** The same of what lies in packs, as the next life of the node sees it; what is in both counts once. */
async function checkPacks(folder: string, packs: string): Promise<number> {
  const store = await openPackStore({
    folder: packs,
    landingOf: (sha256) => ({ path: join(folder, sha256), part: join(folder, `${sha256}.part`) }),
    flusher: createFlusher(),
    clock: { now: () => Date.now() },
    onBroken: (path, why) => expect.fail(`${path}: ${why}`),
  });
  for (const { sha256 } of await store.list()) expect(sha256Of(store.read(sha256)!)).toBe(sha256);
  store.close();
  return store.files;
}

test.each([
  ["each as a file", false],
  ["small ones together", true],
])("killed on either side, a transfer shows nothing torn and ends with everything, %s", async (_, isPacking) => {
  const own = owned(onTestFinished);
  const [source, target, packs] = [own.folder(), own.folder(), join(own.folder(), "packs")];
  /** What is there, after it was checked. */
  const checked = async () => checkNames(target) + (isPacking ? await checkPacks(target, packs) : 0);
  const random = seededRandom(7);
  const wanted: Wanted[] = [];
  for (const bytes of [12_000_000, 9_000_001, ...Array.from({ length: 400 }, (_, i) => i * 30)]) {
    const content = randomBytes(bytes);
    const sha256 = sha256Of(content);
    mkdirSync(join(source, sha256.slice(0, 2)), { recursive: true });
    writeFileSync(join(source, sha256.slice(0, 2), sha256), content);
    wanted.push({ sha256, bytes });
  }
  const coordinator = generateKeyPairSync("ed25519");
  const us = nodeKey();
  const pem = us.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const coordinatorPem = coordinator.publicKey.export({ type: "spki", format: "pem" }).toString();
  let serving: Started | undefined;
  const serve = async (): Promise<Source> => {
    serving = own.startNode(new URL("../support/serving-node.ts", import.meta.url), [
      JSON.stringify({ folder: source, coordinator: coordinatorPem }),
    ]);
    const { match } = await serving.waitForLine(/^\{"port":(\d+),"nodeId":"(n[0-9a-f]+)"\}$/);
    const [, port = "", nodeId = ""] = match;
    const seconds = Math.floor(Date.now() / 1_000);
    const claim = {
      ...listClaim(wanted),
      from: nodeId,
      to: us.nodeId,
      issuedAt: seconds - 1,
      expiresAt: seconds + 3_600,
    };
    const ticket = signTicket(claim, coordinator.privateKey);
    return { transport: "http", url: `http://127.0.0.1:${port}`, nodeId, ticket, list: wanted };
  };
  const fetch = (sources: readonly Source[], rate: number | null) => {
    const file = join(own.folder(), "order.json");
    const kept = isPacking ? { packs: { folder: packs, quarantine: own.folder() } } : {};
    writeFileSync(file, JSON.stringify({ folder: target, pem, wanted, sources, rate, ...kept }));
    return own.startNode(new URL("./parts/fetching-node.ts", import.meta.url), [file]);
  };

  let from = await serve();
  for (let round = 0; round < 4; round += 1) {
    const fetching = fetch([from], 12_000_000);
    await fetching.waitForLine(/^begun/);
    // Somewhere on its way; one that has ended meanwhile is as good.
    const progress = /^at /;
    for (let looks = pick(random, 4), after = -1; looks > 0; looks -= 1)
      after = await fetching.waitForLine(progress, { after }).then(
        ({ index }) => index,
        () => after,
      );
    if (round % 2 === 0) await fetching.killNow();
    else {
      await serving!.killNow();
      await fetching.exited;
      from = await serve();
    }
    await checked();
  }
  const last = fetch([from], null);
  const { match } = await last.waitForLine(/^report (.*)$/);
  const report = JSON.parse(match[1] ?? "{}") as TransferReport;
  await last.exited;
  expect(report.failed).toEqual([]);
  expect(report.arrived.length + report.present.length).toBe(wanted.length);
  expect(await checked()).toBe(wanted.length);
  if (isPacking) expect(await checkPacks(target, packs)).toBeGreaterThan(200);
});
