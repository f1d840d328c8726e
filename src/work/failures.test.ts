import { expect, test } from "vitest";
import { failureGroups } from "./failures.ts";
import type { JobView } from "./views.ts";

const failed = (work_id: string, error: string, finished_at: number, node_id: string | null, work_type = "selfplay") =>
  ({
    ...{ work_id, work_type, node_id, finished_at, claimed_at: 1, queued_at: 0 },
    failure: { error, error_code: "EXIT_1", stderr_tail: null },
  }) as unknown as JobView;

test("jobs that fail alike are one group with first and last seen, its nodes and the newest job; the largest comes first", () => {
  const jobs = [
    failed("w9", "no GPU", 50, "a", "training"),
    failed("w3", "segment 12 is cut off", 30, "b"),
    failed("w7", "segment 99 is cut off", 70, "a"),
    failed("w1", "segment 7 is cut off", 10, null),
    { ...failed("w8", "", 80, "a"), failure: null } as JobView,
  ];
  expect(failureGroups(jobs)).toEqual([
    {
      ...{ work_type: "selfplay", error_code: "EXIT_1", error: "segment 99 is cut off", jobs: 3 },
      ...{ first_at: 10, last_at: 70, nodes: ["a", "b"], work_id: "w7" },
    },
    {
      ...{ work_type: "training", error_code: "EXIT_1", error: "no GPU", jobs: 1 },
      ...{ first_at: 50, last_at: 50, nodes: ["a"], work_id: "w9" },
    },
  ]);
  expect(failureGroups([])).toEqual([]);
});
