import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type SshServer, sshServer } from "../../../../test/support/ssh-server.ts";
import { isThorough } from "../../../../test/support/thorough.ts";
import { systemClock } from "../../../kernel/index.ts";
import { newFolder, receiver, transportContract, wantedOf } from "../../../sync/transport.contract.ts";
import type { Wanted } from "../../../sync/transport.port.ts";
import { DISK_MARKER } from "../disk-marker.ts";
import { type RsyncTransportOptions, rsyncTransport } from "./rsync-transport.ts";
import { sshConfig } from "./ssh-config.ts";

const keys = mkdtempSync(join(tmpdir(), "ringrift-ssh-keys-"));
let server: SshServer | undefined;
beforeAll(async () => {
  server = await sshServer(join(keys, "sshd"));
});
afterAll(async () => {
  await server?.stop();
  rmSync(keys, { recursive: true, force: true });
});

async function open(more: Partial<RsyncTransportOptions> = {}) {
  if (server === undefined) return undefined;
  const { port, user, identityFile, knownHostsFile, programs } = server;
  const path = join(newFolder(), "disk");
  mkdirSync(path);
  writeFileSync(join(path, DISK_MARKER), "backup-1\n");
  const pathOf = ({ sha256 }: Wanted) => join(path, sha256.slice(0, 2), sha256);
  const transport = rsyncTransport({
    host: "127.0.0.1",
    port,
    user,
    path,
    identityFile,
    knownHostsFile,
    disk: "backup-1",
    programs,
    scratch: join(newFolder(), "scratch"),
    clock: systemClock(),
    ...more,
  });
  onTestFinished(() => transport.close());
  return {
    path,
    transport,
    async give(content: Uint8Array) {
      const wanted = wantedOf(content);
      mkdirSync(join(path, wanted.sha256.slice(0, 2)), { recursive: true });
      writeFileSync(pathOf(wanted), content);
      return wanted;
    },
    async spoil(wanted: Wanted, content: Uint8Array | undefined) {
      if (content === undefined) rmSync(pathOf(wanted));
      else writeFileSync(pathOf(wanted), content);
    },
    async vanish() {
      renameSync(path, `${path}.away`);
      mkdirSync(path);
    },
    async comeBack() {
      rmSync(path, { recursive: true });
      renameSync(`${path}.away`, path);
    },
    held: async (wanted: Wanted) => (existsSync(pathOf(wanted)) ? readFileSync(pathOf(wanted)) : undefined),
  };
}

transportContract("rsync over ssh", { open, stallMs: 5_000, briefly: !isThorough });

const content = Buffer.from("the bytes of a model");

test("a host whose key is not the one that is known is not spoken to", async () => {
  if (server === undefined) return;
  const known = join(newFolder(), "known_hosts");
  const stranger = readFileSync(join(server.identityFile, "../stranger.pub"), "utf8").split(" ").slice(0, 2).join(" ");
  for (const line of ["", `127.0.0.1 ${stranger}\n`]) {
    writeFileSync(known, line);
    const world = (await open({ knownHostsFile: known }))!;
    const here = receiver();
    const report = await here.fetch([await world.give(content)], [world.transport]);
    expect(report.failed).toMatchObject([{ code: "PLACE_UNTRUSTED" }]);
  }
});

test("a key that is not entered over there is refused, and a server that is not there does not answer", async () => {
  if (server === undefined) return;
  const refused = (await open({ identityFile: join(server.identityFile, "../stranger") }))!;
  expect((await receiver().fetch([await refused.give(content)], [refused.transport])).failed).toMatchObject([
    { code: "PLACE_REFUSED" },
  ]);
  const world = (await open())!;
  const wanted = await world.give(content);
  await server.stop();
  expect((await receiver().fetch([wanted], [world.transport])).failed).toMatchObject([{ code: "PLACE_UNREACHABLE" }]);
  await server.start();
  expect((await receiver().fetch([wanted], [world.transport])).arrived).toEqual([wanted.sha256]);
});

test("a place that ssh or a shell could take for more than a place is refused", () => {
  const place = { host: "h", path: "/d", identityFile: "/k", knownHostsFile: "/k", disk: "x" };
  expect(sshConfig(place)).toContain("StrictHostKeyChecking yes");
  for (const bad of [
    { host: "-oProxyCommand=touch /tmp/x" },
    { host: "a b" },
    { host: "a\nProxyCommand x" },
    { user: "root -o x" },
    { user: "-l" },
    { path: "relative" },
    { path: "/d/../etc" },
    { path: "/d;reboot" },
    { path: "/d$(reboot)" },
    { identityFile: '/k"\nProxyCommand x' },
  ])
    expect(() => sshConfig({ ...place, ...bad })).toThrow("is not taken for rsync");
});
