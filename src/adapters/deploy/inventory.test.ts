import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { cksum } from "./deploy.ts";
import { readInventory } from "./inventory.ts";

const ssh = { identity_file: "key", known_hosts_file: "/etc/known", user: "ringrift" };

function written(inventory: unknown): string {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-inventory-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "hosts.json");
  writeFileSync(path, typeof inventory === "string" ? inventory : JSON.stringify(inventory));
  return path;
}

test("hosts get what is said for all, and keys are meant from the folder of the file", () => {
  const path = written({
    ssh,
    hosts: [
      { host: "192.0.2.1", slots: 2 },
      { host: "fe80::1", port: 2222, folder: "/srv/rr" },
    ],
  });
  const { hosts, canaries } = readInventory(path);
  expect(canaries).toBe(1);
  expect(hosts).toMatchObject([
    { label: "192.0.2.1", folder: "/opt/ringrift-node", user: "ringrift", identityFile: join(path, "..", "key") },
    { label: "fe80--1", folder: "/srv/rr", port: 2222, knownHostsFile: "/etc/known" },
  ]);
});

test.each([
  ["no JSON", "{"],
  ["no host", { ssh, hosts: [] }],
  ["a host that is an option", { ssh, hosts: [{ host: "-oProxyCommand=touch /tmp/x" }] }],
  ["a host with a command", { ssh, hosts: [{ host: "a;reboot" }] }],
  ["a folder with a blank", { ssh, hosts: [{ host: "a", folder: "/opt/a b" }] }],
  ["a folder that goes up", { ssh, hosts: [{ host: "a", folder: "/opt/../etc" }] }],
  ["a relative folder", { ssh, hosts: [{ host: "a", folder: "opt" }] }],
  ["a label with a line", { ssh, hosts: [{ host: "a", label: "a\nb" }] }],
  ["a tag with a quote", { ssh, hosts: [{ host: "a", tags: ["a'b"] }] }],
  ["a user with a blank", { ssh: { ...ssh, user: "a b" }, hosts: [{ host: "a" }] }],
  [
    "two hosts of one name",
    {
      ssh,
      hosts: [
        { host: "a", label: "x" },
        { host: "b", label: "x" },
      ],
    },
  ],
  [
    "one host twice",
    {
      ssh,
      hosts: [
        { host: "a", label: "x" },
        { host: "a", label: "y" },
      ],
    },
  ],
  ["a field that nobody knows", { ssh, hosts: [{ host: "a", run: "reboot" }] }],
])("%s is refused", (_what, inventory) => {
  expect(() => readInventory(written(inventory))).toThrow(expect.objectContaining({ code: "INVENTORY_INVALID" }));
});

test("what a host has is compared by the checksum that every system prints", () => {
  // printf '%s' "$text" | cksum
  expect(cksum("")).toBe("4294967295");
  expect(cksum("# Written by 'ringrift deploy'.\nRINGRIFT_WORKER_SLOTS=1\n")).toBe("3368384543");
});
