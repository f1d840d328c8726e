/** What the files of the store take, who holds them, and what the rest costs. */
import { bytes, plural } from "../../../surfaces/commands/index.ts";
import { openFolder } from "../read-folder.ts";
import { type Check, ok } from "./finding.ts";

const DAY_MS = 86_400_000;
const IS_HELD = "EXISTS (SELECT 1 FROM sync_pins p WHERE p.sha256 = a.sha256)";
const NOW = `SELECT count(*) AS files, ifnull(sum(bytes), 0) AS bytes,
    ifnull(sum(bytes) FILTER (WHERE ${IS_HELD}), 0) AS held,
    ifnull(sum(bytes) FILTER (WHERE state = 'in_flight' AND NOT ${IS_HELD}), 0) AS inFlight
  FROM sync_artifacts a WHERE freed_at IS NULL AND state <> 'quarantined'`;
const GIVEN_UP = "SELECT ifnull(sum(bytes), 0) AS bytes FROM sync_artifacts WHERE freed_at > ?";

/** All rows are looked at for it: in a process of its own that holds up nobody. */
export const checkArtifacts: Check = ({ dataDir, clock }) => {
  const folder = openFolder(dataDir);
  try {
    const known = folder?.read("SELECT 1 FROM sqlite_schema WHERE name = 'sync_artifacts'") ?? [];
    if (folder === undefined || known.length === 0) return [];
    const [now] = folder.read<{ files: number; bytes: number; held: number; inFlight: number }>(NOW);
    const [gone] = folder.read<{ bytes: number }>(GIVEN_UP, clock.now() - DAY_MS);
    const { files, held, inFlight } = now!;
    const rest = now!.bytes - held - inFlight;
    if (files === 0) return ok("artifacts", `no files; ${bytes(gone!.bytes)} were deleted in the last day`);
    return ok(
      "artifacts",
      `${plural(files, "file")} with ${bytes(now!.bytes)}: ${bytes(held)} are held by champions, training and window, ` +
        `${bytes(inFlight)} are being judged, ${bytes(rest)} are not needed and will be freed after their grace period ` +
        `(artifacts.grace); ${bytes(gone!.bytes)} were deleted in the last day`,
    );
  } finally {
    folder?.close();
  }
};
