/** Defects that stopped the loop once, planted so that the property proves that it would see them. */
export const PLANTS = [
  /** Nodes that are there count as checkers, whether they have a worker or not. */
  "nodes-as-workers",
  /** A busy machine gets no job at all. */
  "pressure-stops",
  /** Parts that nobody can read are checked again for ever. */
  "noise-retried",
  /** A holder that is heard keeps its job, whether it gets anywhere or not. */
  "no-progress-deadline",
  /** A model counts though nobody can read it. */
  "models-unread",
  /** A result counts without its files. */
  "done-without-files",
] as const;
export type Plant = "none" | (typeof PLANTS)[number];

/** Rows as the planted code would write them: a node that is short gets nothing for as long as it is. */
export const PLANTED_ROWS: Partial<Record<Plant, string>> = {
  "pressure-stops": ["INSERT", "UPDATE"]
    .map(
      (when) => `CREATE TRIGGER planted_${when} AFTER ${when} ON state_rows
        WHEN NEW.table_name = 'work_node_shortages' AND json_extract(NEW.value, '$.leaves') > 0
        BEGIN UPDATE state_rows SET value = json_set(value, '$.leaves', 0, '$.until', 9e15)
          WHERE table_name = NEW.table_name AND key = NEW.key; END;`,
    )
    .join("\n"),
};
