import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { newFolder } from "../../sync/transport.contract.ts";
import { createFileMaker } from "./file-maker.ts";

const maker = () => {
  const made = createFileMaker();
  onTestFinished(() => made.close());
  return made;
};
const fileOf = (folder: string, i: number, bytes: number) => ({
  path: join(folder, `${i}.part`),
  content: Buffer.alloc(bytes, `${i},`),
});

test("files are written whole, more than fit at once too, and the bytes that were lent may change at once", async () => {
  const [folder, made] = [newFolder(), maker()];
  // From none to the largest that travels in a pack.
  const sizes = [0, 1, 5_000, 1_024 ** 2, 700_000, 1_024 ** 2, 3, 900_000, 1_024 ** 2, 1_024 ** 2];
  const files = sizes.map((bytes, i) => fileOf(folder, i, bytes));
  const { done } = await made.write(files);
  const wanted = files.map(({ content }) => Buffer.from(content));
  for (const { content } of files) content.fill("x");
  await done;
  for (const [i, { path }] of files.entries()) expect(readFileSync(path).equals(wanted[i]!)).toBe(true);
});

test("names are given after all that was to be written before", async () => {
  const [folder, made] = [newFolder(), maker()];
  const files = Array.from({ length: 300 }, (_, i) => fileOf(folder, i, 5_000));
  await made.write(files);
  await made.rename(files.map(({ path }) => [path, path.replace(".part", "")]));
  for (const [i, { path, content }] of files.entries()) {
    expect(existsSync(path)).toBe(false);
    expect(readFileSync(join(folder, String(i))).equals(content)).toBe(true);
  }
});

test("what cannot be written says why by its code, and the next ones are written", async () => {
  const [folder, made] = [newFolder(), maker()];
  const gone = join(folder, "gone");
  const { done } = await made.write([fileOf(gone, 1, 10)]);
  await expect(done).rejects.toMatchObject({ code: "ENOENT" });
  mkdirSync(gone);
  await (await made.write([fileOf(gone, 1, 10)])).done;
  expect(readFileSync(join(gone, "1.part"))).toHaveLength(10);
  rmSync(gone, { recursive: true });
  writeFileSync(gone, "a file");
  await expect(made.rename([[join(gone, "1.part"), join(gone, "1")]])).rejects.toMatchObject({ code: "ENOTDIR" });
});
