import type { Store } from "../../router/index.ts";
import type { JobsOfSort } from "../../work/index.ts";
import { type SelfplayOrder, selfplayOrders } from "./tables.ts";

/** Jobs of iterations under way that are not in the queue yet, by config. */
export const plannedJobs = (store: Pick<Store, "read">): JobsOfSort[] =>
  store
    .read<{ key: string; value: string }>(
      "SELECT key, value FROM state_rows WHERE table_name = ?",
      selfplayOrders.table,
    )
    .flatMap(({ key, value }) => {
      const { wanted, jobs } = JSON.parse(value) as SelfplayOrder;
      const lacking = wanted.filter((part) => jobs[part] === undefined).length;
      return lacking === 0 ? [] : [{ workType: "selfplay", configKey: key, jobs: lacking }];
    });
