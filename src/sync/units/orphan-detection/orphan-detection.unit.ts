import { type ContextOf, defineDaemon, type Wiring } from "../../../daemons/index.ts";
import type { PayloadFor } from "../../../events/index.ts";
import { sumOf } from "../../../kernel/index.ts";
import { orphanLimits } from "../../limits.ts";
import type { OrphanFault, OrphanSearch } from "../../orphans/find-orphans.ts";
import { type Orphan, orphans } from "../../orphans/orphan.ts";
import { verdictOn } from "./decide.ts";

const wiring = {
  name: "orphan_detection_daemon",
  layer: 7,
  placement: "each-node",
  profiles: ["coordinator", "training_node"],
  pattern: "IMPORT",
  daemonTypes: ["ORPHAN_DETECTION"],
  alsoKnownAs: ["OrphanDetectionDaemon"],
  dependsOn: ["event_router"],
  emits: ["ORPHAN_GAMES_DETECTED"],
} as const satisfies Wiring;

interface Cache {
  faults: readonly OrphanFault[];
}
type Context = ContextOf<typeof wiring, Cache>;
type Detected = PayloadFor<"ORPHAN_GAMES_DETECTED">;

export interface OrphanServices {
  readonly nodeId: string;
  readonly orphanSearch: Pick<OrphanSearch, "look" | "knows">;
  /** Moves a file out of the store, to stay where a person finds it; false if it is not there any more. */
  readonly setOrphanAside: (orphan: Orphan) => Promise<boolean>;
}

/**
 * Finds files of games on this node that no manifest knows: results of jobs whose word was lost, copies that nobody wrote down, and
 * what lies in the watched folder. First they are told. Then the pipeline takes sound ones of the store into the books, damaged ones
 * are moved aside, and what lies elsewhere is offered for `ringrift import`. A folder that is empty or not there is a fault, and says
 * nothing about its files.
 */
export const orphanDetection = (services: OrphanServices, limits = orphanLimits) => {
  const { nodeId, orphanSearch, setOrphanAside } = services;

  /** What was told in an earlier look and is to lie elsewhere. A file that a job has brought again meanwhile stays. */
  const moveAside = async ({ rows, log }: Context): Promise<void> => {
    for (const [key, orphan] of rows.list(orphans)) {
      if (orphan.rule !== "quarantine" || orphan.aside) continue;
      if ((await orphanSearch.knows([orphan.sha256])).has(orphan.sha256) || !(await setOrphanAside(orphan)))
        rows.delete(orphans, key);
      else {
        rows.put(orphans, key, { ...orphan, aside: true });
        log.warn("a damaged file that nobody knows was moved to the quarantine", { sha256: key, why: orphan.why });
      }
    }
  };

  /** What somebody has written down since is no orphan any more. */
  const forget = ({ rows }: Pick<Context, "rows">, known: ReadonlySet<string>): void => {
    for (const [key, { aside }] of rows.list(orphans)) if (known.has(key) && !aside) rows.delete(orphans, key);
  };

  const tell = ({ emit }: Context, found: readonly Orphan[]): void => {
    for (let at = 0; at < found.length; at += limits.maxTold) {
      const some = found.slice(at, at + limits.maxTold);
      const configs = [...new Set(some.flatMap(({ config_key }) => config_key ?? []))];
      const readable = sumOf(some, ({ games }) => games);
      emit.ORPHAN_GAMES_DETECTED({
        node_id: nodeId as Detected["node_id"],
        ...(readable === 0 ? {} : { games: readable }),
        artifact_hashes: some.map(({ sha256 }) => sha256) as Detected["artifact_hashes"],
        artifact_bytes: sumOf(some, ({ bytes }) => bytes),
        ...(configs.length === 0 ? {} : { config_keys: configs as NonNullable<Detected["config_keys"]> }),
        orphans: some.map(({ sha256, config_key, games, bytes, folder, name, rule, why }) => ({
          artifact_hash: sha256 as Detected["artifact_hashes"][number],
          config_key: config_key as NonNullable<Detected["config_keys"]>[number] | null,
          games,
          artifact_bytes: bytes,
          place: `${folder}/${name}`.slice(0, 1_000),
          rule,
          reason: why.slice(0, 1_000),
        })),
      });
    }
  };

  const look = async (context: Context): Promise<void> => {
    const { rows, cache, now, signal, log } = context;
    await moveAside(context);
    const listed = rows.list(orphans).map(([key]) => key);
    if (listed.length > 0) forget(context, await orphanSearch.knows(listed));
    if (listed.length >= limits.maxListed) {
      const message = `${listed.length} files are known that no manifest knows; no more are looked for until some are dealt with`;
      cache.faults = [{ folder: "", message }];
      return;
    }
    const { found, faults } = await orphanSearch.look({
      oldBefore: now - limits.youngMs,
      now,
      listed: new Set(listed),
      signal,
    });
    for (const { message } of faults)
      if (!cache.faults.some((known) => known.message === message))
        log.warn("orphans were not looked for", { message });
    cache.faults = faults;
    const told = found.flatMap((file): Orphan[] => {
      const verdict = verdictOn(file);
      if (verdict === undefined) return [];
      const { sha256, folder, name, bytes, structure } = file;
      const { config_key = null, games = 0 } = structure.sound ? structure : {};
      return [{ sha256, folder, name, bytes, config_key, games, ...verdict, at: now, aside: false }];
    });
    for (const orphan of told) rows.put(orphans, orphan.sha256, orphan);
    tell(context, told);
  };

  return defineDaemon({
    ...wiring,
    state: { tables: { orphans }, cache: (): Cache => ({ faults: [] }) },
    on: {
      DATABASE_CREATED: ({ payload: { artifact_hash } }, context: Context) =>
        forget(context, new Set([artifact_hash as string])),
      ORPHAN_GAMES_REGISTERED: ({ payload: { artifact_hashes } }, context: Context) =>
        forget(context, new Set(artifact_hashes as readonly string[])),
    },
    loop: { everyMs: limits.everyMs, tick: look },
    health: ({ cache: { faults }, rows }) => {
      const all = rows.list(orphans).map(([, orphan]) => orphan);
      const by = (rule: Orphan["rule"]) => all.filter((orphan) => orphan.rule === rule).length;
      const [offered, aside] = [by("offer"), by("quarantine")];
      const words = [
        ...faults.map(({ message }) => message),
        ...(offered > 0 ? [`${offered} files of games can be imported: 'ringrift artifacts orphans' lists them`] : []),
        ...(aside > 0 ? [`${aside} damaged files that nobody knows lie in the quarantine`] : []),
      ];
      return {
        status: faults.length > 0 ? "degraded" : "running",
        message: words.slice(0, 5).join("; "),
        details: { adopt: by("adopt"), offer: offered, quarantine: aside, leave: by("leave") },
      };
    },
  });
};
