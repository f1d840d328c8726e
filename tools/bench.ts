/** `npm run bench`: speed, each bench in a process of its own, as ratios in one run. */
import { reportAndExit } from "./parts/root.ts";
import { runSuite } from "./parts/suite.ts";

await reportAndExit(() =>
  runSuite(
    { name: "bench", folder: "test/bench", reports: ".bench", about: "measures speed, as ratios in one run" },
    process.argv.slice(2),
  ),
);
