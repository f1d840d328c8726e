/** Segments that were made elsewhere, by hand: looked at here, entered in the books, and kept. */
import { type Clock, OperatingError } from "../../kernel/index.ts";
import type { HandlerContext } from "../../router/index.ts";
import type { ArtifactEntryInput } from "../artifact.ts";
import type { ArtifactCatalog } from "../catalog.ts";
import { noteAnnounced } from "../run-operations.ts";
import type { Brought } from "./brought.ts";
import { broughtPin, importedAs } from "./names.ts";

/** A file that was sent here, and what its sender says of it. */
export interface ImportedFile {
  readonly sha256: string;
  readonly kind: "games" | "samples";
  readonly config_key: string;
  readonly games: number;
  readonly rows: number;
  /** Who made it, as people call it. */
  readonly producer: string;
  /** The rules that its games were played through by; null where only its rows are known. */
  readonly rules_version: string | null;
  /** The file of games that these rows are of. */
  readonly rows_of?: string | undefined;
}

export interface ImportVerdict {
  readonly sha256: string;
  readonly state: "imported" | "new" | "known" | "refused";
  readonly why: string | null;
}

export interface ImportPorts {
  readonly catalog: ArtifactCatalog;
  readonly brought: Brought;
  readonly clock: Clock;
  readonly nodeId: string;
  /** One commit in the name of the store. */
  readonly transact: (body: (context: HandlerContext) => void) => Promise<void>;
}

/** What is given up or set aside may come again; everything else is known. */
const isKnown = (state: string | undefined): boolean =>
  state !== undefined && state !== "rejected" && state !== "quarantined";

export function createImports({ catalog, brought, clock, nodeId, transact }: ImportPorts) {
  /** Whose games a file stands for in the books: rows stand with the games that they are of. */
  const workOf = ({ sha256, rows_of }: ImportedFile) => importedAs(rows_of ?? sha256);

  /** The bytes of a file that may enter, or why it may not. */
  const judge = async (file: ImportedFile, accepted: ReadonlyMap<string, unknown>): Promise<number | string> => {
    const { sha256, rows_of } = file;
    if (rows_of !== undefined && !accepted.has(rows_of) && !isKnown(catalog.get(rows_of)?.state))
      return "the games that it has rows of are not here";
    const found = await brought.look(sha256);
    if (found.state === "away") return "its bytes are not here: send them first";
    if (found.state === "bad") return found.why;
    const { kind, config_key, games, rows } = found;
    const says = `${file.kind} of ${file.config_key}, ${file.games} games and ${file.rows} rows`;
    const is = `${kind} of ${config_key}, ${games} games and ${rows} rows`;
    return says === is ? found.bytes : `it is ${is}, and not ${says}`;
  };

  const enter = (files: readonly (ImportedFile & { readonly bytes: number })[]) =>
    transact((context) => {
      const artifacts = catalog.join(context);
      for (const file of files) {
        const { sha256, kind, config_key, games, rows, bytes, producer, rules_version } = file;
        const work_id = workOf(file);
        const entry = { sha256, kind, bytes, games, rows, producer, rules_version, work_id };
        artifacts.record([{ ...entry, config_key: config_key as ArtifactEntryInput["config_key"] }]);
        if (file.rows_of === undefined) artifacts.produced(config_key, producer, work_id, games);
        artifacts.accept([sha256]);
        artifacts.pin(broughtPin(sha256), [sha256]);
        if (kind !== "games") continue;
        context.emit("DATABASE_CREATED", {
          config_key,
          artifact_hash: sha256,
          node_id: nodeId,
          games,
          artifact_bytes: bytes,
        });
        context.rows.apply(noteAnnounced({ sha256s: [sha256], at: clock.now() }));
      }
    });

  return {
    /**
     * Takes files whose bytes are here. Twice is once, by their hash. Nothing that is said of them is believed: they are read on a
     * thread and their games played through. A dry run only says which of them are new.
     */
    async take(files: readonly ImportedFile[], dryRun: boolean): Promise<ImportVerdict[]> {
      const names = new Set(files.map(({ sha256 }) => sha256));
      if (names.size < files.length)
        throw OperatingError.invalid("INVALID_REQUEST", "files: the same file is named twice");
      const verdicts = new Map<string, ImportVerdict>();
      const accepted = new Map<string, ImportedFile & { bytes: number }>();
      // Games first: rows that belong to them are judged after.
      for (const file of [...files].sort((a, b) => Number(a.rows_of !== undefined) - Number(b.rows_of !== undefined))) {
        const { sha256 } = file;
        if (isKnown(catalog.get(sha256)?.state)) verdicts.set(sha256, { sha256, state: "known", why: null });
        else if (dryRun) verdicts.set(sha256, { sha256, state: "new", why: null });
        else {
          const found = await judge(file, accepted);
          if (typeof found === "number") accepted.set(sha256, { ...file, bytes: found });
          const isIn = typeof found === "number";
          verdicts.set(sha256, { sha256, state: isIn ? "imported" : "refused", why: isIn ? null : found });
        }
      }
      if (accepted.size > 0) await enter([...accepted.values()]);
      // They are copies of this node from now on.
      await brought.note([...accepted.keys()]);
      return files.map(({ sha256 }) => verdicts.get(sha256)!);
    },
  };
}

export type Imports = ReturnType<typeof createImports>;
