/**
 * The main process of a loop whose work is done by nodes that join, on a host of its own. It says how to join it; asked for its outcome, it
 * says what came of the run.
 */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fingerprintIn } from "../../../src/app/data-folder/fingerprint.ts";
import { outcomeOf, planned, QUICK, soundness, startLoop } from "../../support/loop.ts";
import { owned } from "../../support/process.ts";
import { ask } from "../../support/surface.ts";

export interface JoinedMain {
  readonly dataDir: string;
  readonly address: string;
  readonly cert: string;
  readonly key: string;
  readonly iterations: number;
  readonly env: Readonly<Record<string, string>>;
}

const { dataDir, address, cert, key, iterations, env } = JSON.parse(process.argv[2] ?? "{}") as JoinedMain;
const say = (what: string, told: unknown) => void process.stdout.write(`${what} ${JSON.stringify(told)}\n`);

await using own = owned();
const loop = await startLoop(own, {
  plans: planned({ ...QUICK, most_iterations: iterations }),
  slots: 0,
  dataDir,
  env: { ...env, RINGRIFT_HOST: address, RINGRIFT_TLS_CERT_FILE: cert, RINGRIFT_TLS_KEY_FILE: key },
});
const { socketPath, port } = loop.main.api;
const made = await ask({ socketPath }, "/v1/tokens", { method: "POST", body: { label: "nodes", scope: "worker" } });
say("joins", {
  url: `https://${address}:${port}`,
  token: made.json.token,
  socketPath,
  fingerprint: fingerprintIn(readFileSync(cert, "utf8")),
});

for await (const line of createInterface({ input: process.stdin })) {
  const now = loop.config();
  if (line === "state") say("state", { state: now.state, iteration: now.iteration });
  if (line === "outcome") say("outcome", { outcome: outcomeOf(now), soundness: await soundness(loop) });
}
await loop.end();
