/** What is mutated, which tests have to notice, and how many of the mutants they must find. */

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

const CAREFUL = [
  "src/sync/{sweep,upload,adopt,artifact-store,books,accounts,retention-operations}.ts",
  "src/router/journal/{append,retention,deliveries,dead-letters}.ts",
];
const SYNC_TESTS = ["src/sync/**/*.test.ts", "test/unit/sync/**/*.test.ts"];
const ROUTER_TESTS = ["src/router/**/*.test.ts", "src/adapters/**/*.test.ts", "test/unit/properties/**/*.test.ts"];

export const ROOMS: readonly MutatedRoom[] = [
  { name: "sync-careful", mutate: [CAREFUL[0]!], tests: SYNC_TESTS, least: STRICT },
  { name: "router-careful", mutate: [CAREFUL[1]!], tests: ROUTER_TESTS, least: STRICT },
  { name: "sync", mutate: ["src/sync/**/*.ts", `!${CAREFUL[0]}`], tests: SYNC_TESTS, least: USUAL },
  { name: "router", mutate: ["src/router/**/*.ts", `!${CAREFUL[1]}`], tests: ROUTER_TESTS, least: USUAL },
  {
    name: "work",
    mutate: ["src/work/**/*.ts"],
    tests: ["src/work/**/*.test.ts", "test/unit/work/**/*.test.ts"],
    least: USUAL,
  },
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
    mutate: ["src/pipeline/**/decide.ts", "src/pipeline/stage/**/*.ts", "src/pipeline/evaluation/gate.ts"],
    tests: ["src/pipeline/**/*.test.ts"],
    least: USUAL,
  },
  {
    name: "access",
    mutate: ["src/surfaces/http/{access,limits,tokens,node-callers,scope}.ts"],
    tests: ["src/surfaces/http/**/*.test.ts", "test/unit/http/**/*.test.ts"],
    least: USUAL,
  },
];
