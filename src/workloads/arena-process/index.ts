/**
 * arena-process: the built-in games behind the same protocol as anybody's program. A worker starts them like any other
 * workload and trusts them no further.
 *
 * It guarantees that a job's artifacts follow from its kind, config, seed, parameters and inputs alone, byte for byte;
 * that games and blocks are numbered within their seed, so that a batch may be cut into jobs of any size; and that a
 * round made of these jobs is, number for number, a round of the bare loop.
 */
export { arenaDeclaration } from "./declaration.ts";
export { arenaWorkload } from "./workload.ts";
