/**
 * Copies of one artifact on a few nodes, over the shipped operations on SQLite: they are fetched, flushed, confirmed, let go,
 * damaged; nodes crash, fall silent, come back, and some never do; disks are not mounted; answers are lost. After every file
 * that our own decisions take away it is counted what is left.
 */
import { hash } from "node:crypto";
import { openWriter } from "../../src/adapters/sqlite/writer.ts";
import { type Random, seededRandom } from "../../src/kernel/index.ts";
import type { Operation } from "../../src/router/index.ts";
import type { ResultsOf } from "../../src/router/store.port.ts";
import { judgeArtifacts, recordArtifacts } from "../../src/sync/artifact-operations.ts";
import { askDrop, confirmCopies, noteCopies, noteGone } from "../../src/sync/copies/copy-operations.ts";
import { counts, mayDrop } from "../../src/sync/copies/decide.ts";
import { requiredCopies } from "../../src/sync/copies/policy.ts";
import { syncModule } from "../../src/sync/index.ts";
import { freeArtifacts } from "../../src/sync/retention-operations.ts";

/** Mistakes that the world must find. */
export const COPY_BUGS = ["receipt_before_flush", "free_without_lock", "empty_listing_believed"] as const;
export type CopyBug = (typeof COPY_BUGS)[number];

interface Place {
  readonly node_id: string;
  readonly isRented: boolean;
  /** What is really on its disk. */
  file: "none" | "unflushed" | "good" | "bad";
  isThere: boolean;
  isDead: boolean;
  incarnation: number;
  isConfirmed: boolean;
  /** It was told that its copy may go, and how many there had to be elsewhere. */
  permit: { readonly required: number; readonly losses: number } | undefined;
  goneUntold: boolean;
}

/** One database for any number of schedules; each has an artifact of its own. */
export function copiesWorld() {
  const writer = openWriter(":memory:", [syncModule]);
  const commit = <const T extends readonly Operation[]>(...operations: T): ResultsOf<T> => {
    const [outcome] = writer.apply([operations]);
    if (outcome?.ok !== true) throw outcome?.error;
    return outcome.results as ResultsOf<T>;
  };
  const rows = writer.db.prepare("SELECT node_id, state FROM sync_held WHERE seq = ?");

  /** Runs one schedule; gives what went wrong, if anything, with the steps that led there. */
  const run = (seed: number, bug?: CopyBug): string | undefined => {
    const random = seededRandom(seed);
    const sha256 = hash("sha256", `artifact ${seed}`);
    const entry = {
      sha256,
      kind: "games",
      bytes: 1,
      rows: 0,
      games: 1,
      config_key: "hex8_2p" as const,
      producer: "n0",
    };
    const more = { rules_version: null, parents: [], work_id: null, part: null, iteration: null };
    commit(
      recordArtifacts({ entries: [{ ...entry, ...more }], at: 1 }),
      judgeArtifacts({ sha256s: [sha256], action: "accept", reason: null, at: 1 }),
    );
    const seq = Number(writer.db.prepare("SELECT seq FROM sync_artifacts WHERE sha256 = ?").get(sha256)?.seq);
    const schedule = createSchedule({ random, sha256, seq, commit, bug, held: () => rows.all(seq) as never });
    return schedule();
  };
  return { run, close: () => writer.close() };
}

interface ScheduleOptions {
  readonly random: Random;
  readonly sha256: string;
  readonly seq: number;
  readonly commit: <const T extends readonly Operation[]>(...operations: T) => ResultsOf<T>;
  readonly held: () => readonly { readonly node_id: string; readonly state: "held" | "dropping" | "retired" }[];
  readonly bug: CopyBug | undefined;
}

const STEPS = 40;

function createSchedule({ random, sha256, seq, commit, held, bug }: ScheduleOptions): () => string | undefined {
  const below = (n: number) => Math.floor(random.next() * n);
  const chance = (share: number) => random.next() < share;
  let now = 1_000;
  /** Copies that the world took: nobody promised that those stay. */
  let losses = 0;
  let isRetired = false;
  const factor = 1 + below(3);
  const places: Place[] = Array.from({ length: 2 + below(4) }, (_, i) => ({
    node_id: `n${i}`,
    isRented: i > 0 && chance(0.2),
    file: "none",
    isThere: true,
    isDead: false,
    incarnation: 1,
    isConfirmed: true,
    permit: undefined,
    goneUntold: false,
  }));
  const steps: string[] = [];
  const reliable = () => places.filter((place) => counts({ ...place, name: place.node_id }));
  const goodElsewhere = (own: Place) =>
    places.filter((place) => place !== own && place.file === "good" && !place.isRented).length;

  /** Whoever shows its copy has given up its leave to remove it: one of the two holds, never both. */
  const receipt = (place: Place) => {
    if (!isRetired) place.permit = undefined;
    commit(noteCopies({ node_id: place.node_id, sha256s: [sha256], by: place.node_id, at: now }));
  };

  const copy = (place: Place) => {
    if (place.file !== "none" || !places.some(({ file, isDead }) => file === "good" && !isDead)) return;
    place.file = "unflushed";
    if (bug === "receipt_before_flush") receipt(place);
  };
  const flush = (place: Place) => {
    if (place.file !== "unflushed") return;
    place.file = "good";
    receipt(place);
  };
  const ask = (place: Place): string | undefined => {
    if (place.file === "none" || place.permit !== undefined || isRetired) return undefined;
    const counting = reliable().map(({ node_id }) => node_id);
    const required = requiredCopies(factor, counting.length);
    const before = held();
    const question = {
      node_id: place.node_id,
      asked: [{ sha256, required }],
      counting,
      at: now,
      lockedUntil: now + 50,
    };
    const answer =
      bug === "free_without_lock"
        ? mayDrop({
            node_id: place.node_id,
            copies: before.map((one) => ({ ...one, isLocked: false })),
            counting: new Set(counting),
            required,
          })
        : commit(askDrop(question))[0].answers[0]!;
    if (!answer.allowed) return undefined;
    const isCounted = before.some(({ node_id, state }) => node_id === place.node_id && state === "held");
    const needed = isCounted && counting.includes(place.node_id) ? required : 1;
    const others = before.filter(
      ({ node_id, state }) => state === "held" && node_id !== place.node_id && counting.includes(node_id),
    );
    if (others.length < needed) return `${place.node_id} was let go with ${others.length} of ${needed} elsewhere`;
    // An answer that is lost is void: its node asks again.
    if (!chance(0.2)) place.permit = { required: needed, losses };
    return undefined;
  };
  const remove = (place: Place): string | undefined => {
    const { permit } = place;
    if (permit === undefined) return undefined;
    place.permit = undefined;
    if (place.file === "none") return undefined;
    place.file = "none";
    place.goneUntold = true;
    const left = goodElsewhere(place);
    // What the world has taken since, or had spoilt unseen before, is not our doing.
    if (!isRetired && left + losses < permit.required)
      return `${place.node_id} removed its copy: ${left} good ones are left of ${permit.required}, the world took ${losses}`;
    return undefined;
  };
  const tellGone = (place: Place) => {
    if (!place.goneUntold) return;
    place.goneUntold = false;
    commit(noteGone({ node_id: place.node_id, sha256s: [sha256] }));
  };
  const crash = (place: Place) => {
    if (place.file === "unflushed") place.file = "none";
    Object.assign(place, { isThere: false, isConfirmed: false, permit: undefined, goneUntold: false });
  };
  const comeBack = (place: Place): string | undefined => {
    if (place.isThere) return undefined;
    place.isThere = true;
    // One that was only silent goes on as it was.
    if (place.isConfirmed) return undefined;
    place.incarnation += 1;
    const isMounted = !chance(0.15);
    const present = isMounted && place.file !== "none" ? [seq] : [];
    const before = held().some(({ node_id }) => node_id === place.node_id);
    if (bug === "empty_listing_believed" && before && present.length === 0)
      commit(noteGone({ node_id: place.node_id, sha256s: [sha256] }));
    const [{ believed }] = commit(
      confirmCopies({ node_id: place.node_id, incarnation: place.incarnation, upto: seq, present, at: now }),
    );
    place.isConfirmed = believed;
    const after = held().some(({ node_id }) => node_id === place.node_id);
    if (before && !after && !isMounted) return `${place.node_id} showed nothing at all, and its copy was forgotten`;
    return undefined;
  };
  const silence = (place: Place) => {
    place.isThere = false;
  };
  const damage = (place: Place) => {
    if (place.file !== "good") return;
    place.file = "bad";
    losses += 1;
  };
  const verify = (place: Place) => {
    if (place.file === "good") receipt(place);
    if (place.file !== "bad") return;
    place.file = "none";
    commit(noteGone({ node_id: place.node_id, sha256s: [sha256] }));
  };
  const die = (place: Place) => {
    if (place.file === "good") losses += 1;
    Object.assign(place, { isDead: true, isThere: false, isConfirmed: false, file: "none", permit: undefined });
  };
  const retire = () => {
    commit(freeArtifacts({ sha256s: [sha256], idleBefore: now, at: now }));
    isRetired = true;
    for (const place of places) if (place.file !== "none") place.permit = { required: 0, losses };
  };

  /** What a node does only while it is heard, and what happens to it whether it is or not. */
  const heard = [copy, copy, flush, flush, ask, ask, ask, tellGone, verify];
  const anyhow = [remove, remove, crash, comeBack, comeBack, silence, damage];

  return () => {
    places[0]!.file = "good";
    receipt(places[0]!);
    for (let i = 0; i < STEPS; i += 1) {
      now += 1 + below(30);
      if (chance(0.005) && !isRetired) retire();
      const place = places[below(places.length)]!;
      if (place.isDead) continue;
      if (chance(0.01)) {
        die(place);
        continue;
      }
      const able = place.isThere ? [...heard, ...anyhow] : anyhow;
      const step = able[below(able.length)]!;
      steps.push(`${step.name} ${place.node_id}`);
      const wrong = step(place);
      if (wrong !== undefined) return `${wrong} (factor ${factor}; ${steps.join(", ")})`;
    }
    if (isRetired) {
      for (const place of places) if (!place.isDead) remove(place);
      const left = places.filter(({ file, permit }) => file !== "none" && permit !== undefined);
      if (left.length > 0) return `a copy of what was given up stays on ${left[0]!.node_id}`;
    }
    return undefined;
  };
}
