import { expect, test } from "vitest";
import { planPrune } from "../../backup/decide.ts";
import type { FoundBackup } from "../../backup/manifest.ts";
import { type BackupPace, backupTrouble, nextTask, type Past, type PlacePast } from "./decide.ts";

const HOUR = 3_600_000;
const NOW = 1_000 * HOUR;
const pace: BackupPace = { everyMs: 24 * HOUR, drillEveryMs: 168 * HOUR };
const rules = { retryMs: HOUR / 12, spacingMs: HOUR / 6, failures: 3 };

const never: Past = { last: undefined, succeededAt: null, failures: 0 };
const done = (hoursAgo: number): Past => {
  const at = NOW - hoursAgo * HOUR;
  return { last: { state: "completed", started_at: at, ended_at: at, error: null }, succeededAt: at, failures: 0 };
};
const failed = (hoursAgo: number, failures: number, succeededAt: number | null = null): Past => {
  const at = NOW - hoursAgo * HOUR;
  const error = JSON.stringify({ code: "PLACE_NOT_THERE", message: "no disk" });
  return { last: { state: "failed", started_at: at, ended_at: at, error }, succeededAt, failures };
};
const place = (run: Past, drill: Past, isPruneOwed = false, name = "folder"): PlacePast => ({
  place: name,
  run,
  drill,
  isPruneOwed,
});
const next = (places: PlacePast[], isWoken = false) => nextTask(places, pace, rules, isWoken, NOW)?.kind;

test("what is due comes first: a backup, then what may go, then the drill of what there is", () => {
  const cases: [string, PlacePast[], boolean, string | undefined][] = [
    ["nothing was ever backed up", [place(never, never)], false, "run"],
    ["a young backup that was never drilled", [place(done(1), never)], false, "drill"],
    ["a young backup, a young drill", [place(done(1), done(1))], false, undefined],
    ["the same, and a new champion", [place(done(1), done(1))], true, "run"],
    ["a champion right after a backup waits", [place(done(0.1), done(1))], true, undefined],
    ["a day has passed", [place(done(24), done(1))], false, "run"],
    ["a backup ends with a look at what may go", [place(done(1), never, true)], false, "prune"],
    ["a week since the drill", [place(done(1), done(168))], false, "drill"],
    ["a failure is tried again soon", [place(failed(0.1, 1), never)], false, "run"],
    ["the sixth one later", [place(failed(1, 6), never)], false, undefined],
    ["and never later than it is due anyway", [place(failed(24, 50), never)], false, "run"],
    ["a clock that was set back begins nothing", [place(done(-1), done(1))], false, undefined],
    [
      "one place does not wait for the other's drill",
      [place(done(1), never), place(never, never, false, "s3")],
      false,
      "run",
    ],
  ];
  for (const [what, places, isWoken, expected] of cases) expect(next(places, isWoken), what).toBe(expected);
});

test("a person is told of three failures and of what is overdue, with the reason, and of nothing else", () => {
  const trouble = (one: PlacePast, since = NOW - 100 * HOUR) => backupTrouble(one, pace, rules, since, NOW);
  expect(trouble(place(done(1), done(1)))).toBeNull();
  expect(trouble(place(failed(1, 2, NOW - 10 * HOUR), done(1)))).toBeNull();
  expect(trouble(place(failed(1, 3), never))).toBe("the backup of 'folder' has failed 3 times: no disk");
  expect(trouble(place(done(49), done(1)))).toBe("the backup of 'folder' is overdue");
  expect(trouble(place(done(1), done(337)))).toBe("the restore drill of 'folder' is overdue");
  expect(trouble(place(never, never))).toBe("the backup of 'folder' is overdue");
  expect(trouble(place(never, never), NOW - HOUR), "it has only just begun to look").toBeNull();
});

const sha = (digit: string) => digit.repeat(64);
const nameOf = (digit: string) => `${digit}${digit}/${sha(digit)}`;
const backup = (id: string, madeAt: number, digits: string): FoundBackup => {
  const files = [...digits].map((digit) => ({ sha256: sha(digit), bytes: 1, kind: "games" }));
  const [database, ...rest] = files;
  const manifest = {
    backup_id: id,
    made_at: madeAt,
    node_id: "n",
    version: "0",
    database: database!,
    files: rest,
    private: [],
    missing: [],
    books: [],
  };
  return { name: `backups/${id}`, bytes: 1, backupId: id, sha256: sha("0"), manifest, key: undefined };
};
const listed = (digits: string) => [...digits].map((digit) => ({ name: nameOf(digit), bytes: 1 }));

test("what goes is what no backup that stays needs, and nothing where the listing cannot be believed", () => {
  const all = [backup("3", NOW - HOUR, "ab"), backup("2", NOW - 50 * HOUR, "ac"), backup("1", NOW - 90 * HOUR, "ad")];
  const plan = (found: FoundBackup[], there: string, keep: number, keepMs = 0, maxFiles = 100) => {
    const { backups, files, refused, more } = planPrune(found, listed(there), { keep, keepMs, maxFiles, now: NOW });
    return {
      gone: backups.map(({ backupId }) => backupId),
      files: files.map(({ name }) => name[0]).join(""),
      refused,
      more,
    };
  };
  expect(plan(all, "abcde", 1)).toEqual({ gone: ["1", "2"], files: "cde", refused: null, more: false });
  expect(plan(all, "abcde", 2)).toMatchObject({ gone: ["1"], files: "de" });
  expect(plan(all, "abcde", 1, 60 * HOUR)).toMatchObject({ gone: ["1"], files: "de" });
  expect(plan(all, "abcde", 1, 0, 2)).toMatchObject({ files: "cd", more: true });
  expect(plan(all, "bcde", 1)).toMatchObject({ gone: [], files: "", refused: expect.stringContaining("lacks aa/") });
  expect(plan([], "abc", 1)).toMatchObject({ gone: [], files: "", refused: expect.any(String) });
  const unread = { ...all[2]!, manifest: undefined, error: new Error("half of it") } as unknown as FoundBackup;
  expect(plan([all[0]!, all[1]!, unread], "abcde", 1)).toMatchObject({
    gone: [],
    files: "",
    refused: expect.stringContaining("cannot be read"),
  });
});
