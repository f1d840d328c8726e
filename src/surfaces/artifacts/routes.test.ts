import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createArtifactStore, createTransferNews } from "../../sync/index.ts";
import type { Call } from "../http/route.ts";
import { artifactRoutes } from "./routes.ts";

const bytes = Buffer.from("a file that a job has made");
const sha256 = createHash("sha256").update(bytes).digest("hex");

/** What is answered to whoever asks for a file of the store. */
async function world() {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-artifact-routes-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const artifacts = createArtifactStore({ folder });
  const whole = { sha256, offset: 0, size: bytes.length, length: bytes.length, from: "n1", accept: () => {} };
  await artifacts.write({
    ...whole,
    bytes: (async function* () {
      yield bytes;
    })(),
  });
  const route = artifactRoutes.find(({ method, path }) => method === "GET" && path.includes("{sha256}"))!;
  const models = new Map<string, { readonly config_key: string }>();
  const ports = { artifacts, pipeline: { model: (id: string) => models.get(id) } };
  const call = { ports, params: { sha256 }, headers: {}, method: "GET" };
  const change = () => writeFileSync(join(folder, sha256.slice(0, 2), sha256), Buffer.alloc(bytes.length));
  const get = async (sharedPath?: string) =>
    (await route.handle({ ...call, caller: { from: "socket", sharedPath } } as unknown as Call)) as Response;
  return { get, change, models };
}

test("a file is answered with its bytes", async () => {
  const w = await world();
  const answer = await w.get();
  expect([answer.status, Buffer.from(await answer.arrayBuffer())]).toEqual([200, bytes]);
});

test("a link gets files that its views show: models, those of the config that it names, and never others by their hash", async () => {
  const w = await world();
  const opens = async (path: string) =>
    w.get(path).then(
      ({ status }) => status,
      ({ code }: { code: string }) => code,
    );
  const views = ["/play", "/play/hex8_2p", "/play/othello6_2p", "/games/r1", "/models", `/models/${sha256}`];
  for (const view of views) expect([view, await opens(view)]).toEqual([view, "SHARE_TOO_SMALL"]);
  expect(await Promise.all(["/", "/artifacts", `/artifacts/${sha256}`].map(opens))).toEqual([200, 200, 200]);
  w.models.set(sha256, { config_key: "hex8_2p" });
  expect(await Promise.all(views.map(opens))).toEqual([200, 200, "SHARE_TOO_SMALL", 200, 200, 200]);
});

test("a file that was changed on the disk is refused with its reason before anything is answered", async () => {
  const w = await world();
  w.change();
  await expect(w.get()).rejects.toMatchObject({ code: "ARTIFACT_DAMAGED" });
});

test("who sends bytes that are not what their name says is named", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-artifact-routes-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const news = createTransferNews();
  const copies = {
    cameWrong: (wrong: { sha256: string; actual: string; nodeId: string | null }) =>
      news.noteWrong({ ...wrong, transport: "coordinator" }),
  };
  const other = Buffer.from("something else");
  const upload = {
    bytes: (async function* () {
      yield other;
    })(),
    length: other.length,
    accept: () => {},
  };
  const route = artifactRoutes.find(({ method }) => method === "PUT")!;
  const ports = { artifacts: createArtifactStore({ folder }), copies };
  const call = { ports, params: { sha256 }, headers: {}, method: "PUT", upload, caller: { nodeId: "n7", from: "x" } };
  await expect(route.handle(call as unknown as Call)).rejects.toMatchObject({ code: "ARTIFACT_HASH" });
  const actual = createHash("sha256").update(other).digest("hex");
  expect(news.wrong.next(10).all).toEqual([{ sha256, actual, nodeId: "n7", transport: "coordinator" }]);
});
