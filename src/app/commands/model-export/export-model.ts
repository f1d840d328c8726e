import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import {
  isOperatingError,
  messageOf,
  OperatingError,
  syncFolder,
  systemCode,
  writeDurably,
} from "../../../kernel/index.ts";
import { askEither, type Shell } from "../../../surfaces/commands/index.ts";
import { getModel } from "../../../surfaces/models/wire.ts";
import { getLineage, getPipeline } from "../../../surfaces/pipeline/wire.ts";
import type { ArenaConsole } from "../../../workloads/arena/index.ts";
import { readVersion } from "../../version.ts";
import { copyArtifact } from "../folder-artifact.ts";
import { curvePoints, curvesCsv } from "./curves.ts";
import { eventFile, eventFileName } from "./event-file.ts";

/** What is known of the rules and the network of a model file. */
export type ModelReader = Pick<ArenaConsole, "aboutModel">;

const FORMAT_VERSION = 1;

const exists = (folder: string): OperatingError =>
  OperatingError.conflict("FILE_EXISTS", `${folder} already exists`, {
    hint: "Name a folder that does not exist yet.",
  });

/** Whether there is something that must not be written over; an empty folder is nothing. */
const isTaken = (folder: string): Promise<boolean> =>
  readdir(folder).then(
    (names) => names.length > 0,
    (thrown: unknown) => {
      if (systemCode(thrown) === "ENOENT") return false;
      if (systemCode(thrown) === "ENOTDIR") return true;
      throw thrown;
    },
  );

/** Fills a folder under another name, and gives it its own when all of it is there. */
async function inNewFolder<T>(folder: string, fill: (part: string) => Promise<T>): Promise<T> {
  if (await isTaken(folder)) throw exists(folder);
  const above = dirname(folder);
  await mkdir(above, { recursive: true });
  const part = await mkdtemp(join(above, `.${basename(folder)}-`));
  try {
    const filled = await fill(part);
    await syncFolder(part);
    await rename(part, folder).catch((thrown: unknown) => {
      throw ["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(systemCode(thrown) ?? "") ? exists(folder) : thrown;
    });
    await syncFolder(above);
    return filled;
  } finally {
    await rm(part, { recursive: true, force: true });
  }
}

/** What the main process, or its folder, tells of a model. Times in the documents are seconds, as `--json` has them. */
const learnOf = (id: string, shell: Shell) =>
  askEither(shell, async (main) => {
    const model = await main.raw(getModel, { params: { id } });
    const [lineage, { configs }] = await Promise.all([
      main.raw(getLineage, { params: { id: model.model_id } }),
      main.call(getPipeline),
    ]);
    const config = configs.find(({ config_key }) => config_key === model.config_key);
    return { model, lineage, points: curvePoints(config?.losses ?? [], model.iteration) };
  });

/** The checkpoint helps to train on; a model is worth having without it. */
async function copyCheckpoint(
  sha256: string | null | undefined,
  copy: (sha256: string) => Promise<number>,
  shell: Shell,
) {
  if (sha256 == null) return [];
  try {
    return [{ path: "checkpoint", kind: "checkpoint", sha256, bytes: await copy(sha256) }];
  } catch (thrown) {
    if (!isOperatingError(thrown)) throw thrown;
    shell.note(`without its checkpoint: ${messageOf(thrown)}`);
    return [];
  }
}

/** Writes a model with all that is known of it into a new folder, and answers the manifest. */
export async function exportModel(id: string, folder: string, reader: ModelReader, shell: Shell) {
  const { dataDir } = shell.main;
  const { signal } = shell.io;
  const { model, lineage, points } = await learnOf(id, shell);
  const { model_id: sha256, checkpoint, files: learned_from, ...rest } = model;
  return inNewFolder(folder, async (part) => {
    const path = join(part, "model");
    const bytes = await copyArtifact(dataDir, sha256, `the file of model ${sha256}`, path, signal);
    const copy = (hash: string) => copyArtifact(dataDir, hash, "its file", join(part, "checkpoint"), signal);
    const files = [{ path: "model", kind: "model", sha256, bytes }, ...(await copyCheckpoint(checkpoint, copy, shell))];
    const manifest = {
      format: "ringrift-model",
      version: FORMAT_VERSION,
      model_id: sha256,
      files,
      ...rest,
      learned_from,
      lineage: { nodes: lineage.nodes, edges: lineage.edges },
      ...(await reader.aboutModel(path)),
      exported_at: shell.clock.now() / 1_000,
      exported_by: `ringrift ${readVersion()}`,
    };
    const startedAt = points[0]?.at ?? shell.clock.now();
    await writeDurably(join(part, "curves.csv"), curvesCsv(points));
    await writeDurably(join(part, eventFileName(startedAt)), eventFile(points, startedAt));
    await writeDurably(join(part, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    return manifest;
  });
}
