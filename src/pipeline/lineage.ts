import { OperatingError, sayWhich } from "../kernel/index.ts";
import type { ArtifactCatalog, ArtifactRow } from "../sync/index.ts";
import type { WorkQueue } from "../work/index.ts";

const MAX_RELATIVES = 200;

const aboutFile = (sha256: string, row: ArtifactRow | null) => ({
  id: sha256,
  kind: row === null ? "file" : row.kind,
  about:
    row === null
      ? "forgotten"
      : [
          row.iteration === null ? "" : `iteration ${row.iteration}`,
          row.games > 0 ? `${row.games} games` : row.rows > 0 ? `${row.rows} rows` : "",
          `by ${row.producer}`,
          row.state === "durable" ? "" : row.state,
        ]
          .filter((word) => word !== "")
          .join(", "),
  at: row === null ? null : row.created_at,
});

/** A file, what it came from and what came of it, with the jobs in between. */
function fileLineage(catalog: ArtifactCatalog, asked: string, sha256: string) {
  const lineage = catalog.lineage(sha256, MAX_RELATIVES);
  if (lineage === undefined) return undefined;
  const relatives = [{ sha256, artifact: lineage.artifact }, ...lineage.ancestors, ...lineage.descendants];
  const known = new Set(relatives.map((relative) => relative.sha256));
  const jobs = new Map<string, string>();
  for (const { artifact } of relatives)
    if (artifact?.work_id != null) jobs.set(artifact.work_id, `${artifact.kind} of ${artifact.config_key}`);
  return {
    asked,
    nodes: [
      ...relatives.map(({ sha256: id, artifact }) => aboutFile(id, artifact)),
      ...[...jobs].map(([id, about]) => ({ id, kind: "job", about, at: null })),
    ],
    edges: relatives.flatMap(({ sha256: to, artifact }) => {
      const from = catalog.parentsOf(to).filter((parent) => known.has(parent));
      const job = artifact?.work_id ?? null;
      return job === null
        ? from.map((parent) => ({ from: parent, to }))
        : [...from.map((parent) => ({ from: parent, to: job })), { from: job, to }];
    }),
  };
}

/** Where a game, a model, a file or a job comes from and what came of it: a graph, as a file may have several parents. */
export function lineageOf(
  { catalog, queue }: { catalog: ArtifactCatalog; queue: Pick<WorkQueue, "show"> },
  id: string,
) {
  const [, file, game] = /^([0-9a-f]{6,64})(#\d+)?$/.exec(id) ?? [];
  if (file !== undefined) {
    const found = catalog.beginning(file, game === undefined ? undefined : "games").map(({ sha256 }) => sha256);
    if (found.length > 1)
      throw OperatingError.conflict("LINEAGE_AMBIGUOUS", `several files begin with '${file}'`, {
        hint: sayWhich(found),
      });
    // Of one that was forgotten its descendants may still speak.
    const sha256 = found[0] ?? file;
    return fileLineage(catalog, sha256, sha256);
  }
  const [made] = catalog.list({ work_id: id, limit: 1 });
  if (made !== undefined) return fileLineage(catalog, id, made.sha256);
  const job = queue.show(id);
  if (job === undefined) return undefined;
  const about = `${job.work_type}${job.config_key === null ? "" : ` of ${job.config_key}`}, ${job.state}: it made no file`;
  return { asked: id, nodes: [{ id, kind: "job", about, at: job.queued_at }], edges: [] };
}
