/**
 * Several hosts over ssh, for real: all are installed, a second run changes nothing, a bad program stops at the canary and leaves the
 * others alone, a host with another key gets nothing while the others go on, and a node that was killed is started again.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deployWorld } from "../support/deploy-world.ts";
import { owned } from "../support/process.ts";

export interface DeployOptions {
  readonly hosts?: number;
  /** Whether programs that are bad and nodes that are killed come too; installing and finding nothing to do always does. */
  readonly accidents?: boolean;
}
export const tiny: DeployOptions = { hosts: 1, accidents: false };

export async function run({ hosts = 3, accidents = true }: DeployOptions = {}) {
  const ends: (() => void)[] = [];
  await using own = owned();
  try {
    const world = await deployWorld(own, (end) => ends.unshift(end), hosts);
    if (world === undefined) return { skipped: "no namespaces, sshd or openssl here" };
    const { deploy, job, folder, servers } = world;
    const outcomes = ({ answer }: Awaited<ReturnType<typeof deploy>>): string[] =>
      answer.hosts.map(({ outcome }: { outcome: string }) => outcome);
    const expect = (what: string, got: readonly string[], wanted: readonly string[]) => {
      if (got.join() !== wanted.join()) throw new Error(`${what}: ${got.join(", ")} instead of ${wanted.join(", ")}`);
    };
    const all = (outcome: string) => Array.from({ length: hosts }, () => outcome);
    const begun = Date.now();
    expect("the first run", outcomes(await deploy()), all("installed"));
    const installedSeconds = (Date.now() - begun) / 1_000;
    for (let n = 1; n <= hosts; n += 1) {
      const { state } = await job(`box-${n}`);
      expect(`the first job of box-${n}`, [state], ["completed"]);
    }
    expect("the second run", outcomes(await deploy()), all("unchanged"));
    const figures = { hosts, installed_seconds: Math.round(installedSeconds) };
    if (!accidents) return figures;

    const bad = join(folder, "bad");
    mkdirSync(join(bad, "bin"), { recursive: true });
    mkdirSync(join(bad, "dist", "app"), { recursive: true });
    writeFileSync(join(bad, "package.json"), JSON.stringify({ name: "bad", version: "9.9.9" }));
    writeFileSync(join(bad, "bin", "ringrift.js"), "process.exit(1);\n");
    writeFileSync(join(bad, "dist", "app", "cli.js"), "\n");
    const broken = outcomes(await deploy(["--program", bad, "--watch", "5s"]));
    expect("a bad program", broken, ["rolled_back", ...all("skipped").slice(1)]);
    expect("the run after it", outcomes(await deploy()), all("unchanged"));

    // Whoever is killed without a word is started again by the run that finds it.
    process.kill(Number(readFileSync(join(servers[0]!.folder, "node.pid"), "utf8")), "SIGKILL");
    expect("after a kill", outcomes(await deploy()), ["upgraded", ...all("unchanged").slice(1)]);
    const { state } = await job("box-1");
    expect("a job after the kill", [state], ["completed"]);
    return figures;
  } finally {
    for (const end of ends) end();
  }
}
