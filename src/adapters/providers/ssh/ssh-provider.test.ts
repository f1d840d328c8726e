/** Hosts of an inventory as machines of the fleet, over a real sshd and rsync; what is brought there stands for the program. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { PATIENT } from "../../../../test/support/patience.ts";
import { type SshServer, sshServer } from "../../../../test/support/ssh-server.ts";
import { madeNothing } from "../../../cluster/fleet/index.ts";
import { type ProviderWorld, providerContract } from "../../../cluster/fleet/provider.contract.ts";
import type { DeployHost } from "../../deploy/inventory.ts";
import { SUPERVISE } from "../../deploy/scripts.ts";
import { openSshSession } from "../../deploy/ssh-session.ts";
import { sshProvider } from "./ssh-provider.ts";

const { signal } = new AbortController();
const start: ProviderWorld["start"] = {
  url: "https://home.example.org:8770",
  fingerprint: "ab".repeat(32),
  token: "rrt_a_token_of_the_test",
  tags: ["rented"],
  deadManMs: 7_200_000,
  program: { install: "ringrift-coordination" },
};

/** Stands for Node and the program: it joins, and works until it is told to end. */
const PROGRAM = `#!/bin/sh
case "$2" in
  join) echo "$@" > "$RINGRIFT_DATA_DIR/joined"; cat "$5" >> "$RINGRIFT_DATA_DIR/joined"; echo '{"node_id":"n0123456789abcdef"}' ;;
  *) exec sleep 600 ;;
esac
`;

function releaseIn(folder: string) {
  mkdirSync(join(folder, "bin"), { recursive: true });
  writeFileSync(join(folder, "node"), PROGRAM);
  chmodSync(join(folder, "node"), 0o755);
  writeFileSync(join(folder, "bin", "ringrift.js"), "");
  writeFileSync(join(folder, "supervise.sh"), SUPERVISE);
  return { id: "0123456789abcdef", version: "0.1.0", folder };
}

async function open() {
  const root = mkdtempSync(join(tmpdir(), "ringrift-hosts-"));
  const server: SshServer | undefined = await sshServer(join(root, "sshd"));
  if (server === undefined) return undefined;
  const { identityFile, knownHostsFile, user, port, programs } = server;
  const about = { host: "127.0.0.1", user, port, slots: 2, tags: ["mine"], identityFile, knownHostsFile };
  const hosts: DeployHost[] = ["a", "b"].map((label) => ({ ...about, label, folder: join(root, label) }));
  const provider = sshProvider({
    inventory: { hosts },
    open: (host) => openSshSession(host, programs, join(root, "ssh")),
    release: async () => releaseIn(join(root, "release")),
  });
  onTestFinished(async () => {
    for (const { machine_id } of await provider.list(signal).catch(() => []))
      await provider.terminate(machine_id, signal).catch(() => undefined);
    await server.stop();
    rmSync(root, { recursive: true, force: true });
  });
  return {
    provider,
    server,
    hosts,
    root,
    at: (host: string, ...names: string[]) => join(root, host, "fleet", ...names),
  };
}

providerContract("hosts over ssh", {
  open: async () => {
    const world = await open();
    if (world === undefined) return undefined;
    const { provider, at } = world;
    return {
      provider,
      start,
      exists: async (id) => existsSync(at(...(id.split(":") as [string, string]))),
      until: (condition) => vi.waitFor(async () => expect(await condition()).toBe(true), PATIENT),
    };
  },
});

test("a host is one machine: it joins with its token, is taken, does not vanish while it is away, and is free again", async () => {
  const world = await open();
  if (world === undefined) return;
  const { provider, server, at } = world;
  const [offer] = await provider.offers(signal);
  expect(offer).toMatchObject({ offer_id: "a", cpus: 2, price_usd_hour: 0, available: 1 });
  const label = "rr-abcdefgh-01jcxkq8ca7ssawmw1s6ht6j5p";
  const order = { label, offer: offer!, max_price_usd_hour: 0, start: { ...start, label } };
  const machine = await provider.create(order, signal);
  expect(machine).toMatchObject({ machine_id: `a:${label}`, label, address: "127.0.0.1" });
  const joined = readFileSync(at("a", label, "data", "joined"), "utf8");
  expect(joined).toContain(`join ${start.url} --token-file`);
  expect(joined).toContain(start.token);
  expect(existsSync(at("a", label, "token"))).toBe(false);
  expect(readFileSync(at("a", label, "node.env"), "utf8")).toMatch(
    /SLOTS=2\nRINGRIFT_WORKER_TAGS=mine,rented\n.*DEAD_MAN=7200/,
  );
  expect((await provider.offers(signal)).map(({ offer_id }) => offer_id)).toEqual(["b"]);
  const again = await provider.create(order, signal).catch((thrown: unknown) => thrown);
  expect(madeNothing(again)).toBe(true);
  await provider.reboot!(machine.machine_id, signal);
  expect(await provider.list(signal)).toMatchObject([{ label, state: "running" }]);

  await server.stop();
  expect(await provider.list(signal)).toMatchObject([{ label, state: "unknown" }]);
  await server.start();
  await provider.terminate(machine.machine_id, signal);
  expect(existsSync(at("a", label))).toBe(false);
  expect((await provider.offers(signal)).map(({ offer_id }) => offer_id)).toEqual(["a", "b"]);
});
