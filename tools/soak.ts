/** `npm run soak`: the long and cruel ones, each in a process of its own, with a report. */
import { reportAndExit } from "./parts/root.ts";
import { runSuite } from "./parts/suite.ts";
import { SOAK } from "./parts/suites.ts";

await reportAndExit(() => runSuite(SOAK, process.argv.slice(2)));
