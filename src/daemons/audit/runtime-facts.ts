import { type ConsumerStatus, consumerStatus, type EventRouter, type Store } from "../../router/index.ts";
import { consumerOf, unitNameOf } from "../unit/consumer-name.ts";
import type { Registry } from "../unit/registry.ts";
import { type Finding, finding } from "./finding.ts";

/** What a running system, or its data folder, shows of the wiring. */
export interface RuntimeFacts {
  readonly nodeId: string;
  /** How often each event was seen, by who said it. */
  readonly seen: readonly { readonly event_type: string; readonly source: string; readonly times: number }[];
  readonly consumers: readonly Pick<ConsumerStatus, "consumer" | "kind" | "expired_at" | "event_types">[];
  /** Units that are kept from running on purpose: one that was so from the beginning has never subscribed. */
  readonly held: readonly string[];
}

/** The audit looks at so many of the journal's last rows: enough to see what happens, and bounded. */
const LOOK_BACK = 100_000;

export async function runtimeFacts(
  store: Pick<Store, "read" | "scan">,
  router: Pick<EventRouter, "nodeId"> & { readonly history?: EventRouter["history"] },
  held: readonly string[] = [],
): Promise<RuntimeFacts> {
  const journal = await store.scan<{ event_type: string; source: string; times: number }>(
    `SELECT event_type, source, count(*) AS times FROM events
     WHERE seq > (SELECT coalesce(max(seq), 0) FROM events) - ? GROUP BY event_type, source ORDER BY 1, 2`,
    [LOOK_BACK],
  );
  const passing = new Map<string, { event_type: string; source: string; times: number }>();
  for (const { eventType, source, seq } of router.history?.() ?? []) {
    if (seq !== null) continue;
    const key = `${eventType}/${source}`;
    passing.set(key, { event_type: eventType, source, times: (passing.get(key)?.times ?? 0) + 1 });
  }
  return { nodeId: router.nodeId, seen: [...journal, ...passing.values()], consumers: consumerStatus(store), held };
}

/** Where what runs is not what was declared. */
export function againstFacts({ units, parts, catalog }: Registry, facts: RuntimeFacts): Finding[] {
  const seen = new Set(facts.seen.map(({ event_type }) => event_type));
  const emits = new Map([...units, ...parts].map(({ name, emits }) => [name, new Set<string>(emits)]));
  const found: Finding[] = [];
  const add = (...what: Parameters<typeof finding>) => found.push(finding(...what));

  for (const event of new Set([...emits.values()].flatMap((of) => [...of])))
    if (!seen.has(event))
      add(
        "never_seen",
        "low",
        { event, units: [...emits].filter(([, of]) => of.has(event)).map(([name]) => name), fails: false },
        "It is declared and was not seen at run time.",
        "Nothing, if its cause has not come up; otherwise look at its emitter.",
      );
  for (const { event_type, source, times } of facts.seen) {
    const declared = emits.get(unitNameOf(source));
    if (declared !== undefined && !declared.has(event_type))
      add(
        "undeclared_emission",
        "high",
        { event: event_type, units: [unitNameOf(source)] },
        `'${source}' said it ${times} times and does not declare it.`,
        "Declare it, or find out who speaks in its name.",
      );
  }
  const stored = new Map(facts.consumers.map((consumer) => [consumer.consumer, consumer]));
  const expected = new Set<string>();
  for (const unit of units) {
    if (unit.placement === "each-process") continue;
    const consumer = consumerOf(unit, facts.nodeId);
    const owed = unit.hears.filter((event) => catalog.row(event)?.class === "durable");
    if (owed.length === 0) continue;
    expected.add(consumer);
    if (facts.held.includes(unit.name)) continue;
    const has = stored.get(consumer);
    const types = new Set(has?.expired_at === null ? has.event_types.split(",") : []);
    const missing = owed.filter((event) => !types.has(event));
    if (missing.length > 0)
      add(
        "not_subscribed",
        "high",
        { units: [unit.name] },
        `It is owed nothing of ${missing.slice(0, 5).join(", ")}${missing.length > 5 ? ` and ${missing.length - 5} more` : ""}.`,
        "Start it; if it runs, look in the log for why it could not subscribe.",
      );
  }
  // Consumers of other nodes are theirs to judge.
  const isHere = (consumer: string) => !consumer.includes("@") || consumer.endsWith(`@${facts.nodeId}`);
  for (const { consumer, kind, expired_at, event_types } of facts.consumers) {
    const active = kind === "unit" && expired_at === null && event_types !== "";
    if (active && isHere(consumer) && !expected.has(consumer))
      add(
        "stray_consumer",
        "medium",
        { units: [consumer], fails: false },
        "The journal keeps events for it, and no unit here has this name.",
        "Start the unit again, or forget the consumer; it expires by itself when it stays away.",
      );
  }
  return found;
}
