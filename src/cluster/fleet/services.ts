import { createIds, type Edges, OperatingError } from "../../kernel/index.ts";
import { createWriteSet, type Operation, type Store } from "../../router/index.ts";
import {
  offerKey,
  type ProviderRecord,
  rankOffers,
  type Speeds,
  speedAt,
  takeOffers,
  type Wish,
  type WorkMix,
} from "./choose.ts";
import type { FleetNode, RowView } from "./decide.ts";
import { type Foreseen, slotsOf } from "./foreseen.ts";
import { createInventory, type Inventory, type Priced } from "./inventory.ts";
import { newFleetName, newLabel } from "./label.ts";
import { machineLimits } from "./limits.ts";
import { freshMachine, type MachineRow } from "./machine.ts";
import { intendMachines, machinesSince, nameFleet, storedFleetName } from "./machine-rows.ts";
import type { NodeStart } from "./node-start.ts";
import type { MachineProvider } from "./provider.port.ts";
import type { FleetSettings } from "./settings.ts";
import { providerRecords } from "./state.ts";

/** What a node holds, and what it could have: what decides whether it may go. */
export interface Burden {
  /** Jobs in its hands. */
  readonly held: number;
  /** Jobs that wait and that it could take. */
  readonly fitting: number;
  /** Files that lie nowhere else. */
  readonly alone: number;
  /** Results and events that the coordinator does not have yet. */
  readonly unsent: number;
}

/** What waits for machines. */
export interface Demand {
  /** Jobs that could be claimed now. */
  readonly waiting: number;
  /** Places for jobs that are free on nodes that are there. */
  readonly free: number;
  /** What the next hour brings; undefined where nobody looks ahead. */
  readonly foreseen?: Foreseen | undefined;
}

export interface FleetSurroundings extends Edges {
  readonly settings: FleetSettings;
  readonly store: Store;
  readonly providers: readonly MachineProvider[];
  /** Nodes, with the name of the token that each joined with. */
  readonly nodes: () => readonly FleetNode[];
  /** Gives a node no more work, and lets it give back what it has. */
  readonly drain: (nodeId: string, reason: string) => Promise<void>;
  readonly burden: (nodeId: string) => Promise<Burden>;
  readonly demand: () => Demand;
  /** Games that a node played in the last day. */
  readonly games: (nodeId: string) => Promise<number>;
  /** The work that is there, by kind, in any measure of time. */
  readonly mix: () => WorkMix;
  /** How many times as long as usual jobs of a kind took on a node, or all of its jobs; undefined while too few are known. */
  readonly pace: (nodeId: string, kind: string | undefined) => number | undefined;
  /** Where a machine of this label joins, and with what: good for one machine, until its time is over. */
  readonly invite: (label: string, expiresMs: number) => Promise<Invitation>;
}

export interface Invitation extends Pick<NodeStart, "url" | "fingerprint" | "token" | "program"> {
  /** Other machines cannot reach it. */
  readonly loopback: boolean;
}

const MAX_BURDENS = 10_000;

/** Tags of every rented machine: what lies there alone counts as no copy. */
const RENTED_TAGS = ["rented"];

export interface Purchase {
  readonly rows: readonly MachineRow[];
  /** Why not all of them; undefined if all. */
  readonly refusal: OperatingError | undefined;
}

export function createFleetServices(around: FleetSurroundings) {
  const { settings, store, clock, random, log, providers } = around;
  const ids = createIds(clock, random);
  const inventory: Inventory = createInventory(providers, clock, log);
  /** What was last known of each node: for those who cannot wait. */
  const burdens = new Map<string, Burden>();
  const burden = async (nodeId: string): Promise<Burden> => {
    const found = await around.burden(nodeId);
    if (burdens.size > MAX_BURDENS) burdens.clear();
    burdens.set(nodeId, found);
    return found;
  };
  const nodesByLabel = (): ReadonlyMap<string, FleetNode> =>
    new Map(around.nodes().map((node) => [node.joined_by, node]));

  /** The fleet's name; given to it when it is first needed. */
  const name = async (): Promise<string> => {
    const known = storedFleetName(store);
    if (known !== undefined) return known;
    const [given] = await store.commit([nameFleet({ name: newFleetName(random) })]);
    return given;
  };

  /** Of each offer, what its machines showed lately: also those that are gone by now. */
  const speeds = (): Speeds => {
    const mix = around.mix();
    const measured = new Map<string, number[]>();
    for (const row of machinesSince(store, clock.now() - machineLimits.measuredBackMs, machineLimits.measured)) {
      const { node_id, provider, offer } = row;
      const speed = node_id === null ? undefined : speedAt(slotsOf(row), mix, (kind) => around.pace(node_id, kind));
      const key = offerKey({ provider, offer_id: (JSON.parse(offer) as Priced).offer_id });
      if (speed !== undefined) measured.set(key, [...(measured.get(key) ?? []), speed]);
    }
    return new Map([...measured].map(([key, all]) => [key, all.toSorted((a, b) => a - b)[all.length >> 1]!]));
  };

  const records = (): ReadonlyMap<string, ProviderRecord> => new Map(createWriteSet(store).list(providerRecords));
  const wishOf = ({ provider = null, minGpus = 0 }: Partial<Pick<Wish, "provider" | "minGpus">>): Wish => {
    const { minCpus, maxPriceUsdHour, regions } = settings;
    return { minCpus, minGpus: Math.max(minGpus, settings.minGpus), maxPriceUsdHour, regions, provider };
  };

  /** What would be rented, best first. */
  const choose = async (
    count: number,
    wanted: Partial<Pick<Wish, "provider" | "minGpus">>,
    signal: AbortSignal,
  ): Promise<Priced[]> => {
    if (wanted.provider != null) inventory.provider(wanted.provider);
    const offers = await inventory.offers(signal);
    return takeOffers(rankOffers(offers, wishOf(wanted), records(), speeds(), clock.now()), count);
  };

  const intentOf = (fleet: string, offer: Priced, by: string, reason: string): MachineRow => {
    const { provider, ...bare } = offer;
    const now = clock.now();
    return freshMachine(
      {
        label: newLabel(fleet, ids),
        provider,
        offer: JSON.stringify(bare),
        price_usd_hour: offer.price_usd_hour,
        billing_step_ms: inventory.provider(provider).billingStepMs,
        intended_by: by,
        reason,
        deadline_at: now + settings.bootMs,
      },
      now,
    );
  };
  const intending = (row: MachineRow): Operation =>
    intendMachines({
      rows: [row],
      budget: settings.budget,
      maxMachines: settings.max,
      maxOfProvider: settings.max,
      now: clock.now(),
    });

  return {
    ...around,
    inventory,
    burden,
    lastBurden: (nodeId: string): Burden | undefined => burdens.get(nodeId),
    name,
    nodesByLabel,
    choose,
    wishOf,
    records,
    /** All that is known of a row. */
    view(row: MachineRow, nodes = nodesByLabel()): RowView {
      return { row, listing: inventory.listing(row.provider), node: nodes.get(row.label), now: clock.now() };
    },
    /**
     * Writes down what shall be rented, one after the other, until the money or the room is used up. Nobody is asked for it yet:
     * that is the provisioner's.
     */
    async intend(offers: readonly Priced[], by: string, reason: string): Promise<Purchase> {
      const fleet = await name();
      const rows: MachineRow[] = [];
      for (const offer of offers) {
        const row = intentOf(fleet, offer, by, reason);
        try {
          await store.commit([intending(row)]);
          rows.push(row);
        } catch (thrown) {
          if (thrown instanceof OperatingError && thrown.kind === "conflict") return { rows, refusal: thrown };
          throw thrown;
        }
      }
      return { rows, refusal: undefined };
    },
    /** What a machine is told when it is made. */
    async startOf(row: MachineRow): Promise<NodeStart> {
      const { deadline_at, label, provider } = row;
      const { loopback, ...invited } = await around.invite(label, Math.max(1_000, deadline_at - clock.now()));
      if (loopback && inventory.provider(provider).isRemote)
        throw OperatingError.conflict(
          "COORDINATOR_NOT_REACHABLE",
          `machines at ${provider} cannot reach this coordinator: it listens only on this machine`,
          { hint: "Set RINGRIFT_HOST and a certificate (docs/42-nodes.md)." },
        );
      return { ...invited, label, tags: RENTED_TAGS, deadManMs: settings.deadManMs };
    },
    close: () => inventory.close(),
  };
}

/** All that the fleet keeps while a process runs. Its units, and the surfaces, take it as it is. */
export type FleetServices = ReturnType<typeof createFleetServices>;
