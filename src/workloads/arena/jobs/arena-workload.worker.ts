/** The built-in games as a program of the workload protocol: one core, one job at a time. */
import { serveProcess } from "../../process/index.ts";
import { arenaWorkload } from "./workload.ts";

await serveProcess(arenaWorkload());
