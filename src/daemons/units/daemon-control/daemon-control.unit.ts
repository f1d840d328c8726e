import { messageOf } from "../../../kernel/index.ts";
import { defineTable } from "../../../router/index.ts";
import type { UnitHealth } from "../../health.ts";
import { SHOW_CONDITION_MS } from "../../limits.ts";
import type { DaemonsServices } from "../../services.ts";
import { type ContextOf, defineCoordinator, onEach, type ReadRows, type Wiring } from "../../unit/shape.ts";
import {
  CONTROL_EVENTS,
  type ControlEvent,
  type Here,
  type Reaction,
  reactionsTo,
  type Target,
  unitsOf,
} from "./decide.ts";

const wiring = {
  name: "daemon_control",
  layer: 1,
  placement: "each-node",
  profiles: ["coordinator"],
  alsoKnownAs: ["DaemonManager (listener)", "EventSubscriptionRegistry (daemon delegation)"],
  dependsOn: ["event_router"],
  emits: [],
} as const satisfies Wiring;

/** Reasons for which daemons are held, by key. They are the truth; the supervisor is brought in line with them. */
const holds = defineTable<{ target: Target; reason: string; since: number }>("control_holds");
const shown = defineTable<{ message: string; since: number; seenAt: number }>("control_conditions");
/** The newest epoch of each cluster: a word about an older leader is no news. */
const epochs = defineTable<{ epoch: number }>("control_epochs");

interface Standing {
  readonly holds: Map<string, { readonly target: Target; readonly reason: string }>;
  readonly shown: Map<string, { readonly message: string; readonly since: number; readonly seenAt: number }>;
}

type Context = ContextOf<typeof wiring, Standing>;

/**
 * Turns cluster events into requests to the one supervisor: which daemons pause for which reason, and when each reason is
 * over. The table is in `decide.ts`; here its decisions become rows, and then holds.
 */
export const daemonControl = (
  { router, supervisor }: Pick<DaemonsServices, "supervisor"> & { readonly router: Here },
  leaderUnits: () => ReadonlySet<string> = () => new Set(),
) => {
  const { nodeId } = router;
  /** Makes the supervisor's holds those of the rows. Doing it again changes nothing, so a crash in between costs nothing. */
  const align = (standing: Standing): void => {
    if (supervisor === undefined) return;
    const existing = supervisor.holds();
    const wanted = new Map([...existing.keys()].map((name) => [name, new Map<string, string>()]));
    for (const [key, { target, reason }] of standing.holds)
      for (const name of unitsOf(target, existing.keys(), leaderUnits())) wanted.get(name)!.set(key, reason);
    for (const [name, reasons] of wanted) {
      for (const { hold, actor } of existing.get(name)!)
        if (actor === wiring.name && !reasons.has(hold)) supervisor.resume(name, { hold, actor: wiring.name });
      for (const [hold, reason] of reasons) supervisor.pause(name, reason, { hold, actor: wiring.name });
    }
  };

  const apply = (reactions: readonly Reaction[], { rows, cache, now, afterCommit, log }: Context): void => {
    for (const reaction of reactions) {
      const { key } = reaction;
      if (reaction.kind === "hold") {
        const { target, reason } = reaction;
        rows.put(holds, key, { target, reason, since: rows.get(holds, key)?.since ?? now });
        afterCommit(() => void cache.holds.set(key, { target, reason }));
      } else if (reaction.kind === "show") {
        const row = { message: reaction.message, since: rows.get(shown, key)?.since ?? now, seenAt: now };
        rows.put(shown, key, row);
        afterCommit(() => void cache.shown.set(key, row));
      } else {
        if (cache.holds.has(key)) rows.delete(holds, key);
        if (cache.shown.has(key)) rows.delete(shown, key);
        afterCommit(() => {
          cache.holds.delete(key);
          cache.shown.delete(key);
        });
      }
    }
    for (const [key, { seenAt }] of cache.shown)
      if (now - seenAt > SHOW_CONDITION_MS && !reactions.some((reaction) => reaction.key === key)) {
        rows.delete(shown, key);
        afterCommit(() => void cache.shown.delete(key));
      }
    afterCommit(() => {
      try {
        align(cache);
      } catch (thrown) {
        log.error("the supervisor could not be notified", { error: messageOf(thrown) });
      }
    });
  };

  /** Whether it speaks of a leader before the one that is known. */
  const isStale = (event: ControlEvent, { rows }: Context): boolean => {
    if (!event.eventType.startsWith("LEADER_")) return false;
    const { cluster_id, epoch } = event.payload as { cluster_id: string; epoch: number };
    const known = rows.get(epochs, cluster_id)?.epoch ?? -1;
    if (epoch > known) rows.put(epochs, cluster_id, { epoch });
    return epoch < known;
  };

  return defineCoordinator({
    ...wiring,
    state: {
      tables: { holds, shown, epochs },
      cache(rows: ReadRows): Standing {
        const standing = { holds: new Map(rows.list(holds)), shown: new Map(rows.list(shown)) };
        // Before any daemon starts: what was decided in an earlier process holds for units that are new in this one, too.
        align(standing);
        return standing;
      },
    },
    on: onEach(CONTROL_EVENTS, (event, context: Context) => {
      if (isStale(event as ControlEvent, context)) return;
      const reactions = reactionsTo(event as ControlEvent, { nodeId });
      // Most starts and stops concern nothing that is held or shown: those cost no rows.
      if (
        reactions.every(
          ({ kind, key }) => kind === "lift" && !context.cache.holds.has(key) && !context.cache.shown.has(key),
        )
      )
        return;
      apply(reactions, context);
    }),
    health: ({ cache, now }): UnitHealth => {
      const conditions = [...cache.shown].filter(([, { seenAt }]) => now - seenAt <= SHOW_CONDITION_MS);
      return {
        status: "running",
        message: [...cache.holds.values()].map(({ reason }) => reason).join("; "),
        details: {
          holds: [...cache.holds].map(([key, { target, reason }]) => ({ key, target, reason })),
          conditions: conditions.map(([key, { message, since }]) => ({ key, message, since: since / 1_000 })),
        },
      };
    },
  });
};
