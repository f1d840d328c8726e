/** Each variable of backups changes what it names: seen at the places and the parts that the program builds of it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { nextTask, type PlacePast } from "../../sync/units/backup/decide.ts";
import { backupPortsOf } from "../backup/ports.ts";
import { readSettings } from "./read.ts";
import { settingRows } from "./tree.ts";

type Environment = Readonly<Record<string, string>>;

const folder = mkdtempSync(join(tmpdir(), "ringrift-backup-settings-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const fileWith = (text: string): string => {
  const path = join(folder, text.slice(0, 8));
  writeFileSync(path, text);
  return path;
};

const portsOf = (environment: Environment) => backupPortsOf(readSettings(environment, "/"), "0.1.0", "/db");
const BUCKET = {
  RINGRIFT_BACKUP_S3_URL: "https://s3.example.org/games/cluster-1",
  RINGRIFT_BACKUP_S3_ACCESS_KEY: "someone",
  RINGRIFT_BACKUP_S3_SECRET_FILE: fileWith("the-secret-of-someone"),
};
const inBucket = (key: string) => (environment: Environment) => {
  const [place] = portsOf({ ...BUCKET, ...environment }).places;
  return (place as unknown as Record<string, unknown> | undefined)?.[key];
};

const HOUR = 3_600_000;
/** What is done at a place that was backed up ten hours ago, and drilled then. */
const next = (environment: Environment): string | undefined => {
  const now = 1_000 * HOUR;
  const started_at = now - 10 * HOUR;
  const past = {
    last: { state: "completed", started_at, ended_at: started_at, error: null },
    succeededAt: started_at,
    failures: 0,
  } as const;
  const place: PlacePast = { place: "folder", run: past, drill: past, isPruneOwed: false };
  const rules = { retryMs: 1, spacingMs: 1, failures: 3 };
  return nextTask([place], portsOf(environment).pace, rules, false, now)?.kind;
};

const behaviours: Readonly<
  Record<string, { see: (environment: Environment) => unknown; without: unknown; set: string; with: unknown }>
> = {
  "backup.folder": {
    see: (environment) => portsOf(environment).places.map(({ name }) => name),
    without: [],
    set: "/mnt/disk",
    with: ["folder"],
  },
  "backup.disk": {
    see: (environment) => portsOf({ RINGRIFT_BACKUP_FOLDER: "/mnt/disk", ...environment }).places[0]?.disk,
    without: "backup",
    set: "drive-2",
    with: "drive-2",
  },
  "backup.s3_url": {
    see: inBucket("bucket"),
    without: "games",
    set: "http://127.0.0.1:9000/models",
    with: "models",
  },
  "backup.s3_region": { see: inBucket("region"), without: "us-east-1", set: "eu-west-1", with: "eu-west-1" },
  "backup.s3_access_key": { see: inBucket("accessKeyId"), without: "someone", set: "test:tester", with: "test:tester" },
  "backup.s3_secret_file": {
    see: inBucket("secretAccessKey"),
    without: "the-secret-of-someone",
    set: fileWith("another-secret-of-someone"),
    with: "another-secret-of-someone",
  },
  "backup.key_file": {
    see: (environment) => portsOf(environment).secret,
    without: undefined,
    set: fileWith("a-key-of-the-user"),
    with: "a-key-of-the-user",
  },
  "backup.every": { see: next, without: undefined, set: "36000", with: "run" },
  "backup.drill_every": { see: next, without: undefined, set: "36000", with: "drill" },
  "backup.keep": { see: (environment) => portsOf(environment).retention.keep, without: 14, set: "3", with: 3 },
  "backup.keep_for": {
    see: (environment) => portsOf(environment).retention.keepMs,
    without: 30 * 24 * HOUR,
    set: "3600",
    with: HOUR,
  },
};

const rows = settingRows.filter(({ key }) => key.startsWith("backup."));

test("each of them is a setting, and changes something", () => {
  expect(rows.map(({ key }) => key).sort()).toEqual(Object.keys(behaviours).sort());
  for (const behaviour of Object.values(behaviours)) expect(behaviour.with).not.toEqual(behaviour.without);
});

test.each(rows.map(({ key, variable }) => ({ key, variable })))("$key changes it", ({ key, variable }) => {
  const { see, without, set, with: changed } = behaviours[key]!;
  expect(see({})).toEqual(without);
  expect(see({ [variable]: set })).toEqual(changed);
});
