/** Every bench and every soak at its smallest, so that none rots unseen; their numbers mean nothing here. */
import { reportAndExit } from "./parts/root.ts";
import { runSuite } from "./parts/suite.ts";
import { BENCH, SOAK } from "./parts/suites.ts";

await reportAndExit(async () => {
  const codes = [await runSuite(BENCH, ["--tiny"]), await runSuite(SOAK, ["--tiny"])];
  return Math.max(...codes);
});
