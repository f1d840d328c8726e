import { expect, test } from "vitest";
import {
  createMemberBook,
  decodeMember,
  encodeMember,
  hasSameRows,
  isPreferredThere,
  knownMembers,
  type MemberNews,
  otherLeases,
  outvotedAt,
  PRESENT_MS,
  readTermAbout,
  writeTermAbout,
} from "./members.ts";

const news = (name: string, more: Partial<MemberNews> = {}): MemberNews => ({
  ...{ name, boot: `boot-${name}`, cluster: "games", role: "follower", term: 3, seq: 7, leader: "a", trouble: null },
  ...{
    url: `https://${name}:8770`,
    fingerprint: null,
    refused: null,
    preferred: false,
    check: null,
    version: "1.0.0",
    lease_ms: 12_000,
    ...more,
  },
});

test("members are known by their last word, with how long ago that was", () => {
  let now = 0;
  const book = createMemberBook({ monotonic: () => now }, "games");
  book.hear(news("b"));
  now = 500;
  book.hear(news("a", { role: "leader" }));
  book.hear(news("b", { seq: 9 }));
  now = 700;
  expect(book.list().map(({ name, seq, heardMsAgo }) => [name, seq, heardMsAgo])).toEqual([
    ["a", 7, 200],
    ["b", 9, 200],
  ]);
});

test("members of another cluster are not counted, and of too many the longest silent go", () => {
  const book = createMemberBook({ monotonic: () => 0 }, "games");
  book.hear(news("stranger", { cluster: "other" }));
  expect(book.list()).toEqual([]);
  for (let i = 0; i < 20; i += 1) book.hear(news(`m${i}`));
  const names = book.list().map(({ name }) => name);
  expect(names).toHaveLength(16);
  expect(names).not.toContain("m0");
  expect(names).toContain("m19");
});

test("who has left is forgotten once it is silent, and who belongs is shown before it was ever heard", () => {
  let now = 0;
  const book = createMemberBook({ monotonic: () => now }, "games");
  for (const name of ["a", "b", "new"]) book.hear(news(name));
  const row = (name: string, seen_at: number) => ({
    ...{ name, url: `https://${name}:8770`, fingerprint: null, seq: 5, joined_at: 1, seen_at },
  });
  const rows = [row("b", 0), row("c", 1_000_000)];
  const silences = () => knownMembers(book.list(), rows, 20_000).map(({ name, heardMsAgo }) => [name, heardMsAgo]);
  // One that is heard and not written down yet is there; one from the future by its clock is silent all the same.
  expect(silences()).toEqual([
    ["a", 0],
    ["b", 0],
    ["c", 2 * PRESENT_MS],
    ["new", 0],
  ]);
  now = PRESENT_MS + 1;
  expect(silences()).toEqual([
    ["b", PRESENT_MS + 1],
    ["c", 2 * PRESENT_MS],
  ]);
});

test("what others send is taken only if it is whole", () => {
  expect(decodeMember(encodeMember(news("a")))).toEqual(news("a"));
  for (const wrong of [
    "",
    "{",
    "[]",
    JSON.stringify({ ...news("a"), role: "king" }),
    JSON.stringify({ ...news("a"), seq: -1 }),
  ])
    expect(decodeMember(Buffer.from(wrong)), wrong).toBeUndefined();
});

test("the entry of a term says where its leader is; one that says nothing is understood as such", () => {
  const about = { url: "https://a:8770", fingerprint: "ab", version: "1.0.0", lease_ms: 12_000 };
  // One of the version before says nothing of its lease.
  const before = JSON.stringify({ url: about.url, fingerprint: null, version: "0.9.0" });
  expect(readTermAbout(before)).toMatchObject({ lease_ms: null });
  expect(readTermAbout(Buffer.from(writeTermAbout(about)).toString())).toEqual(about);
  expect(readTermAbout("")).toBeUndefined();
});

test("members whose lease is set differently are named, as long as they are there and say it", () => {
  const heard = [
    { name: "b", lease_ms: 12_000, heardMsAgo: 0 },
    { name: "c", lease_ms: 4_000, heardMsAgo: 0 },
    { name: "d", lease_ms: 4_000, heardMsAgo: 2 * PRESENT_MS },
    { name: "e", lease_ms: null, heardMsAgo: 0 },
  ];
  expect(otherLeases(heard, 12_000)).toEqual([{ name: "c", leaseMs: 4_000 }]);
});

test("a preferred one is waited for while it is heard, and no longer", () => {
  let now = 0;
  const book = createMemberBook({ monotonic: () => now }, "games");
  for (const name of ["b", "c"]) book.hear(news(name));
  const giveWay = () => ["a", "b"].filter((name) => isPreferredThere(book.list(), name));
  expect(giveWay()).toEqual([]);
  book.hear(news("a", { preferred: true }));
  expect(giveWay()).toEqual(["b"]);
  now = PRESENT_MS + 1;
  expect(giveWay()).toEqual([]);
});

test("rows are compared at the entry where a member last looked, and only where both have looked", () => {
  const here = [
    { seq: 9, digest: "x" },
    { seq: 5, digest: "y" },
  ];
  const at = (check: MemberNews["check"]) => hasSameRows(here, { check });
  expect([at({ seq: 9, digest: "x" }), at({ seq: 5, digest: "x" })]).toEqual([true, false]);
  expect([at({ seq: 7, digest: "x" }), at(null), hasSameRows([], { check: null })]).toEqual([null, null, null]);
});

test("one that is alone with its rows is the damaged one; two that differ do not know which", () => {
  const of = (digest: string, seq = 9) => ({ check: { seq, digest } });
  const here = [
    { seq: 9, digest: "x" },
    { seq: 5, digest: "y" },
  ];
  expect(outvotedAt(here, [of("z"), of("z")])).toBe(9);
  expect(outvotedAt(here, [of("z"), of("x")])).toBeUndefined();
  expect(outvotedAt(here, [of("z"), { check: null }])).toBeUndefined();
  expect(outvotedAt(here, [of("z"), of("z", 5)])).toBeUndefined();
  expect(outvotedAt([], [of("z"), of("z")])).toBeUndefined();
});
