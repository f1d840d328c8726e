/** `npm run bench`: speed, each bench in a process of its own, as ratios in one run. */
import { reportAndExit } from "./parts/root.ts";
import { runSuite } from "./parts/suite.ts";
import { BENCH } from "./parts/suites.ts";

await reportAndExit(() => runSuite(BENCH, process.argv.slice(2)));
