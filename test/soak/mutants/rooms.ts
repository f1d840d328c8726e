/** What is mutated, which tests have to notice, and how many of the mutants they must find. */
import { globSync } from "node:fs";
import { ROOT } from "../../../tools/parts/root.ts";

export interface MutatedRoom {
  readonly name: string;
  readonly mutate: readonly string[];
  readonly tests: readonly string[];
  /** Share of the mutants that must be found. */
  readonly least: number;
}

/** Where bytes are deleted, admitted or counted, a hole costs somebody's games. */
const STRICT = 0.95;
const USUAL = 0.9;

const CAREFUL = {
  sync: "src/sync/{sweep,upload,adopt,artifact-store,books,accounts,catalog,retention-operations}.ts",
  router: "src/router/journal/{append,retention,deliveries,dead-letters}.ts",
  work: "src/work/{job/plausible,leases/results-residual}.ts",
};
const SYNC_TESTS = ["src/sync/**/*.test.ts", "test/unit/sync/**/*.test.ts"];
const ROUTER_TESTS = ["src/router/**/*.test.ts", "src/adapters/**/*.test.ts", "test/unit/properties/**/*.test.ts"];
const WORK_TESTS = ["src/work/**/*.test.ts", "test/unit/work/**/*.test.ts"];

export const ROOMS: readonly MutatedRoom[] = [
  { name: "sync-careful", mutate: [CAREFUL.sync], tests: SYNC_TESTS, least: STRICT },
  { name: "router-careful", mutate: [CAREFUL.router], tests: ROUTER_TESTS, least: STRICT },
  { name: "work-careful", mutate: [CAREFUL.work], tests: WORK_TESTS, least: STRICT },
  {
    name: "access",
    mutate: ["src/surfaces/http/{access,limits,tokens,node-callers,scope}.ts"],
    // Not those that start a server: who is let in is decided without one.
    tests: ["src/surfaces/http/{access-rules,limits,tokens,node-callers}.test.ts"],
    least: STRICT,
  },
  { name: "sync", mutate: ["src/sync/**/*.ts", `!${CAREFUL.sync}`], tests: SYNC_TESTS, least: USUAL },
  { name: "router", mutate: ["src/router/**/*.ts", `!${CAREFUL.router}`], tests: ROUTER_TESTS, least: USUAL },
  { name: "work", mutate: ["src/work/**/*.ts", `!${CAREFUL.work}`], tests: WORK_TESTS, least: USUAL },
  {
    name: "daemons",
    mutate: ["src/daemons/**/*.ts"],
    tests: ["src/daemons/**/*.test.ts", "test/unit/daemons/**/*.test.ts", "test/unit/audit-*.test.ts"],
    least: USUAL,
  },
  {
    name: "nodes",
    mutate: ["src/cluster/nodes/**/*.ts"],
    tests: ["src/cluster/**/*.test.ts", "test/unit/cluster/**/*.test.ts"],
    least: USUAL,
  },
  {
    name: "decisions",
    mutate: [
      "src/pipeline/**/decide.ts",
      "src/pipeline/stage/**/*.ts",
      "src/pipeline/promotion/**/*.ts",
      "src/pipeline/models/champion.ts",
      "src/pipeline/evaluation/{gate,verdicts}.ts",
    ],
    tests: ["src/pipeline/**/*.test.ts"],
    least: USUAL,
  },
];

/** The files of a room whose path contains this. */
export function filesOf({ mutate }: MutatedRoom, part = ""): string[] {
  const not = mutate.filter((glob) => glob.startsWith("!")).map((glob) => glob.slice(1));
  const left = new Set(globSync([...not, "src/**/*.test.ts", "src/**/index.ts"], { cwd: ROOT }));
  return globSync(
    mutate.filter((glob) => !glob.startsWith("!")),
    { cwd: ROOT },
  )
    .filter((file) => !left.has(file) && file.includes(part))
    .sort();
}
