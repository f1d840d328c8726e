import type { Suite } from "./suite.ts";

export const BENCH: Suite = {
  name: "bench",
  folder: "test/bench",
  reports: ".bench",
  about: "measures speed, as ratios in one run",
};

export const SOAK: Suite = {
  name: "soak",
  folder: "test/soak",
  reports: ".soak",
  about: "runs the long and cruel tests",
};
