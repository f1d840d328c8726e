/** Models that were made beside the line of training enter the registry. */
import type { PayloadFor } from "../../../../events/index.ts";
import type { ConfigLook, StageServices } from "../../../stage/index.ts";
import { modelEntry, registerDerived, type Student } from "../../registry.ts";
import { students } from "../../students.ts";

type Told = Pick<ConfigLook<"REGISTRY_UPDATED">, "rows" | "now" | "emit">;

function enter({ store }: Pick<StageServices, "store">, { rows, emit }: Told, student: Student): void {
  const { model, config_key } = student;
  if (modelEntry(store, config_key, model) !== undefined) return;
  rows.apply(registerDerived(student));
  emit.REGISTRY_UPDATED({
    model_id: model,
    config_key: config_key as ConfigLook["configKey"],
    model_state: "staging",
    artifact_hash: model,
  });
}

/** Networks that were made of a champion. */
export function enterStudents(services: StageServices, look: ConfigLook<"REGISTRY_UPDATED">): void {
  for (const student of Object.values(look.row(students) ?? {})) enter(services, look, student);
}

/** The best network of a search so far; its file is in the catalog. */
export function enterBest(
  services: StageServices,
  { config_key, architecture, best_score, architecture_spec, run_id }: PayloadFor<"NAS_BEST_ARCHITECTURE">,
  told: Told,
): void {
  const file = services.catalog.get(String(architecture_spec.model_id));
  if (file === undefined) return;
  enter(services, told, {
    ...{ config_key, model: file.sha256, iteration: file.iteration ?? 0, job_id: run_id },
    ...{ work_id: file.work_id ?? "", bytes: file.bytes, checkpoint: null, base_checkpoint: null },
    inputs: services.catalog.parentsOf(file.sha256),
    losses: {},
    derived: { kind: "nas", architecture, teacher: null, score: best_score },
    created_at: told.now,
  });
}
