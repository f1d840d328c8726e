import { chmodSync, existsSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { hasProgram } from "../../../../test/support/debian-programs.ts";
import { readSettings } from "../../settings/read.ts";
import { logOptionsOf } from "../log-options.ts";
import { engineConfig, engineFile, engineFolder, needEngine, readEngine, readPeers } from "./engine-file.ts";
import { findEngine } from "./find-engine.ts";
import { makeEngine } from "./make-engine.ts";

const folder = () => {
  const made = mkdtempSync(join(tmpdir(), "ringrift-engine-test-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
};
const PEERS = "a=10.0.0.1,b=b.example.org:14222:16222:18222,c=fd00::3";

test("three machines are named, each with its ports; everything else is refused with what to type", () => {
  expect(readPeers(PEERS)).toEqual([
    { name: "a", host: "10.0.0.1", client: 4_222, route: 6_222, monitor: 8_222 },
    { name: "b", host: "b.example.org", client: 14_222, route: 16_222, monitor: 18_222 },
    { name: "c", host: "fd00::3", client: 4_222, route: 6_222, monitor: 8_222 },
  ]);
  for (const wrong of [
    "a=10.0.0.1",
    "a=10.0.0.1,a=10.0.0.2,c=10.0.0.3",
    "a=h,b=h,c=h",
    "a=h:1:2:x,b=i,c=j",
    "a=x y,b=1,c=2",
    "a=h:0,b=i,c=j",
    "",
    'a"=h,b=i,c=j',
  ])
    expect(() => readPeers(wrong)).toThrow(
      expect.objectContaining({ code: "USAGE", hint: expect.stringContaining("--peers") }),
    );
});

test("a server that is missing or too old is refused with where to get another", () => {
  const saying = (version: string) => {
    const program = join(folder(), "nats-server");
    writeFileSync(program, `#!/bin/sh\necho "nats-server: v${version}"\n`);
    chmodSync(program, 0o755);
    return program;
  };
  expect(findEngine(saying("2.15.1"))).toMatchObject({ version: "2.15.1" });
  const refused = (code: string) => expect.objectContaining({ code, hint: expect.stringContaining("Debian") });
  expect(() => findEngine(saying("2.9.10"))).toThrow(refused("ENGINE_TOO_OLD"));
  expect(() => findEngine(join(folder(), "nothing"))).toThrow(refused("ENGINE_MISSING"));
});

test("each machine gets a certificate of its own and the shared secret, in files that nobody else reads", ({
  skip,
}) => {
  if (!hasProgram("openssl", ["version"])) return skip();
  const dataDir = folder();
  const peers = readPeers(PEERS);
  expect(makeEngine(dataDir, "a", peers, true)).toMatchObject({ applied: false });
  expect(existsSync(engineFile(dataDir))).toBe(false);
  expect(() => needEngine(dataDir)).toThrow(expect.objectContaining({ code: "NO_ENGINE" }));
  expect(() => makeEngine(dataDir, "z", peers, false)).toThrow(/'z', and none of a, b, c/);
  const { files } = makeEngine(dataDir, "a", peers, false);
  expect(() => makeEngine(dataDir, "a", peers, false)).toThrow(expect.objectContaining({ code: "ENGINE_EXISTS" }));
  const own = readEngine(dataDir)!;
  expect(statSync(engineFile(dataDir)).mode & 0o077).toBe(0);
  const config = engineConfig(own, engineFolder(dataDir));
  // All that a coordinator asks of a server, and no way in without the secret.
  for (const line of [
    "sync_interval: always",
    "max_payload: 8MB",
    'ping_interval: "2s", ping_max: 2',
    'http: "127.0.0.1:8222"',
    "verify: true",
    own.secret,
  ])
    expect(config).toContain(line);
  expect(config).toContain(`nats-route://ringrift:${own.secret}@[fd00::3]:6222`);
  const log = logOptionsOf(readSettings({}, "/", { dataDir }));
  expect(log).toMatchObject({
    servers: ["tls://10.0.0.1:4222", "tls://b.example.org:14222", "tls://[fd00::3]:4222"],
    user: { name: "ringrift", password: own.secret },
  });
  renameSync(files.b!, engineFile(dataDir));
  const other = readEngine(dataDir)!;
  expect(other).toMatchObject({ name: "b", secret: own.secret, ca: own.ca });
  expect(other.cert).not.toBe(own.cert);
  writeFileSync(engineFile(dataDir), "{}");
  expect(() => readEngine(dataDir)).toThrow(expect.objectContaining({ code: "ENGINE_INVALID" }));
});
