/**
 * What has been done and not been taken yet, on disk: a result is written down before it is sent, and goes when the queue
 * has answered. So neither a lost network nor the end of this process loses a finished job. Beside it stands what this
 * worker holds: a worker that was killed says so at its next start, instead of leaving the queue to wonder.
 */
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { messageOf, syncFolder, writeDurably } from "../../kernel/index.ts";
import { failureSchema } from "../job/failure.ts";
import type { LeaseRef } from "../job/job.ts";
import { evidenceSchema } from "../job/kinds.ts";

const ref = z.object({ work_id: z.string().min(1), node_id: z.string().min(1), fence: z.int().min(0) });
const file = z.object({
  file: z.string().min(1),
  name: z.string().min(1),
  kind: z.string().min(1),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.int().min(0),
});
const common = { ref, work_type: z.string(), finished_at: z.number(), folder: z.string().optional() };
const entrySchema = z.discriminatedUnion("say", [
  z.object({ ...common, say: z.literal("complete"), evidence: evidenceSchema(), files: z.array(file) }),
  z.object({ ...common, say: z.literal("fail"), failure: failureSchema() }),
  z.object({
    ...common,
    say: z.literal("release"),
    reason: z.string(),
    saved: file.extend({ epoch: z.int().min(0) }).optional(),
  }),
]);
/** What the queue is to be told of one lease, last of all. */
export type SpoolEntry = z.output<typeof entrySchema>;

const heldSchema = z.object({ ref, work_type: z.string(), began: z.boolean() });
export type HeldNote = z.output<typeof heldSchema>;

export interface Rejected {
  readonly entry: SpoolEntry;
  readonly code: string;
  readonly reason: string;
}

export interface Spool {
  /** What an earlier life left: results that were not taken, and leases that it held. */
  read(): Promise<{ entries: SpoolEntry[]; held: HeldNote[] }>;
  /** Resolves once it is on the disk. */
  put(entry: SpoolEntry): Promise<void>;
  /** It was taken: the entry goes, with the job's folder. */
  remove(entry: SpoolEntry): Promise<void>;
  /** It was refused: kept with the reason, as long as there is room for it. */
  reject(entry: SpoolEntry, why: { code: string; message: string }): Promise<void>;
  rejected(): Promise<Rejected[]>;
  /** Remembers a lease; without waiting for the disk, since only a loss of power could forget it. */
  hold(note: HeldNote): Promise<void>;
  drop(ref: LeaseRef): Promise<void>;
}

export interface SpoolOptions {
  readonly folder: string;
  /** Refused results that are kept, with their files. */
  readonly maxRejected?: number;
  /** Told of what cannot be read or removed. */
  readonly onTrouble: (what: string, error: string) => void;
}

export const entryId = ({ work_id, fence }: LeaseRef): string => `${work_id}.${fence}`;

/** Many who want the folder synced at once are served by few syncs: each begins after all that it is for was renamed. */
function sharedSync(path: string): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  return () => {
    if (running === undefined) {
      running = syncFolder(path).finally(() => {
        running = undefined;
      });
      return running;
    }
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        running = syncFolder(path).finally(() => {
          running = undefined;
        });
        return running;
      });
    return next;
  };
}

export async function openSpool({ folder, maxRejected = 100, onTrouble }: SpoolOptions): Promise<Spool> {
  const results = join(folder, "results");
  const held = join(folder, "held");
  const refused = join(folder, "rejected");
  for (const each of [results, held, refused]) await mkdir(each, { recursive: true, mode: 0o700 });
  const syncResults = sharedSync(results);
  const pathOf = (where: string, of: LeaseRef) => join(where, `${entryId(of)}.json`);

  const readAll = async <T>(where: string, parse: (value: unknown) => T): Promise<T[]> => {
    const found: T[] = [];
    for (const name of (await readdir(where)).sort()) {
      const path = join(where, name);
      // Cut off while it was written: it was never promised to anybody.
      if (!name.endsWith(".json")) {
        await rm(path, { force: true });
        continue;
      }
      try {
        found.push(parse(JSON.parse(await readFile(path, "utf8"))));
      } catch (thrown) {
        onTrouble(`${basename(where)}/${name} is unreadable and is put aside`, messageOf(thrown));
        await rename(path, `${join(dirname(where), name)}.unreadable`);
      }
    }
    return found;
  };

  const discard = async (job: string | undefined): Promise<void> => {
    if (job !== undefined) await rm(job, { recursive: true, force: true, maxRetries: 3 });
  };

  const rejectedSchema = z.object({ entry: entrySchema, code: z.string(), reason: z.string() });
  /** The oldest go first; their names say nothing of their age, so what they tell of it counts. */
  const trim = async (): Promise<void> => {
    const all = await readAll(refused, (value) => rejectedSchema.parse(value));
    const oldest = all.sort((a, b) => a.entry.finished_at - b.entry.finished_at);
    for (const { entry } of oldest.slice(0, Math.max(0, all.length - maxRejected))) {
      await rm(pathOf(refused, entry.ref), { force: true });
      await discard(entry.folder);
    }
  };

  return {
    async read() {
      return {
        entries: await readAll(results, (value) => entrySchema.parse(value)),
        held: await readAll(held, (value) => heldSchema.parse(value)),
      };
    },
    async put(entry) {
      await writeDurably(pathOf(results, entry.ref), JSON.stringify(entry));
      await syncResults();
    },
    async remove(entry) {
      await rm(pathOf(results, entry.ref), { force: true });
      await discard(entry.folder);
    },
    async reject(entry, { code, message }) {
      await writeDurably(pathOf(refused, entry.ref), JSON.stringify({ entry, code, reason: message }));
      await syncFolder(refused);
      await rm(pathOf(results, entry.ref), { force: true });
      await trim();
    },
    rejected: () => readAll(refused, (value) => rejectedSchema.parse(value)),
    async hold(note) {
      const path = pathOf(held, note.ref);
      const handle = await open(`${path}.new`, "w", 0o600);
      try {
        await handle.writeFile(JSON.stringify(note));
      } finally {
        await handle.close();
      }
      await rename(`${path}.new`, path);
    },
    drop: (of) => rm(pathOf(held, of), { force: true }),
  };
}
