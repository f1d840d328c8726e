/** `npm run soak`: the long and cruel ones, each in a process of its own, with a report. */
import { reportAndExit } from "./parts/root.ts";
import { runSuite } from "./parts/suite.ts";

await reportAndExit(() =>
  runSuite(
    { name: "soak", folder: "test/soak", reports: ".soak", about: "runs the long and cruel tests" },
    process.argv.slice(2),
  ),
);
