/**
 * Reads a log from its first entry: terms never go back, every entry is of the process that won its term, and a database that begins with
 * nothing takes all of it. Prints what it found as JSON.
 */
import { openJetStreamLog } from "../../../src/adapters/nats/jetstream-log.ts";
import { rowsDigest } from "../../../src/adapters/sqlite/replica/digests.ts";
import { openReplica } from "../../../src/adapters/sqlite/replica/replica.ts";
import { openWriter } from "../../../src/adapters/sqlite/writer.ts";
import { systemClock } from "../../../src/kernel/index.ts";
import { decodeEntry } from "../../../src/router/index.ts";
import { modulesOf } from "../../e2e/parts/growing-module.ts";
import type { MemberOptions } from "../../e2e/parts/replica-member.ts";
import { until } from "../../support/patience.ts";

export interface LogAudit {
  readonly entries: number;
  readonly terms: number;
  /** Entries that another process wrote than the one that had won their term, or after a later term had begun. */
  readonly stale: readonly number[];
  readonly digest: string;
}

export interface AuditOptions extends Pick<MemberOptions, "log"> {
  /** An entry that somebody has. */
  readonly seen: number;
}

const { log: where, seen } = JSON.parse(process.argv[2]!) as AuditOptions;
const log = await openJetStreamLog({ ...where, clock: systemClock() });
let last = 0;
// A server that was cut off a moment ago may say an old number: only one that stays is a loss.
await until(
  async () => {
    last = await log.last().catch(() => last);
    return last >= seen;
  },
  () => `the log ends at entry ${last}, and somebody has entry ${seen}`,
);
const replica = openReplica(openWriter(":memory:", modulesOf(1)).db, { cluster: "games", generation: 1 });
const bootOf = new Map<number, string>();
const stale: number[] = [];
let newest = 0;
const done = new AbortController();
if (last > 0)
  for await (const entry of log.follow(0, done.signal)) {
    const { header } = decodeEntry(entry.bytes);
    if (header.kind === "term" && !bootOf.has(header.term)) bootOf.set(header.term, header.boot);
    if (header.term < newest || bootOf.get(header.term) !== header.boot) stale.push(entry.seq);
    newest = Math.max(newest, header.term);
    replica.replay([entry]);
    if (entry.seq >= last) break;
  }
const audit: LogAudit = { entries: last, terms: bootOf.size, stale, digest: rowsDigest(replica.db) };
process.stdout.write(`audit ${JSON.stringify(audit)}\n`);
await log.close();
process.exit(0);
