/** Simulated workers: nodes with keys of their own that speak real HTTP to a coordinator in another process. */
import { generateKeyPairSync, hash, type KeyObject } from "node:crypto";
import { type Agent, request } from "node:http";
import { signRequest } from "../../../src/cluster/index.ts";
import type { Lease } from "../../../src/work/index.ts";

export interface Coordinator {
  readonly port: number;
  readonly token: string;
  readonly agent: Agent;
}

export interface FleetWorker {
  readonly nodeId: string;
  readonly key: KeyObject;
  readonly boot: string;
  counter: number;
  lease: Lease | undefined;
}

export interface Timed {
  readonly status: number;
  readonly ms: number;
  readonly json: Record<string, unknown>;
}

export const OFFER = { cpu: 1, gpu: 0, memory_gb: 1, gpu_memory_gb: 0, tags: [] };

/** One request and the time from its first byte to the last of the answer. */
const send = (
  { port, agent }: Coordinator,
  path: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<Timed> =>
  new Promise((resolve, reject) => {
    const began = performance.now();
    const outgoing = request(
      {
        agent,
        host: "127.0.0.1",
        port,
        path,
        method: "POST",
        headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body), ...headers },
      },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        answer.once("end", () =>
          resolve({
            status: answer.statusCode ?? 0,
            ms: performance.now() - began,
            json: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>),
          }),
        );
      },
    );
    outgoing.once("error", reject);
    outgoing.end(body);
  });

/** As the operator, whose token is in the data folder. */
export const command = async (to: Coordinator, path: string, body: unknown): Promise<Timed> => {
  const answer = await send(to, path, JSON.stringify(body), { authorization: `Bearer ${to.token}` });
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.json)}`);
  return answer;
};

export async function joinWorker(to: Coordinator, label: string): Promise<FleetWorker> {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const public_key = publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("base64");
  const body = { public_key, label, version: "0.1.0", protocol: 1, capabilities: OFFER };
  const { json } = await command(to, "/v1/nodes/join", body);
  return { nodeId: String(json.node_id), key: privateKey, boot: String(json.boot), counter: 0, lease: undefined };
}

/** As the worker, signed. The signature is made before the clock runs: it is the worker's own time. */
export function say(to: Coordinator, worker: FleetWorker, path: string, given: object): Promise<Timed> {
  const body = JSON.stringify(given);
  worker.counter += 1;
  const { nodeId, counter, boot } = worker;
  const claim = { nodeId, incarnation: 1, counter, issuedAt: Math.round(Date.now() / 1_000), boot };
  const header = signRequest(claim, { method: "POST", path, bodySha256: hash("sha256", body, "hex") }, worker.key);
  return send(to, path, body, { "x-ringrift-node": header });
}
