/** A coordinator and hosts with an sshd each, in network namespaces, and `ringrift deploy` between them. */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { selfSigned } from "./certificate.ts";
import { type Host, hostsOnABridge } from "./hosts.ts";
import { until } from "./patience.ts";
import { CLI, type Owned } from "./process.ts";
import { type SshServer, sshServer } from "./ssh-server.ts";
import { ask as askSurface } from "./surface.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

interface Answered {
  readonly code: number | null;
  readonly said: string;
  // biome-ignore lint/suspicious/noExplicitAny: what a command printed; the test says what it must be.
  readonly answer: any;
}

/** Undefined, loudly, where namespaces, certificates or an sshd are not to be had. */
export async function deployWorld(own: Owned, atEnd: (undo: () => void) => void, count: number) {
  const folder = own.folder();
  const tls = selfSigned(folder, "coordinator");
  const name = `d${process.pid.toString(36).slice(-3)}`;
  const hosts = tls === undefined ? undefined : hostsOnABridge(name, count + 1, atEnd);
  if (tls === undefined || hosts === undefined) return undefined;
  const [home, ...boxes] = hosts as [Host, ...Host[]];
  // As a package that is installed: the bundle that is kept of these sources.
  execFileSync(process.execPath, [join(ROOT, "tools", "program.ts")], { cwd: ROOT, stdio: "pipe" });

  const servers: (SshServer & { readonly address: string; readonly folder: string; readonly keys: string })[] = [];
  for (const [n, box] of boxes.entries()) {
    const server = await sshServer(join(folder, `ssh-${n}`), { address: box.address, enter: box.enter });
    if (server === undefined) return undefined;
    atEnd(() => void server.stop());
    servers.push({
      ...server,
      address: box.address,
      folder: join(folder, `box-${n + 1}`),
      keys: join(folder, `ssh-${n}`),
    });
  }
  const first = servers[0]!;
  // One key opens all hosts: those of the first are given to the others.
  for (const { keys } of servers.slice(1)) copyFileSync(join(first.keys, "client.pub"), join(keys, "client.pub"));
  writeFileSync(
    join(folder, "known"),
    servers.map(({ knownHostsFile }) => readFileSync(knownHostsFile, "utf8")).join(""),
  );
  const stranger = readFileSync(join(first.keys, "stranger.pub"), "utf8").split(" ").slice(0, 2).join(" ");
  writeFileSync(join(folder, "stranger"), servers.map(({ address }) => `${address} ${stranger}\n`).join(""));

  const inventory = ({ knownHosts = "known", labels = servers.map((_, n) => n) } = {}): string => {
    const path = join(folder, `inventory-${knownHosts}-${labels.length}.json`);
    const all = labels.map((n) => servers[n]!);
    writeFileSync(
      path,
      JSON.stringify({
        ssh: {
          identity_file: join(first.keys, "client"),
          known_hosts_file: join(folder, knownHosts),
          user: first.user,
        },
        hosts: all.map(({ address, port, folder: at }, n) => ({
          ...{ host: address, port, folder: at, label: `box-${labels[n]! + 1}`, slots: 1 },
        })),
      }),
    );
    return path;
  };

  const dataDir = join(folder, "home");
  mkdirSync(dataDir);
  const env = {
    RINGRIFT_DATA_DIR: dataDir,
    RINGRIFT_HOST: home.address,
    RINGRIFT_PORT: "8770",
    RINGRIFT_TLS_CERT_FILE: tls.cert,
    RINGRIFT_TLS_KEY_FILE: tls.key,
    RINGRIFT_NODE_BEAT: "1",
    ...first.programs.env,
  };
  const within = (args: readonly string[]) =>
    own.startNode(home.enter[1]!, [...home.enter.slice(2), process.execPath, CLI, ...args], {
      execPath: home.enter[0]!,
      env,
    });
  const main = within(["up"]);
  await main.waitForLine(/ready/);

  const ask = async (...args: readonly string[]): Promise<Answered> => {
    const child = within([...args, "--json"]);
    const { code } = await child.exited;
    const out = child.stdout();
    return { code, said: child.lines.slice(-30).join("\n"), answer: out.trim() === "" ? undefined : JSON.parse(out) };
  };
  atEnd(() => {
    for (const { folder: at } of servers) {
      try {
        process.kill(Number(readFileSync(join(at, "node.pid"), "utf8")), "SIGTERM");
      } catch {
        // It never started, or has ended.
      }
    }
  });
  return {
    folder,
    inventory,
    servers,
    ask,
    deploy: (more: readonly string[] = [], path = inventory()) =>
      ask("deploy", path, "--rsync", first.programs.rsync, ...more),
    /** One job that only this node may do, from its adding to its end. */
    async job(label: string) {
      const { answer: nodes } = await ask("nodes", "list");
      const node = nodes.nodes.find((each: { label: string }) => each.label === label);
      const added = await ask(
        "queue",
        "add",
        "training",
        "--config-key",
        "othello6_2p",
        "--node",
        node.node_id,
        "--payload",
        JSON.stringify({ parameters: { fresh: true, wide: 8, narrow: 8, network_seed: 1 }, seed: 1 }),
      );
      const id = added.answer.added[0].work_id;
      // A command for each look would take the processor from those who work; the socket is in the folder, not in the network.
      const { socket_path: socketPath } = JSON.parse(readFileSync(join(dataDir, "endpoint.json"), "utf8"));
      let state = "";
      await until(
        async () => {
          state = String((await askSurface({ socketPath }, `/v1/work/jobs/${id}`)).json.state);
          return ["completed", "failed", "cancelled"].includes(state);
        },
        () => `the job of ${label} is ${state}`,
      );
      return { state };
    },
  };
}
