/** What a backup holds, as the document that is written last: without it there is no backup. */
import { hash } from "node:crypto";
import { z } from "zod";
import { isOperatingError, lazy, OperatingError } from "../../kernel/index.ts";
import type { Shelf, Shelved } from "../transport.port.ts";
import { type BackupKey, damagedBackup, deriveKey, seal, unseal, wrongKey } from "./cipher.ts";
import { MAX_BACKUP_FILES, MAX_MANIFEST_BYTES } from "./limits.ts";

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().min(0);
const text = z.string().max(500);

/** What lies at the place for it; as it is unless it was sealed. */
const stored = lazy(() => z.strictObject({ sha256, bytes: count }).optional());
const file = lazy(() => z.strictObject({ sha256, bytes: count, kind: text, stored: stored() }));

const bodySchema = lazy(() =>
  z.strictObject({
    backup_id: z.string(),
    /** Milliseconds since the epoch, by the clock of the machine that made it. */
    made_at: count,
    node_id: text,
    version: text,
    database: file(),
    files: z.array(file()).max(MAX_BACKUP_FILES),
    /** Files that only a sealed backup has: tokens, keys, settings. */
    private: z.array(file().extend({ name: z.string().regex(/^[\w.-]{1,100}$/) })).max(100),
    /** What should be in it and could not be had. */
    missing: z.array(z.strictObject({ sha256, kind: text, why: text })).max(MAX_BACKUP_FILES),
    books: z
      .array(
        z.strictObject({
          config_key: text,
          produced: count,
          durable: count,
          freed: count,
          in_flight: count,
          rejected: count,
        }),
      )
      .max(10_000),
  }),
);
export type Manifest = z.output<ReturnType<typeof bodySchema>>;
export type BackedUpFile = z.output<ReturnType<typeof file>>;
export type BackedUpBooks = Manifest["books"][number];

const headSchema = lazy(() =>
  z.strictObject({
    ringrift_backup: z.int(),
    backup_id: z.string(),
    /** Only of sealed ones. */
    salt: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .optional(),
    check: z
      .string()
      .regex(/^[0-9a-f]{32}$/)
      .optional(),
  }),
);

const VERSION = 1;
const FOLDER = "backups";
const NAME = /^backups\/(\d{8}T\d{6}Z-[0-9a-f]{6})-([0-9a-f]{64})$/;

/** A manifest as a listing shows it. */
export interface ManifestName extends Shelved {
  readonly backupId: string;
  readonly sha256: string;
}

/** The manifests among what lies at a place, newest first. */
export const manifestsIn = (listed: readonly Shelved[]): ManifestName[] =>
  listed
    .flatMap((shelved) => {
      const [, backupId, sha256] = NAME.exec(shelved.name) ?? [];
      return backupId === undefined ? [] : [{ ...shelved, backupId, sha256: sha256! }];
    })
    .sort((a, b) => (a.backupId < b.backupId ? 1 : -1));

/** Named by its time, and later than those that are there: a clock that was set back does not make it an old one. */
export function newBackupId(now: number, known: readonly ManifestName[], random: string): string {
  const stampOf = (ms: number) => `${new Date(ms).toISOString().slice(0, 19).replace(/[:-]/g, "")}Z`;
  const newest = known[0]?.backupId.slice(0, 16) ?? "";
  const own = stampOf(now);
  return `${own > newest ? own : stampOf(timeOf(newest) + 1_000)}-${random}`;
}

const timeOf = (stamp: string): number =>
  Date.parse(stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z.*$/, "$1-$2-$3T$4:$5:$6Z"));
/** When a backup says it was made. */
export const backupTime = ({ backupId }: Pick<ManifestName, "backupId">): number => timeOf(backupId);

export const whatLies = (one: Pick<BackedUpFile, "sha256" | "bytes" | "stored">) =>
  one.stored ?? { sha256: one.sha256, bytes: one.bytes };
export const nameOfArtifact = ({ sha256 }: { readonly sha256: string }): string => `${sha256.slice(0, 2)}/${sha256}`;

/** Everything that lies at the place for a backup. */
export const partsOf = (manifest: Manifest): { readonly sha256: string; readonly bytes: number }[] =>
  [manifest.database, ...manifest.private, ...manifest.files].map(whatLies);

const gathered = async (bytes: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const pieces: Uint8Array[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces);
};
async function* only(bytes: Uint8Array) {
  yield bytes;
}
const contextOf = (backupId: string) => `manifest ${backupId}`;

/** The document and its name. */
export async function writeManifest(manifest: Manifest, key: BackupKey | undefined) {
  const head = {
    ringrift_backup: VERSION,
    backup_id: manifest.backup_id,
    ...(key === undefined ? {} : { salt: key.salt.toString("hex"), check: key.check.toString("hex") }),
  };
  const plain = Buffer.from(JSON.stringify(manifest));
  const body = key === undefined ? plain : await gathered(seal(only(plain), key, contextOf(manifest.backup_id)));
  const content = Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]);
  if (content.length > MAX_MANIFEST_BYTES)
    throw OperatingError.invalid("BACKUP_TOO_LARGE", `the manifest would have ${content.length} bytes`);
  return { name: `${FOLDER}/${manifest.backup_id}-${hash("sha256", content, "hex")}`, content };
}

/** Keys by their salt: the way from the secret to a key is slow on purpose. */
export function keyRing(secret: string | undefined) {
  const known = new Map<string, BackupKey>();
  return {
    isEmpty: secret === undefined,
    of(salt: Buffer): BackupKey {
      if (secret === undefined)
        throw OperatingError.denied("BACKUP_KEY_MISSING", "this backup is sealed, and no key was given", {
          hint: "Give the key that it was made with: RINGRIFT_BACKUP_KEY_FILE, or --key-file.",
        });
      const id = salt.toString("hex");
      const key = known.get(id) ?? deriveKey(secret, salt);
      known.set(id, key);
      return key;
    },
  };
}
export type KeyRing = ReturnType<typeof keyRing>;

export interface OpenManifest {
  readonly manifest: Manifest;
  /** The key that it was made with; undefined for one that is not sealed. */
  readonly key: BackupKey | undefined;
}

/** A document that was cut, changed or put in another's place does not get through here. */
async function readManifest(name: ManifestName, content: Uint8Array, keys: KeyRing): Promise<OpenManifest> {
  const what = `the backup ${name.backupId}`;
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.length);
  if (hash("sha256", bytes, "hex") !== name.sha256) throw damagedBackup(what, "its manifest is not what was written");
  const end = bytes.indexOf("\n");
  const head = parsed(headSchema(), bytes.subarray(0, Math.max(0, end)), what);
  if (head.ringrift_backup !== VERSION)
    throw OperatingError.invalid("BACKUP_NEWER", `${what} has version ${head.ringrift_backup}, this program knows 1`, {
      hint: "Use the version of ringrift that made it, or a newer one.",
    });
  const rest = bytes.subarray(end + 1);
  const key = head.salt === undefined ? undefined : keys.of(Buffer.from(head.salt, "hex"));
  if (key !== undefined && key.check.toString("hex") !== head.check) throw wrongKey(what);
  const plain = key === undefined ? rest : await gathered(unseal(only(rest), key, contextOf(head.backup_id), what));
  const manifest = parsed(bodySchema(), plain, what);
  if (manifest.backup_id !== name.backupId || head.backup_id !== name.backupId)
    throw damagedBackup(what, "its manifest is that of another one");
  return { manifest, key };
}

function parsed<S extends z.ZodType>(schema: S, bytes: Buffer, what: string): z.output<S> {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    throw damagedBackup(what, "its manifest cannot be read");
  }
  const result = schema.safeParse(value);
  if (!result.success) throw damagedBackup(what, `its manifest is malformed: ${z.prettifyError(result.error)}`);
  return result.data;
}

/** A backup at a place, or why it is none. */
export type FoundBackup = ManifestName &
  (
    | (OpenManifest & { readonly error?: undefined })
    | { readonly error: OperatingError; readonly manifest?: undefined; readonly key?: undefined }
  );

/** Reads manifests; one that cannot be read is told with its reason, and trouble of the place ends it. */
export async function openBackups(
  names: readonly ManifestName[],
  shelf: Shelf,
  keys: KeyRing,
  signal: AbortSignal,
): Promise<FoundBackup[]> {
  const found: FoundBackup[] = [];
  for (const name of names)
    try {
      const content = await shelf.get(name.name, MAX_MANIFEST_BYTES, signal);
      found.push({ ...name, ...(await readManifest(name, content, keys)) });
    } catch (thrown) {
      if (!isOperatingError(thrown) || !OF_THE_BACKUP.has(thrown.code)) throw thrown;
      found.push({ ...name, error: thrown });
    }
  return found;
}

const OF_THE_BACKUP: ReadonlySet<string> = new Set([
  "BACKUP_DAMAGED",
  "BACKUP_KEY_WRONG",
  "BACKUP_KEY_MISSING",
  "BACKUP_NEWER",
  "DOCUMENT_NOT_FOUND",
  "DOCUMENT_TOO_LARGE",
]);
