/**
 * Several hosts over ssh, for real: a dry run sends nothing, all are installed, a second run changes nothing, a bad program stops at the
 * canary and leaves the others alone, a host with another key gets nothing, and a node that was killed is started again.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deployWorld } from "../support/deploy-world.ts";
import { owned } from "../support/process.ts";

export interface DeployOptions {
  readonly hosts?: number;
  /** Whether a node is killed as well. */
  readonly killed?: boolean;
}
export const tiny: DeployOptions = { hosts: 1, killed: false };
export const shownBy = "test/e2e/deploy.test.ts";

export async function run({ hosts = 3, killed = true }: DeployOptions = {}) {
  const ends: (() => void)[] = [];
  await using own = owned();
  try {
    const world = await deployWorld(own, (end) => ends.unshift(end), hosts);
    if (world === undefined) return { skipped: "no namespaces, sshd or openssl here" };
    const { deploy, job, inventory, folder, servers } = world;
    type Deployed = Awaited<ReturnType<typeof deploy>>;
    const expect = (what: string, { code, answer, said }: Deployed, wanted: readonly string[], wantedCode = 0) => {
      const got = answer.hosts.map(({ outcome }: { outcome: string }) => outcome);
      if (code !== wantedCode || got.join() !== wanted.join())
        throw new Error(
          `${what}: ${got.join(", ")} (${code}) instead of ${wanted.join(", ")} (${wantedCode})\n${said}`,
        );
    };
    const expectWords = (what: string, { answer }: Deployed, field: string, words: string) => {
      const got = String(answer.hosts[0][field]);
      if (!got.includes(words)) throw new Error(`${what}: '${got}' instead of '${words}'`);
    };
    const all = (outcome: string) => Array.from({ length: hosts }, () => outcome);
    const jobsDone = async (when: string) => {
      for (let n = 1; n <= hosts; n += 1) {
        const { state } = await job(`box-${n}`);
        if (state !== "completed") throw new Error(`a job of box-${n} ${when} is ${state}`);
      }
    };

    const tried = await deploy(["--dry-run"]);
    expect("the dry run", tried, all("installed"));
    if (tried.answer.dry_run !== true) throw new Error("the dry run does not say that it is one");
    expectWords("the node of a dry run", tried, "node_id", "null");

    const begun = Date.now();
    expect("the first run", await deploy(), all("installed"));
    const installedSeconds = (Date.now() - begun) / 1_000;
    await jobsDone("after the first run");
    expect("the second run", await deploy(), all("unchanged"));

    // A program that starts and ends at once: the canary goes back to the one before, and nobody else gets it.
    const bad = join(folder, "bad");
    mkdirSync(join(bad, "bin"), { recursive: true });
    mkdirSync(join(bad, "dist", "app"), { recursive: true });
    writeFileSync(join(bad, "package.json"), JSON.stringify({ name: "bad", version: "9.9.9" }));
    writeFileSync(join(bad, "bin", "ringrift.js"), "console.error('this program is broken'); process.exit(1);\n");
    writeFileSync(join(bad, "dist", "app", "cli.js"), "\n");
    const broken = await deploy(["--program", bad, "--watch", "4s"]);
    expect("a bad program", broken, ["rolled_back", ...all("skipped").slice(1)], 1);
    expectWords("the reason of a bad program", broken, "error", "this program is broken");
    await jobsDone("after a bad program");

    // Another machine answers at the address: nothing is sent to it.
    const strange = await deploy([], inventory({ knownHosts: "stranger" }));
    expect("a stranger", strange, ["failed", ...all("skipped").slice(1)], 1);
    expectWords("the code of a stranger", strange, "error_code", "HOST_UNTRUSTED");

    if (killed) {
      expect("the run after them", await deploy(), all("unchanged"));
      // Whoever is killed without a word is started again by the run that finds it.
      process.kill(Number(readFileSync(join(servers[0]!.folder, "node.pid"), "utf8")), "SIGKILL");
      expect("after a kill", await deploy(), ["upgraded", ...all("unchanged").slice(1)]);
      await jobsDone("after a kill");
    }
    return { hosts, installed_seconds: Math.round(installedSeconds) };
  } finally {
    for (const end of ends) end();
  }
}
