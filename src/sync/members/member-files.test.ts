/**
 * Three coordinators with stores on a disk of their own over one database, as if the log had brought its rows to all. They fetch from each
 * other; leaders change, disks are lost, files are damaged, and what was safe is always to be had.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { catalogWorld, entryOf, oneNode, sha256Of } from "../../../test/unit/sync/sync-world.ts";
import { pick, seededRandom, silentLog } from "../../kernel/index.ts";
import { noteSound } from "../artifact-operations.ts";
import { createArtifactStore } from "../artifact-store.ts";
import { type Copies, createCopies } from "../copies/copies.ts";
import { noteCopies } from "../copies/copy-operations.ts";
import { freeArtifacts } from "../retention-operations.ts";
import { createMemberDesk, type MemberDesk } from "./member-desk.ts";
import { createMemberFiles, type MemberFiles } from "./member-files.ts";

const NAMES = ["a", "b", "c"] as const;
type Name = (typeof NAMES)[number];

/** A coordinator with its disk; what it remembers goes with its process. */
interface Member {
  readonly name: Name;
  folder: string;
  files: ReturnType<typeof createArtifactStore>;
  keeper: MemberFiles;
}

function coordinators() {
  const w = catalogWorld();
  onTestFinished(() => w.close());
  const { store, clock, catalog } = w;
  const { signal } = new AbortController();
  let leader: Name = "a";
  let desk!: MemberDesk;
  let copies!: Copies;
  const away = new Set<Name>();

  /** Everything that leads begins anew with a term. */
  const lead = (name: Name) => {
    leader = name;
    const own = { store, clock, nodeId: name };
    desk = createMemberDesk({ ...own, members: () => NAMES, counting: () => copies.counting() });
    const node = { ...oneNode.nodes()[0]!, node_id: name, name };
    copies = createCopies({ ...own, copies: oneNode.copies, nodes: () => desk.among([node]) });
  };

  const read = async (from: Member, sha256: string): Promise<Buffer | undefined> => {
    const { size } = await from.files.stat(sha256);
    if (size === null) return undefined;
    const pieces: Uint8Array[] = [];
    for await (const piece of from.files.read(sha256, 0, size)) pieces.push(piece);
    return Buffer.concat(pieces);
  };
  const write = (to: Member, sha256: string, bytes: Buffer, from: string) =>
    to.files.write({
      ...{ sha256, offset: 0, size: bytes.length, length: bytes.length, accept: () => {}, from },
      bytes: (async function* () {
        yield bytes;
      })(),
    });

  const open = (name: Name): Member => {
    const folder = mkdtempSync(join(tmpdir(), "ringrift-members-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    return restarted({ name, folder } as Member);
  };
  const restarted = (member: Member): Member => {
    member.files = createArtifactStore({ folder: member.folder, clock });
    const { files } = member;
    onTestFinished(() => files.close());
    member.keeper = createMemberFiles({
      ...{ store, clock, log: silentLog(), nodeId: member.name, files, wantsDamaged: member.name === leader },
      ...(member.name === leader ? { sought: desk.sought } : {}),
      async fetch(wanted) {
        const from = member.name === leader ? members.filter((one) => one !== member) : [of(leader)];
        const came: string[] = [];
        const isEverybody = desk.waitedFor().every((name) => !away.has(name as Name));
        for (const { sha256 } of wanted)
          for (const one of from.filter(({ name }) => !away.has(name))) {
            const bytes = await read(one, sha256).catch(() => undefined);
            if (bytes === undefined) continue;
            await write(member, sha256, bytes, one.name);
            came.push(sha256);
            break;
          }
        const nowhere = wanted.flatMap(({ sha256 }) => (came.includes(sha256) ? [] : [sha256]));
        return { came, nowhere: isEverybody && member.name === leader ? nowhere : [] };
      },
      tell: (news) => desk.tell(member.name, news),
      audience: () => leader,
    });
    return member;
  };
  lead("a");
  const members = NAMES.map(open);
  const of = (name: Name) => members.find((one) => one.name === name)!;

  return {
    ...w,
    members,
    of,
    away,
    lead(name: Name) {
      lead(name);
      for (const member of members) restarted(member);
    },
    /** The process starts again, with or without what was on its disk. */
    restart(name: Name, { isLost = false } = {}) {
      const member = of(name);
      if (isLost) rmSync(member.folder, { recursive: true, force: true });
      if (isLost) member.folder = mkdtempSync(join(tmpdir(), "ringrift-members-"));
      const { folder } = member;
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      restarted(member);
    },
    leader: () => of(leader),
    /** A file arrives at whoever leads, is looked at, and is written down. */
    async bring(content: string, { isLookedAt = true } = {}) {
      const sha256 = sha256Of(content);
      await write(of(leader), sha256, Buffer.from(content), "worker");
      await w.change(
        (joined) => {
          joined.record([entryOf(content, { work_id: content })]);
          joined.accept([sha256]);
        },
        ...(isLookedAt
          ? [
              noteSound({ sha256s: [sha256], at: clock.now() }),
              noteCopies({ node_id: leader, sha256s: [sha256], by: leader, at: clock.now(), isHome: true }),
            ]
          : []),
      );
      return sha256;
    },
    round: async (...names: Name[]) => {
      for (const name of names) if (!away.has(name)) await of(name).keeper.round(signal);
    },
    has: async (name: Name, sha256: string) => (await of(name).files.stat(sha256)).size !== null,
    copiesOf: (sha256: string) => copies.of(catalog.get(sha256)!),
    desk: () => desk,
    damage: (name: Name, sha256: string) => writeFileSync(of(name).files.pathOf(sha256), "something else"),
  };
}

test("a file that nobody has looked at since it came, as the newest checkpoint, is at all coordinators too", async () => {
  const w = coordinators();
  const checkpoint = await w.bring("the newest checkpoint", { isLookedAt: false });
  await w.round("a", "b", "c");
  for (const name of NAMES) expect(await w.has(name, checkpoint)).toBe(true);
  // Who says so has hashed it: it would be lost with nobody, and the next leader has it.
  expect(w.desk().onlyAt("a")).toBe(0);
  w.restart("a", { isLost: true });
  w.away.add("a");
  w.lead("b");
  await w.round("b", "c");
  expect(await w.has("b", checkpoint)).toBe(true);
});

test("a file is safe once a second coordinator has hashed it, and the next leader has it when the first one's disk is gone", async () => {
  const w = coordinators();
  const sha256 = await w.bring("champion");
  await w.round("a");
  expect(w.copiesOf(sha256)).toMatchObject({ copies: 1, safe: false });
  await w.round("b");
  expect(w.copiesOf(sha256)).toMatchObject({ copies: 2, required: 2, safe: true });
  w.lead("c");
  w.restart("a", { isLost: true });
  w.away.add("a");
  // The one that leads now has only the row, and gets the bytes from the one that has them.
  await w.round("b", "c");
  expect(await w.has("c", sha256)).toBe(true);
  expect(w.copiesOf(sha256)).toMatchObject({ copies: 2, safe: true });
  // With an empty disk it comes back as one that lacks it, and is believed for nothing.
  w.away.delete("a");
  await w.round("a");
  expect(await w.has("a", sha256)).toBe(true);
  expect(w.copiesOf(sha256).holders.map(({ name, counts }) => [name, counts])).toEqual(NAMES.map((n) => [n, true]));
});

test("a leader that lacks a file waits for whoever may have it, and calls it lost only when everybody was asked", async () => {
  const w = coordinators();
  const games = await w.bring("the last games", { isLookedAt: false });
  const results = { sha256: sha256Of("results that no manifest knows"), bytes: 30 };
  // The leader is killed before anybody else has it.
  w.away.add("a");
  w.lead("b");
  const file = { sha256: games, bytes: "the last games".length };
  expect([w.desk().awaits(file), w.desk().awaits(results)]).toEqual([true, true]);
  await w.round("b", "c");
  expect([w.desk().awaits(file), w.desk().awaits(results)]).toEqual([true, true]);
  // It comes back, and stands by with what it has.
  w.away.delete("a");
  w.restart("a");
  w.pass(2_000);
  await w.round("b");
  expect(await w.has("b", games)).toBe(true);
  expect([w.desk().awaits(file), w.desk().awaits(results)]).toEqual([true, false]);
});

test("what only a coordinator has that stays away is not waited for for ever", async () => {
  const w = coordinators();
  const games = await w.bring("the last games", { isLookedAt: false });
  const file = { sha256: games, bytes: "the last games".length };
  w.away.add("a");
  w.lead("b");
  for (let minute = 0; minute < 9; minute += 1) {
    await w.round("b", "c");
    expect(w.desk().awaits(file)).toBe(true);
    w.pass(60_000);
  }
  w.pass(60_000);
  await w.round("b", "c");
  expect(w.desk().awaits(file)).toBe(false);
});

test("what lies only at one coordinator is said before it leaves; what was given up goes everywhere", async () => {
  const w = coordinators();
  const sha256 = await w.bring("games");
  await w.round("a", "b");
  expect([w.desk().onlyAt("a"), w.desk().onlyAt("b")]).toEqual([0, 0]);
  const alone = await w.bring("only at the leader");
  expect(w.desk().onlyAt("a")).toBe(1);
  await w.round("b", "c");
  expect([w.desk().onlyAt("a"), await w.has("c", alone)]).toEqual([0, true]);
  w.pass(1_000);
  await w.store.commit([freeArtifacts({ sha256s: [sha256], idleBefore: w.clock.now(), at: w.clock.now() })]);
  await w.round("b", "c");
  expect([await w.has("b", sha256), await w.has("c", sha256), await w.has("c", alone)]).toEqual([false, false, true]);
});

test("a damaged file at the leader is not given out as good, and its bytes come back from the others", async () => {
  const w = coordinators();
  const sha256 = await w.bring("model");
  await w.round("a", "b", "c");
  w.lead("b");
  w.damage("b", sha256);
  await w.round("b");
  expect(await w.of("b").files.inspect(sha256)).toMatchObject({ sound: true });
});

test.each(Array.from({ length: 6 }, (_, seed) => seed))(
  "whatever leader and whatever disk is lost, what was safe is to be had (world %i)",
  async (seed) => {
    const w = coordinators();
    const random = seededRandom(seed);
    const any = <T>(all: readonly T[]): T => all[pick(random, all.length)]!;
    const safe = new Set<string>();
    const made: string[] = [];
    for (let step = 0; step < 30; step += 1) {
      const what = any(["bring", "bring", "round", "round", "round", "round", "lead", "restart", "lose"] as const);
      if (what === "bring") made.push(await w.bring(`file ${seed}.${step}`));
      else if (what === "round") await w.round(any(NAMES));
      else if (what === "restart") w.restart(any(NAMES));
      else if (what === "lead") w.lead(any(NAMES));
      else {
        // The disk of one is gone; the next one is lost only after the others have had time to look.
        const name = any(NAMES);
        w.restart(name, { isLost: true });
        if (w.leader().name === name) w.lead(any(NAMES.filter((one) => one !== name)));
        for (let i = 0; i < 3; i += 1) {
          await w.round(...NAMES);
          // Longer than what could not be had is left alone.
          w.pass(61_000);
        }
      }
      for (const sha256 of made) if (w.copiesOf(sha256).safe) safe.add(sha256);
      for (const sha256 of safe) {
        const holders = await Promise.all(NAMES.map((name) => w.has(name, sha256)));
        expect(holders.filter(Boolean).length, `step ${step}: ${what}`).toBeGreaterThan(0);
      }
    }
    for (let i = 0; i < 3; i += 1) {
      await w.round(...NAMES);
      w.pass(61_000);
    }
    await w.round(...NAMES);
    for (const sha256 of safe)
      expect(await Promise.all(NAMES.map((name) => w.has(name, sha256)))).toEqual([true, true, true]);
    expect(safe.size).toBeGreaterThan(0);
  },
);
