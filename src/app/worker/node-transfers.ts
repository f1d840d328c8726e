/**
 * How files come to a joined node, and how it serves them to others: by a thread of its own, from other nodes first and from the
 * main process last. Whoever wants a file that is on its way already waits for that one.
 */
import { createPrivateKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type RunningTransfers, startTransfers } from "../../adapters/transports/transfers.ts";
import { nodeKeyOf } from "../../cluster/index.ts";
import { defined, type Edges, isOperatingError, messageOf, OperatingError } from "../../kernel/index.ts";
import type { CopiesAnswer, CopiesPort, CopiesTold, NodeKey, NodeLink, OfferedBatch } from "../../surfaces/index.ts";
import {
  createReservations,
  nodeIn,
  storedFiles,
  type TransferNews,
  type TransferPriority,
  type TransferPurpose,
  type TransferReport,
  type TransferTry,
  type Wanted,
} from "../../sync/index.ts";
import { fingerprintIn } from "../data-folder/fingerprint.ts";
import type { Settings } from "../settings.ts";
import { bringBetweenLeaders } from "./between-leaders.ts";
import type { BringFile } from "./inputs.ts";
import { type ArrivalPorts, judgeArrivals } from "./judge-arrivals.ts";
import { createLinks, type Links } from "./links.ts";
import type { NodeFile } from "./node-identity.ts";
import { readPlaces } from "./places.ts";
import { type TransferPlan, transferPlan } from "./serving-plan.ts";
import { createWayBook } from "./way-book.ts";
import { createWaysHome } from "./ways-home.ts";

export interface BatchTerms {
  readonly signal: AbortSignal;
  /** Those of the batch that are wanted now; all of them by default. Its tickets name all, so the batch stays whole. */
  readonly only?: readonly Wanted[] | undefined;
  /** Told of with what goes wrong. */
  readonly purpose: TransferPurpose;
  /** Bytes a second. */
  readonly maxRate?: number | undefined;
  readonly priority?: TransferPriority | undefined;
  /** Bytes that are here of all of them. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

export interface BatchFailure {
  readonly code: string;
  readonly message: string;
}

/** Brings files that come the same way. Gives why each did not come that did not, those that came now, and the ways that were tried. */
type BringBatch = (
  batch: OfferedBatch,
  terms: BatchTerms,
) => Promise<{
  readonly failed: ReadonlyMap<string, BatchFailure>;
  readonly came: ReadonlySet<string>;
  readonly tries: readonly TransferTry[];
}>;

type Told = NonNullable<CopiesTold["transfers"]>;
type Order = CopiesAnswer["orders"][number];
type Office = CopiesAnswer["coordinator"];

export interface NodeTransfersOptions extends Edges {
  readonly settings: Pick<Settings, "transfers" | "artifacts">;
  readonly link: Pick<NodeLink, "prove" | "place" | "isOfSeveral">;
  readonly node: NodeFile;
  readonly key: NodeKey;
  /** Where the files of this node lie, side by side. */
  readonly folder: string;
  readonly port: Pick<CopiesPort, "sources">;
  /** For what nobody but the main process has: files that are in no catalog. */
  readonly overLine: BringFile;
  /** What comes of transfers is noted there. */
  readonly news: TransferNews;
  /** What is wrong with the structure of files that have come. */
  readonly faultsOf?: ArrivalPorts["faultsOf"];
}

const MAX_REFUSED = 100;
/** What a job needs is in no sync. */
const INPUT: TransferPurpose = { syncId: "inputs", kinds: [] };

const identityIn = ({ tls }: TransferPlan) =>
  tls === undefined ? undefined : { cert: readFileSync(tls.certFile, "utf8"), key: readFileSync(tls.keyFile, "utf8") };

/** How others reach what this node serves. */
const servingWords = ({ name, further }: TransferPlan, tls: { readonly cert: string } | undefined) => ({
  host: name,
  tls: tls !== undefined,
  fingerprint: tls === undefined ? null : fingerprintIn(tls.cert),
  ...(further.length === 0 ? {} : { further: [...further] }),
});

/** Of a node that has several addresses, the one that answers; where none does, the first, so that its failure is seen. */
async function throughLinks(links: Links, sources: OfferedBatch["sources"]): Promise<OfferedBatch["sources"]> {
  const doors = Map.groupBy(sources, ({ transport, node_id, host }) =>
    transport === "http" && host !== null ? node_id : "",
  );
  const dropped = new Set<OfferedBatch["sources"][number]>();
  for (const [nodeId, several] of doors) {
    if (nodeId === "" || several.length < 2) continue;
    const hosts = several.map(({ host }) => host!);
    const best = (await links.best(nodeId, hosts, several[0]!.port)) ?? hosts[0];
    for (const door of several) if (door.host !== best) dropped.add(door);
  }
  return sources.filter((source) => !dropped.has(source));
}

/** Where files land that come to this node: side by side, and beside them those that stay together and those that are wrong. */
function landingIn(folder: string, maxBytes: number) {
  const pathOf = (sha256: string) => join(folder, sha256);
  const { quarantine } = storedFiles(dirname(folder));
  const { reserve } = createReservations({
    maxBytes,
    landingOf: (sha256) => ({ path: pathOf(sha256), part: `${pathOf(sha256)}.part`, quarantine }),
    isLeaving: () => false,
  });
  return { pathOf, quarantine, packs: { folder: join(dirname(folder), "packs"), quarantine }, reserve };
}

/** One of the version before names no sources. */
async function sourcesOf(port: Pick<CopiesPort, "sources">, sha256: string, signal: AbortSignal) {
  try {
    return (await port.sources([sha256], signal))[0];
  } catch (thrown) {
    if (isOperatingError(thrown, "ROUTE_NOT_FOUND")) return undefined;
    throw thrown;
  }
}

export async function startNodeTransfers(options: NodeTransfersOptions) {
  const { settings, link, node, key, folder, port, overLine, news, clock, random, log } = options;
  const { placesFile } = settings.transfers;
  const plan = transferPlan(settings, new URL(node.url));
  const tls = identityIn(plan);
  const places = placesFile === undefined ? [] : readPlaces(placesFile);
  const refused: Told["refused"][number][] = [];
  const { pathOf, quarantine, packs, reserve } = landingIn(folder, settings.artifacts.maxBytes);
  const transfers: RunningTransfers = await startTransfers({
    nodeId: node.node_id,
    publicKey: key.publicKey,
    privateKey: createPrivateKey(key.toPem()),
    folder,
    isFlat: true,
    packs,
    store: { reserve, pathOf },
    scratch: `${folder}.scratch`,
    maxBytesPerSecond: plan.maxBytesPerSecond,
    stallMs: plan.stallMs,
    programs: { rsync: "rsync", ssh: "ssh" },
    coordinator: { url: node.url, ca: node.ca, fingerprint: node.fingerprint, prove: link.prove },
    serve: { host: plan.host, port: plan.port, ...defined({ tls }) },
    log,
    onRefused({ code, nodeId = null, from, message }) {
      log.warn("a request for files of this node was refused", { code, node_id: nodeId, from, message });
      if (refused.length < MAX_REFUSED) refused.push({ code, node_id: nodeId, from });
    },
  });
  const book = createWayBook();
  const links = createLinks(clock);
  /** Files on their way, and what came of each: undefined is that it is here. */
  const coming = new Map<string, Promise<BatchFailure | undefined>>();

  const { office, waysFor } = createWaysHome({ link, node, places });
  const fetchNow = async (
    batch: OfferedBatch,
    files: readonly Wanted[],
    terms: BatchTerms,
  ): Promise<TransferReport> => {
    const { signal, purpose, priority = "normal", maxRate, onBytes } = terms;
    const report = await transfers.fetch({
      wanted: files,
      sources: waysFor({ ...batch, sources: await throughLinks(links, batch.sources) }),
      priority,
      maxBytesPerSecond: maxRate,
      signal,
      onProgress: ({ bytesDone }) => onBytes?.(bytesDone),
    });
    book.note(report.tries);
    for (const { place, error } of report.tries) if (error !== undefined) links.doubt(nodeIn(place) ?? "");
    news.noteTries(report.tries, purpose);
    const { packed } = transfers;
    return judgeArrivals(report, { pathOf, packed, quarantine, news, clock, faultsOf: options.faultsOf });
  };

  const bringBatch: BringBatch = async (batch, terms) => {
    const { only = batch.files } = terms;
    const fresh = only.filter(({ sha256 }) => !coming.has(sha256));
    const fetched = fresh.length === 0 ? undefined : fetchNow(batch, fresh, terms);
    for (const { sha256 } of fresh) {
      const outcome = fetched!.then(
        ({ failed }) => failed.find((one) => one.sha256 === sha256),
        (thrown: unknown) => ({
          code: isOperatingError(thrown) ? thrown.code : "TRANSFER_FAILED",
          message: messageOf(thrown),
        }),
      );
      coming.set(
        sha256,
        outcome.finally(() => coming.delete(sha256)),
      );
    }
    const failed = new Map<string, BatchFailure>();
    for (const { sha256 } of only) {
      const failure = await coming.get(sha256);
      if (failure !== undefined) failed.set(sha256, failure);
    }
    terms.signal.throwIfAborted();
    const { arrived = [], tries = [] } = (await fetched?.catch(() => undefined)) ?? {};
    return { failed, came: new Set(arrived), tries };
  };

  const bringOnce: BringFile = async (sha256, signal, { maxRate, onBytes }) => {
    const batch = await sourcesOf(port, sha256, signal);
    if (batch === undefined) return overLine(sha256, signal, { maxRate, onBytes });
    const { failed } = await bringBatch(batch, { signal, purpose: INPUT, maxRate, onBytes, priority: "high" });
    const failure = failed.get(sha256);
    if (failure !== undefined) throw OperatingError.unavailable(failure.code, failure.message);
  };
  /** A file that a job needs now; who has it is asked first. */
  const bring = bringBetweenLeaders(bringOnce, { clock, random, isOfSeveral: () => link.isOfSeveral });

  let known = "";
  /** The main process, as a node. */
  let home: string | undefined;
  return {
    bring,
    bringBatch,
    /** Stores that it may write to, and how files of this node get there. */
    stores: places.filter(({ transport }) => transport === "s3"),
    /** Files of this node that lie together. */
    packed: transfers.packed,
    put: (request: Parameters<RunningTransfers["put"]>[0]) => transfers.put(request),
    atOnce: plan.atOnce,
    /** A copy of games that was ordered has come. Where several ways brought files together, it is the main process that has the original. */
    arrived({ sha256, games, config_key: configKey }: Order, tries: readonly TransferTry[]): void {
      const givers = tries.filter(({ files }) => files > 0);
      const from = (givers.length === 1 ? nodeIn(givers[0]!.place) : null) ?? home;
      if (games > 0 && from !== undefined) news.noteArrived({ sha256, games, configKey, from });
    },
    /** What the main process is told of transfers; who was turned away is told once. */
    async told(): Promise<Told> {
      const { ways, isParked } = await transfers.states();
      const isServing = known !== "" && (transfers.port !== null || isParked);
      const about = servingWords(plan, tls);
      return {
        serving: isServing ? { ...about, port: transfers.port, relayed: isParked } : null,
        ways: book.shown(ways),
        ...links.told(),
        refused: refused.splice(0),
      };
    },
    /** What it says of tickets and of the relay. */
    heard(told: Office): void {
      if (told === null) return;
      transfers.setAhead(told.server_time - clock.now());
      home = told.node_id;
      const { url, trust } = office();
      const said = JSON.stringify([told.ticket_key, told.home, url.origin]);
      if (said === known) return;
      known = said;
      const { home: door, ticket_key } = told;
      const relay =
        door === null || !plan.relay
          ? null
          : { url: `${door.tls ? "https" : "http"}://${url.hostname}:${door.port}`, ...trust };
      transfers.setCoordinator(nodeKeyOf(ticket_key).key, relay);
    },
    close: () => transfers.close(),
  };
}

export type NodeTransfersRunning = Awaited<ReturnType<typeof startNodeTransfers>>;
