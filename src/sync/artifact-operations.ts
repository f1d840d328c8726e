import { OperatingError } from "../kernel/index.ts";
import { defineOperation, type Transaction } from "../router/store.port.ts";
import { book, type Counted, type Fate } from "./accounts.ts";
import type { ArtifactEntry, ArtifactRow } from "./artifact.ts";
import { doubtCopies } from "./copies/copy-operations.ts";
import { type ArtifactAction, type ArtifactState, after } from "./states.ts";
import { unknownArtifact } from "./unknown-artifact.ts";

type Life = Pick<
  ArtifactRow,
  "seq" | "state" | "was" | "work_id" | "kind" | "config_key" | "producer" | "counted" | "reason" | "freed_at"
>;

export const lifeOf = (tx: Transaction, sha256: string): Life | undefined =>
  tx.get<Life>(
    `SELECT seq, state, was, work_id, kind, config_key, producer, counted, reason, freed_at
     FROM sync_artifacts WHERE sha256 = ?`,
    sha256,
  );

export const fateOf = ({ state, reason }: Pick<Life, "state" | "reason">): Fate => ({ outcome: state, reason });

export const changed = (what: string) =>
  OperatingError.busy("READ_CONFLICT", `${what} changed while it was decided on`);

const hasGamesFile = (tx: Transaction, workId: string): boolean =>
  tx.get(
    `SELECT 1 FROM sync_artifacts WHERE work_id = ?1 AND kind = 'games'
     UNION ALL SELECT 1 FROM sync_past WHERE work_id = ?1 AND kind = 'games' LIMIT 1`,
    workId,
  ) !== undefined;

/**
 * The games of a job stand in the books once: under its files of games, or under its samples where it kept no games. What is
 * made of them later (training sets, models) counts nothing.
 */
function countedOf(tx: Transaction, { kind, work_id, games }: ArtifactEntry, all: readonly ArtifactEntry[]): number {
  if (work_id === null) return 0;
  if (kind === "games") return games;
  if (kind !== "samples") return 0;
  const kept = all.some((other) => other.work_id === work_id && other.kind === "games") || hasGamesFile(tx, work_id);
  return kept ? 0 : games;
}

/** A file of games that comes after the samples takes over from them. */
function takeOver(tx: Transaction, { kind, work_id }: ArtifactEntry): void {
  if (kind !== "games" || work_id === null) return;
  const samples = tx.all<Counted & Fate>(
    `SELECT config_key, producer, counted, state AS outcome, reason FROM sync_artifacts
       WHERE work_id = ?1 AND kind = 'samples'
     UNION ALL SELECT config_key, producer, counted, outcome, reason FROM sync_past
       WHERE work_id = ?1 AND kind = 'samples'`,
    work_id,
  );
  for (const one of samples) book(tx, one, one, null);
  for (const table of ["sync_artifacts", "sync_past"])
    tx.run(`UPDATE ${table} SET counted = 0 WHERE work_id = ? AND kind = 'samples'`, work_id);
}

const FACTS = [
  "kind",
  "bytes",
  "rows",
  "games",
  "config_key",
  "producer",
  "rules_version",
  "work_id",
  "part",
  "iteration",
] as const satisfies readonly (keyof ArtifactEntry)[];

const INSERT = `INSERT INTO sync_artifacts (${FACTS.join(", ")}, sha256, counted, state, created_at, idle_since)
  VALUES (${FACTS.map(() => "?").join(", ")}, ?, ?, ?, ?, ?)`;
const BEGIN_AGAIN = `UPDATE sync_artifacts SET ${FACTS.map((name) => `${name} = ?`).join(", ")}, counted = ?, state = ?,
  idle_since = ?, reason = NULL, was = NULL, verified_at = NULL, announced_at = NULL, freed_at = NULL, removed_at = NULL
  WHERE seq = ?`;
const PAST = `INSERT INTO sync_past (sha256, work_id, kind, config_key, producer, counted, outcome, reason, at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

function setParents(tx: Transaction, { sha256, parents }: ArtifactEntry): void {
  tx.run("DELETE FROM sync_parents WHERE sha256 = ?", sha256);
  parents.forEach((parent, place) => {
    tx.run(
      "INSERT INTO sync_parents (sha256, parent, place) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
      sha256,
      parent,
      place,
    );
  });
}

function recordOne(tx: Transaction, entry: ArtifactEntry, all: readonly ArtifactEntry[], at: number): void {
  const { sha256, work_id } = entry;
  const known = lifeOf(tx, sha256);
  if (work_id !== null) {
    if (known?.work_id === work_id) return;
    if (tx.get("SELECT 1 FROM sync_past WHERE sha256 = ? AND work_id = ?", sha256, work_id) !== undefined) return;
  }
  const counted = countedOf(tx, entry, all);
  const facts = FACTS.map((name) => entry[name]);
  const state = after(known?.state ?? null, "record");
  if (state === undefined) {
    // The same bytes from two jobs are one artifact: the second one's games were made, and are no gain.
    if (work_id === null) return;
    tx.run(PAST, sha256, work_id, entry.kind, entry.config_key, entry.producer, counted, "duplicate", null, at);
    book(tx, { ...entry, counted }, null, { outcome: "duplicate", reason: null });
  } else if (known === undefined) {
    tx.run(INSERT, ...facts, sha256, counted, state, at, at);
    setParents(tx, entry);
    book(tx, { ...entry, counted }, null, { outcome: state, reason: null });
  } else {
    const { kind, config_key, producer, reason } = known;
    if (known.work_id !== null && config_key !== null)
      tx.run(PAST, sha256, known.work_id, kind, config_key, producer, known.counted, known.state, reason, at);
    tx.run(BEGIN_AGAIN, ...facts, counted, state, at, known.seq);
    doubtCopies(tx, known.seq);
    setParents(tx, entry);
    book(tx, { ...entry, counted }, null, { outcome: state, reason: null });
  }
  takeOver(tx, entry);
}

/** New files, in flight until they are judged. Twice is once, by file and job. */
export const recordArtifacts = defineOperation<{ entries: readonly ArtifactEntry[]; at: number }, void>(
  "sync.record",
  (tx, { entries, at }) => {
    for (const entry of entries) recordOne(tx, entry, entries, at);
  },
);

/** What a job says it has produced. Twice is once, by job. */
export const countProduced = defineOperation<
  { config_key: string; producer: string; work_id: string; games: number; at: number },
  void
>("sync.produced", (tx, { config_key, producer, work_id, games, at }) => {
  const { changes } = tx.run(
    `INSERT INTO sync_produced (work_id, config_key, producer, games, at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (work_id) DO NOTHING`,
    work_id,
    config_key,
    producer,
    games,
    at,
  );
  if (changes > 0) book(tx, { config_key, producer, counted: games }, null, { outcome: "produced", reason: null });
});

function move(tx: Transaction, sha256: string, action: ArtifactAction, at: number, reason: string | null): void {
  const known = lifeOf(tx, sha256);
  if (known === undefined) throw unknownArtifact(sha256);
  const state = after(known.state, action);
  if (state === undefined) return;
  tx.run(
    "UPDATE sync_artifacts SET state = ?, reason = ?, was = NULL, idle_since = ? WHERE seq = ?",
    state,
    reason,
    at,
    known.seq,
  );
  book(tx, known, fateOf(known), { outcome: state, reason });
}

/** Judged good, or bad and why. */
export const judgeArtifacts = defineOperation<
  { sha256s: readonly string[]; action: "accept" | "reject"; reason: string | null; at: number },
  void
>("sync.judge", (tx, { sha256s, action, reason, at }) => {
  for (const sha256 of sha256s) move(tx, sha256, action, at, reason);
});

/** Found sound at that time; those in quarantine come back to what they were. */
export const noteSound = defineOperation<{ sha256s: readonly string[]; at: number }, void>(
  "sync.sound",
  (tx, { sha256s, at }) => {
    for (const sha256 of sha256s) {
      const known = lifeOf(tx, sha256);
      if (known === undefined) continue;
      tx.run("UPDATE sync_artifacts SET verified_at = ? WHERE seq = ?", at, known.seq);
      const state = after(known.state, "restore", known.was);
      if (state === undefined) continue;
      tx.run(
        "UPDATE sync_artifacts SET state = ?, reason = NULL, was = NULL, idle_since = ? WHERE seq = ?",
        state,
        at,
        known.seq,
      );
      book(tx, known, fateOf(known), { outcome: state, reason: null });
    }
  },
);

export interface DamagedArtifact {
  readonly sha256: string;
  readonly damage: string;
  /** What it was when its damage was decided on. */
  readonly from: ArtifactState;
}

/** Found damaged; refused with READ_CONFLICT if one of them has moved on meanwhile. */
export const noteDamaged = defineOperation<{ damaged: readonly DamagedArtifact[]; at: number }, void>(
  "sync.damaged",
  (tx, { damaged, at }) => {
    for (const { sha256, damage, from } of damaged) {
      const known = lifeOf(tx, sha256);
      if (known?.state !== from) throw changed(`artifact ${sha256}`);
      const state = after(from, "quarantine");
      const reason = `damaged: ${damage}`;
      if (state !== undefined) {
        tx.run(
          `UPDATE sync_artifacts SET state = ?, was = ?, reason = ?, idle_since = ?, verified_at = NULL WHERE seq = ?`,
          state,
          from,
          reason,
          at,
          known.seq,
        );
        book(tx, known, fateOf(known), { outcome: state, reason });
      }
      // One that was rejected anyway has lost nothing but its file.
      else if (from === "rejected")
        tx.run(
          "UPDATE sync_artifacts SET freed_at = ifnull(freed_at, ?1), removed_at = ?1 WHERE seq = ?2",
          at,
          known.seq,
        );
    }
  },
);
