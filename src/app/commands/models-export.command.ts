import { resolve } from "node:path";
import type { Command } from "commander";
import { answer, bytes, plural, type Shell, shortModel } from "../../surfaces/commands/index.ts";
import { exportModel, type ModelReader } from "./model-export/export-model.ts";

/** `ringrift models export`: a model with all that is known of it, to keep or to give away. */
export function registerModelsExport(models: Command, shell: Shell, reader: ModelReader): void {
  models
    .command("export")
    .description(
      "write a model into a new folder: its file, its checkpoint, a manifest, and its curves (also for TensorBoard)",
    )
    .argument("<model>", "its id, or the first characters of it")
    .argument("<folder>", "the folder to write to; it must be new or empty, otherwise exit code 5")
    .action(async (id: string, given: string) => {
      const folder = resolve(shell.io.cwd, given);
      const manifest = await exportModel(id, folder, reader, shell);
      answer(shell, { folder, manifest }, () => [
        `model ${shortModel(manifest.model_id)} of ${manifest.config_key} is in ${folder}`,
        ...manifest.files.map((file) => `  ${file.path}  ${bytes(file.bytes)}, sha256 ${file.sha256}`),
        `  manifest.json  rating, gate, rules, network, and ${plural(manifest.lineage.nodes.length, "file or job", "files and jobs")} of its lineage`,
        "  curves.csv  every number that the training runs reported until then; the same for TensorBoard in events.out.tfevents",
      ]);
    });
}
