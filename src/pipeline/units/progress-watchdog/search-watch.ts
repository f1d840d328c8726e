import { defineTable } from "../../../router/index.ts";
import { type ConfigLook, searchOrders } from "../../stage/index.ts";

/** The last sign of a population that is under way. By config_key; written by `progress_watchdog`. */
export type SearchSign = {
  readonly run_id: string;
  readonly generation: number;
  readonly at: number;
  readonly told: boolean;
};
export const searchSigns = defineTable<SearchSign>("pipeline_search_signs");

/** A search is given up after an hour; one whose generation takes half of that will not come to its end. */
const WITHIN_MS = 30 * 60_000;
const SEARCH_LATE = "SEARCH_LATE";

/** Names a population that shows no next generation, and says so when it has ended or goes on after all. */
export function watchSearch({
  row,
  put,
  rows,
  emit,
  now,
  configKey: config_key,
}: ConfigLook<"DATA_QUALITY_ALERT">): void {
  const sign = row(searchSigns);
  if (sign === undefined) return;
  const order = row(searchOrders);
  const isOpen = order?.run_id === sign.run_id && order.outcome === null;
  const isLate = isOpen && now - sign.at >= WITHIN_MS;
  const about = { config_key, error_code: SEARCH_LATE };
  if (isLate && !sign.told) {
    put(searchSigns, { ...sign, told: true });
    const message = `${sign.run_id} shows no generation after ${sign.generation} for ${WITHIN_MS / 60_000} min; 'ringrift steering explain ${config_key}' shows how far it is`;
    emit.DATA_QUALITY_ALERT({ ...about, severity: "warning", message });
    return;
  }
  if (isOpen && !(sign.told && !isLate)) return;
  if (isOpen) put(searchSigns, { ...sign, told: false });
  else rows.delete(searchSigns, config_key);
  if (sign.told)
    emit.DATA_QUALITY_ALERT({ ...about, severity: "info", message: `${sign.run_id} goes on, or has ended` });
}
