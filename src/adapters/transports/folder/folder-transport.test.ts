import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newFolder, receiver, transportContract, wantedOf } from "../../../sync/transport.contract.ts";
import type { Wanted } from "../../../sync/transport.port.ts";
import { DISK_MARKER } from "../disk-marker.ts";
import { folderTransport, markDisk } from "./folder-transport.ts";

async function open() {
  const path = join(newFolder(), "disk");
  await markDisk(path, "backup-1");
  const pathOf = ({ sha256 }: Wanted) => join(path, sha256.slice(0, 2), sha256);
  return {
    path,
    transport: folderTransport({ path, disk: "backup-1" }),
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
    /** As an unmounted disk looks: the folder is there, and empty. */
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

transportContract("a folder", { open });

test("a disk that is not mounted, or another one, is a fault, and nothing is written into its place", async () => {
  const { path, transport, vanish } = await open();
  const made = { ...wantedOf(Buffer.from("x")), path: join(newFolder(), "x") };
  writeFileSync(made.path, "x");
  const options = { signal: new AbortController().signal, spend: async () => {} };
  const another = folderTransport({ path, disk: "backup-2" });
  await expect(another.write!(made, options)).rejects.toMatchObject({ code: "PLACE_NOT_THERE" });
  await vanish();
  await expect(transport.write!(made, options)).rejects.toMatchObject({ code: "PLACE_NOT_THERE", retryable: true });
  expect(existsSync(join(path, made.sha256.slice(0, 2)))).toBe(false);
  const report = await receiver().fetch([made], [transport]);
  expect(report.failed).toMatchObject([{ code: "PLACE_NOT_THERE" }]);
});

test("a disk keeps the name that it was given", async () => {
  const { path } = await open();
  await markDisk(path, "backup-1");
  await expect(markDisk(path, "backup-2")).rejects.toMatchObject({ code: "PLACE_TAKEN" });
  expect(readFileSync(join(path, DISK_MARKER), "utf8").trim()).toBe("backup-1");
});
