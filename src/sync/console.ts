/** What people ask about artifacts, and what they decide about them: by hand, on record, and as a dry run first. */
import { type Clock, OperatingError, sayWhich } from "../kernel/index.ts";
import { conditions, type Store } from "../router/index.ts";
import type { ArtifactRow } from "./artifact.ts";
import type { ArtifactInspector } from "./artifact-inspector.ts";
import type { ArtifactCatalog, ArtifactFilter } from "./catalog.ts";
import type { Copies, CopiesOf } from "./copies/copies.ts";
import type { NodeDesk } from "./copies/node-desk.ts";
import { copyOverview, gamesAtRisk } from "./copies/overview.ts";
import type { Inspection } from "./file-check.ts";
import { MAX_LISTED } from "./limits.ts";
import { openOrdersOf } from "./orders/deliveries.ts";
import { knownFiles } from "./orphans/known-files.ts";
import { rescuesIn } from "./orphans/orphan.ts";
import { freeArtifacts, pinArtifacts } from "./retention-operations.ts";

export interface ArtifactConsolePorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly nodeId: string;
  readonly catalog: ArtifactCatalog;
  readonly copies: Copies;
  readonly desk?: Pick<NodeDesk, "look" | "storageOf"> | undefined;
  readonly inspector?: Pick<ArtifactInspector, "verify"> | undefined;
  /** Those of these files that a manifest, a pin or a job knows. */
  readonly knows?: ((sha256s: readonly string[]) => Promise<ReadonlySet<string>>) | undefined;
  /** Whether a file that does not lie here may still come; never unless given. */
  readonly isAwaited?: ((sha256: string) => boolean) | undefined;
}

export type ListedArtifact = ArtifactRow & Omit<CopiesOf, "holders"> & { readonly nodes: readonly string[] };

const byHand = (sha256: string) => `hand:${sha256}`;
const notHere = () => OperatingError.unavailable("NOTHING_RUNS", "nothing is running here that could do it");

export function createArtifactConsole(ports: ArtifactConsolePorts) {
  const { store, clock, nodeId, catalog, copies, desk, inspector } = ports;

  const listed = (row: ArtifactRow, known = copies.nodes()): ListedArtifact => {
    const { holders, ...verdict } = copies.of(row, known);
    return { ...row, ...verdict, nodes: holders.filter((copy) => copy.state === "held").map(({ name }) => name) };
  };

  /** The artifact that is meant: its hash, or the start of it where only one begins so. */
  const find = (hex: string): ArtifactRow => {
    const found = catalog.beginning(hex);
    if (found.length > 1)
      throw OperatingError.conflict("ARTIFACT_AMBIGUOUS", `several artifacts begin with '${hex}'`, {
        hint: sayWhich(found.map(({ sha256 }) => sha256)),
      });
    if (found[0] !== undefined) return found[0];
    throw OperatingError.notFound("ARTIFACT_NOT_FOUND", `there is no artifact '${hex}'`, {
      hint: "'ringrift artifacts' lists them.",
    });
  };

  const held = () =>
    store.scan<{ node_id: string; copies: number; bytes: number }>(
      `SELECT h.node_id, count(*) AS copies, sum(a.bytes) AS bytes FROM sync_held h JOIN sync_artifacts a ON a.seq = h.seq
       WHERE h.state = 'held' GROUP BY h.node_id`,
    );

  return {
    find,
    /** Whether a file that does not lie here may still come from elsewhere. */
    isAwaited: (sha256: string): boolean => ports.isAwaited?.(sha256) ?? false,
    /** Newest first. It may go through all rows, and so does it on the thread of the readers. */
    async list({ limit = 50, after, ...filter }: ArtifactFilter): Promise<ListedArtifact[]> {
      const { sql, params } = conditions({
        "config_key = ?": filter.config_key,
        "kind = ?": filter.kind,
        "state = ?": filter.state,
        "producer = ?": filter.producer,
        "seq < ?": after,
      });
      const known = copies.nodes();
      const rows = await store.scan<ArtifactRow>(
        `SELECT * FROM sync_artifacts WHERE ${sql} ORDER BY seq DESC LIMIT ?`,
        [...params, Math.min(limit, MAX_LISTED)],
      );
      return rows.map((row) => listed(row, known));
    },
    show(hex: string) {
      const row = find(hex);
      return {
        ...listed(row),
        holders: copies.of(row).holders,
        pins: catalog.pinsOf(row.sha256),
        parents: catalog.parentsOf(row.sha256),
      };
    },
    /** Transfers of a file that wait or run. */
    transfersOf: ({ seq }: Pick<ArtifactRow, "seq">) => openOrdersOf(store, seq),
    /** Those of these files that a manifest, a pin or a job knows. */
    known: async (sha256s: readonly string[]) => ({ known: [...(await (ports.knows ?? knownFiles(store))(sha256s))] }),
    /** Files of games that nodes found and no manifest knew. */
    orphans: () => rescuesIn(store).slice(0, MAX_LISTED),
    gamesAtRisk: () => gamesAtRisk(store, copies),
    /** How safe everything is, and what lies on each node. */
    async overview() {
      const [summary, lying] = [
        await copyOverview(store, copies),
        new Map((await held()).map((row) => [row.node_id, row])),
      ];
      const nodes = [...copies.nodes().values()].map((node) => {
        const { node_id, name, isThere, isRented, isLeaving = false, isConfirmed } = node;
        const storage = desk?.storageOf(node_id);
        return {
          node_id,
          name,
          there: isThere,
          rented: isRented,
          leaving: isLeaving,
          confirmed: isConfirmed,
          copies: lying.get(node_id)?.copies ?? 0,
          bytes: lying.get(node_id)?.bytes ?? 0,
          free_bytes: storage?.free_bytes ?? null,
          waiting: storage?.waiting ?? null,
        };
      });
      return { ...summary, nodes };
    },
    /** Looks at the bytes here now, and asks the nodes that hold it to look at theirs. */
    async verify(hex: string): Promise<{ sha256: string; here: Inspection | null; asked: string[] }> {
      if (inspector === undefined || desk === undefined) throw notHere();
      const row = find(hex);
      const others = copies.of(row).holders.filter(({ node_id, state }) => node_id !== nodeId && state === "held");
      for (const { node_id } of others) desk.look(node_id, row.sha256);
      const isHere = row.removed_at === null;
      const here = isHere ? ((await inspector.verify([row.sha256]))[0] ?? null) : null;
      return { sha256: row.sha256, here, asked: others.map(({ name }) => name) };
    },
    /** Keeps it until it is let go by hand. */
    async pin(hex: string, isKept: boolean, dryRun: boolean) {
      const { sha256, freed_at } = find(hex);
      if (isKept && freed_at !== null)
        throw OperatingError.conflict("ARTIFACT_FREED", `${sha256} was already freed`, {
          hint: "Its job can make it again.",
        });
      const [seen, at] = [isKept ? [sha256] : [], clock.now()];
      if (!dryRun) await store.commit([pinArtifacts({ owner: byHand(sha256), sha256s: seen, seen, at })]);
      return { sha256, pins: catalog.pinsOf(sha256), applied: !dryRun };
    },
    /** Gives it up at once, with all its copies, if nothing holds it. Its games stay in the books. */
    async free(hex: string, dryRun: boolean) {
      const row = find(hex);
      const { sha256, bytes, state, freed_at } = row;
      const pins = catalog.pinsOf(sha256);
      if (freed_at !== null) throw OperatingError.conflict("ARTIFACT_FREED", `${sha256} was already freed`);
      if (state !== "durable" && state !== "rejected")
        throw OperatingError.conflict(
          "ARTIFACT_NEEDED",
          `${sha256} is ${state}: only files with a verdict can be freed`,
        );
      if (pins.length > 0)
        throw OperatingError.conflict(
          "ARTIFACT_NEEDED",
          `${pins.join(", ")} ${pins.length === 1 ? "needs" : "need"} ${sha256}`,
          {
            hint: "'ringrift artifacts pin --release' releases a file that was pinned by hand; the loop releases the others by itself.",
          },
        );
      const nodes = copies.of(row).holders.map(({ name }) => name);
      const at = clock.now();
      const freed = dryRun
        ? []
        : (await store.commit([freeArtifacts({ sha256s: [sha256], idleBefore: at + 1, at })]))[0].freed;
      if (!dryRun && freed.length === 0)
        throw OperatingError.busy("READ_CONFLICT", `${sha256} is needed since a moment ago`);
      return { sha256, bytes, nodes, applied: !dryRun };
    },
  };
}

export type ArtifactConsole = ReturnType<typeof createArtifactConsole>;
