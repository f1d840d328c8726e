/** Units and parts that are to come, by the stage that brings them. Who is built is no longer listed here. */
export const PLANNED_UNITS = {
  ha: ["leadership_coordinator", "leader_lease", "replicated_log"],
  steering: ["derived_training", "per_orchestrator"],
} as const;
