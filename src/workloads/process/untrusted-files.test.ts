import { hash } from "node:crypto";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createWorkloadHasher } from "./file-hasher.ts";
import { lexicalFault, verifyArtifact } from "./untrusted-files.ts";

it("refuses every path that is not plainly inside", () => {
  for (const path of ["/etc/passwd", "../a", "a/../../b", "a/..", "..", "./a", "a//b", "a/", "C:/a", "a\\b", "a\0b"])
    expect(lexicalFault(path), path).toBeDefined();
  for (const path of ["a", "a/b.bin", "..a", "a..b/c", ".hidden"]) expect(lexicalFault(path), path).toBeUndefined();
});

const setUp = () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "ringrift-files-")));
  const hasher = createWorkloadHasher();
  onTestFinished(async () => {
    await hasher.close();
    rmSync(folder, { recursive: true });
  });
  const outputFolder = join(folder, "output");
  mkdirSync(outputFolder);
  const verify = (path: string, bytes: Buffer) =>
    verifyArtifact(
      { type: "artifact", job_id: "j", path, sha256: hash("sha256", bytes, "hex"), bytes: bytes.length, kind: "k" },
      { outputFolder, artifactBytes: 2 ** 30, bytesLeft: 2 ** 30 },
      hasher,
    );
  return { folder, outputFolder, verify };
};

it("hashes small files at once and large ones on a thread, with the same result", async () => {
  const { outputFolder, verify } = setUp();
  const sizes = [0, 1, 256 * 1024, 256 * 1024 + 1, 5 * 2 ** 20 + 3];
  await Promise.all(
    sizes.map(async (size) => {
      const bytes = Buffer.alloc(size, `${size} `);
      writeFileSync(join(outputFolder, `${size}.bin`), bytes);
      expect(await verify(`${size}.bin`, bytes)).toMatchObject({
        ok: true,
        value: { bytes: size, file: join(outputFolder, `${size}.bin`) },
      });
    }),
  );
  writeFileSync(join(outputFolder, "large.bin"), Buffer.alloc(2 ** 20, "a"));
  expect(await verify("large.bin", Buffer.alloc(2 ** 20, "b"))).toMatchObject({ fault: { code: "wrong_hash" } });
});

it("a link inside that stays inside is fine; one that leads out is not", async () => {
  const { folder, outputFolder, verify } = setUp();
  const text = Buffer.from("text");
  writeFileSync(join(folder, "outside.txt"), text);
  mkdirSync(join(outputFolder, "sub"));
  writeFileSync(join(outputFolder, "sub", "in.txt"), text);
  symlinkSync(join(outputFolder, "sub"), join(outputFolder, "within"));
  symlinkSync(folder, join(outputFolder, "out"));
  expect(await verify("within/in.txt", text)).toMatchObject({ ok: true });
  expect(await verify("out/outside.txt", text)).toMatchObject({ fault: { code: "path_outside" } });
});
