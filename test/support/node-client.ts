/** A node that dials the API of a coordination: with a key of its own, and every request signed. */
import { createHash, generateKeyPairSync, type KeyObject } from "node:crypto";
import { type NodeClaim, signRequest } from "../../src/cluster/index.ts";
import { type Answer, type Asking, ask, type Where } from "./surface.ts";

export interface TestNode {
  readonly nodeId: string;
  readonly privateKey: KeyObject;
  boot: string;
  incarnation: number;
  counter: number;
  /** Sends a signed request; what it says of itself can be changed. */
  send(method: string, path: string, body?: unknown, changes?: Changes): Promise<Answer>;
  beat(changes?: Changes): Promise<Answer>;
}

export interface Changes extends Partial<NodeClaim> {
  /** Signs with another key. */
  readonly key?: KeyObject;
  /** The body that is signed, where it is not the one that is sent. */
  readonly signedBody?: string;
  readonly header?: string;
  readonly raw?: Buffer | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether it says the hash of its bytes beforehand, as whoever sends bytes must. */
  readonly promises?: boolean;
}

export const CAPABILITIES = { cpu: 4, gpu: 0, memory_gb: 16, gpu_memory_gb: 0, tags: [] as string[] };

export const nodeKeys = () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  return { privateKey, public_key: raw.toString("base64") };
};

export async function joinNode(
  where: Where,
  token: string,
  label: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<TestNode> {
  const { privateKey, public_key } = nodeKeys();
  const body = { public_key, label, version: "0.1.0", protocol: 1, capabilities: CAPABILITIES, ...more };
  const joined = await ask(where, "/v1/nodes/join", { method: "POST", token, body });
  if (joined.status !== 200) throw new Error(`no join: ${joined.text}`);
  const node: TestNode = {
    nodeId: String(joined.json.node_id),
    privateKey,
    boot: String(joined.json.boot),
    incarnation: 1,
    counter: 0,
    send(method, path, given, changes = {}) {
      node.counter += 1;
      const {
        key = privateKey,
        signedBody,
        header,
        raw,
        headers = {},
        promises = raw !== undefined,
        ...claimed
      } = changes;
      const sent = raw ?? (given === undefined ? "" : JSON.stringify(given));
      const claim: NodeClaim = {
        nodeId: node.nodeId,
        incarnation: node.incarnation,
        counter: node.counter,
        issuedAt: Math.round(Date.now() / 1_000),
        boot: node.boot,
        ...claimed,
      };
      const bodySha256 = createHash("sha256")
        .update(signedBody ?? sent)
        .digest("hex");
      const signed = header ?? signRequest(claim, { method, path, bodySha256 }, key);
      const asking: Asking = {
        method,
        headers: { "x-ringrift-node": signed, ...(promises ? { "x-content-sha256": bodySha256 } : {}), ...headers },
        ...(sent === "" ? {} : { raw: sent }),
      };
      return ask(where, path, asking);
    },
    beat: (changes) =>
      node.send(
        "POST",
        "/v1/nodes/beat",
        {
          node_id: node.nodeId,
          incarnation: node.incarnation,
          version: "0.1.0",
          load: { running: 0, free: CAPABILITIES },
          spool: { waiting: 0 },
        },
        changes,
      ),
  };
  return node;
}
