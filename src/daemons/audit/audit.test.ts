import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { type UnitWorld, unitWorld } from "../../../test/fixtures/unit-world.ts";
import { createCatalog, defineEvents, type Rows } from "../../events/index.ts";
import { defineTable } from "../../router/index.ts";
import type { Registry } from "../unit/registry.ts";
import { unitsFor } from "../unit/shape.ts";
import { type AuditReport, auditWiring } from "./audit.ts";
import { printAudit, table, wrap } from "./print.ts";
import { recordWiring } from "./recorded-wiring.ts";
import { runtimeFacts } from "./runtime-facts.ts";

const rows = defineEvents("test", {
  SAID: { about: "Said.", class: "durable", orderKey: null, payload: { n: z.number() } },
  BEATEN: { about: "A beat.", class: "volatile", orderKey: null, payload: {} },
  NEAR: { about: "Near.", class: "process", orderKey: null, payload: {} },
  VITAL: { about: "Vital.", class: "durable", orderKey: null, payload: {}, critical: true },
  LATER: { about: "Later.", class: "durable", orderKey: null, payload: {}, provisional: true },
});
const { defineCoordinator, defineDaemon, definePart } = unitsFor<Rows>();
const base = { layer: 1, placement: "leader" } as const;
const hearing = (name: string, ...events: string[]) =>
  defineCoordinator({ ...base, name, emits: [], on: Object.fromEntries(events.map((event) => [event, () => {}])) });
const mouth = definePart({ name: "mouth", placement: "leader", emits: ["SAID", "BEATEN", "NEAR", "VITAL"] });
const ear = hearing("ear", "SAID", "BEATEN", "NEAR", "VITAL");
const registry = (change: Partial<Registry<Rows>> = {}): Registry<Rows> => ({
  catalog: createCatalog<Rows>(rows),
  units: [ear],
  parts: [mouth],
  ingress: [],
  excused: {},
  delegations: [],
  ...change,
});
const kinds = ({ findings }: AuditReport) =>
  findings.map(({ kind, severity, event, units }) => `${severity} ${kind} ${event ?? units.join("+")}`);

describe("the audit", () => {
  test("passes sound wiring, and counts the rows that wait for their units", () => {
    const report = auditWiring(registry());
    expect(report).toMatchObject({ ok: true, exit_code: 0, status: "HEALTHY", open: { test: 1 } });
    expect(report.totals).toMatchObject({ events: 5, well_connected: 4, open: 1, events_staying: 1, subscriptions: 4 });
  });

  test("fails on orphans, as badly as the promise about the event is strong", () => {
    const report = auditWiring(registry({ units: [hearing("ear", "LATER")], ingress: ["LATER"] }));
    expect(report).toMatchObject({ ok: false, exit_code: 1, status: "BROKEN" });
    expect(kinds(report)).toEqual([
      "critical orphan VITAL",
      "high orphan SAID",
      "medium orphan BEATEN",
      "low orphan NEAR",
    ]);
  });

  test("fails on dead subscriptions and on strict rows that nobody emits", () => {
    const report = auditWiring(registry({ parts: [{ ...mouth, emits: ["BEATEN", "NEAR", "VITAL"] }] }));
    expect(kinds(report)).toEqual(["high dead_subscription SAID", "high strict_unemitted SAID"]);
    expect(report.layers[0]?.units[0]).toMatchObject({ name: "ear", ok: false });
  });

  test("a unit that only hears itself hears nobody, but its siblings on other nodes count", () => {
    const alone = { ...hearing("alone", "SAID"), emits: ["SAID"] };
    const parts = [{ ...mouth, emits: [] }];
    const catalog = createCatalog<Rows>({ SAID: rows.SAID });
    expect(kinds(auditWiring(registry({ catalog, units: [alone], parts })))).toEqual([
      "high orphan SAID",
      "high dead_subscription SAID",
    ]);
    const everywhere = { ...alone, placement: "each-node" as const };
    expect(auditWiring(registry({ catalog, units: [everywhere], parts })).findings).toEqual([]);
  });

  test("a written reason excuses, an empty one does not, and one that excuses nothing has to go", () => {
    const silent = { units: [hearing("ear", "BEATEN", "NEAR", "VITAL")] };
    const excused = auditWiring(registry({ ...silent, excused: { orphans: { SAID: "people read it" } } }));
    expect(excused).toMatchObject({ ok: true, status: "MOSTLY HEALTHY" });
    expect(excused.findings).toMatchObject([{ kind: "orphan", event: "SAID", excuse: "people read it" }]);
    expect(auditWiring(registry({ ...silent, excused: { orphans: { SAID: " " } } })).ok).toBe(false);
    expect(kinds(auditWiring(registry({ excused: { deadSubscriptions: { SAID: "long gone" } } })))).toEqual([
      "medium stale_excuse SAID",
    ]);
  });

  test("an excuse that names somebody who is to come holds until that one comes, and no longer", () => {
    const units = [hearing("ear", "BEATEN", "NEAR", "VITAL")];
    const parts = [{ ...mouth, unheard: { SAID: { by: "feedback_loop" } } } as const];
    expect(auditWiring(registry({ units, parts }))).toMatchObject({ ok: true, totals: { stale_excuses: 0 } });
    const came = auditWiring(registry({ units: [...units, hearing("feedback_loop", "VITAL")], parts }));
    expect(came).toMatchObject({ ok: false, totals: { stale_excuses: 1 } });
    expect(came.findings.filter(({ kind }) => kind === "stale_excuse")).toMatchObject([
      { event: "SAID", units: ["mouth"], message: expect.stringContaining("'feedback_loop', which exists") },
    ]);
    const awaiting = { ...hearing("late", "LATER"), awaits: { LATER: "mouth" } };
    const silent = auditWiring(registry({ units: [ear, awaiting as never] }));
    expect(silent.findings.filter(({ kind }) => kind === "stale_excuse")).toMatchObject([
      { event: "LATER", units: ["late"], message: expect.stringContaining("'mouth', which exists") },
    ]);
    const outside = [{ ...mouth, unheard: { SAID: { outside: "people read it" } } }];
    expect(auditWiring(registry({ units, parts: outside })).findings).toMatchObject([
      { kind: "orphan", excuse: "for those outside alone: people read it" },
    ]);
  });

  test("finds what a class keeps from reaching its consumer", () => {
    const placed = (placement: "leader" | "each-node" | "each-process") =>
      kinds(auditWiring(registry({ parts: [{ ...mouth, placement }] })));
    expect(placed("leader")).toEqual([]);
    expect(placed("each-node")).toEqual(["high unbridged NEAR"]);
    expect(placed("each-process")).toEqual(["high unbridged NEAR"]);
    const local = { ...ear, placement: "each-process" as const };
    expect(kinds(auditWiring(registry({ units: [local], ingress: ["NEAR"] })))).toEqual(["high unbridged NEAR"]);
  });

  test("finds provisional rows that have an emitter", () => {
    const parts = [{ ...mouth, emits: [...mouth.emits, "LATER"] }];
    expect(kinds(auditWiring(registry({ parts, units: [ear, hearing("late", "LATER")] })))).toEqual([
      "medium provisional_emitted LATER",
    ]);
  });

  test("finds names that the catalog does not hold and says what may be meant", () => {
    const report = auditWiring(registry({ units: [ear, hearing("typo", "SAIDD")], ingress: ["SAIDD"] }));
    expect(report.findings).toMatchObject([{ kind: "unknown_event", event: "SAIDD", units: ["(outside)", "typo"] }]);
    expect(report.findings[0]?.message).toContain("Did you mean SAID?");
  });

  test("finds names, aliases and tables that are given twice", () => {
    const tables = { shared: defineTable("shared") };
    const owner = (name: string, alias: string) =>
      defineCoordinator({ ...base, name, alsoKnownAs: [alias], emits: [], state: { tables }, on: { SAID() {} } });
    expect(
      kinds(auditWiring(registry({ units: [ear, owner("a", "A"), owner("b", "A"), hearing("ear", "SAID")] }))),
    ).toEqual(["critical duplicate_name ear", "high shared_table a+b", "medium duplicate_alias a+b"]);
  });

  test("finds needs that cannot be met in the order of the start", () => {
    const unit = (name: string, layer: number, ...dependsOn: string[]) => ({
      ...hearing(name, "SAID"),
      layer,
      dependsOn,
    });
    expect(
      kinds(
        auditWiring(
          registry({ units: [ear, unit("a", 1, "b"), unit("b", 1, "a"), unit("c", 1, "d", "e"), unit("e", 2)] }),
        ),
      ),
    ).toEqual(["high dependency_circle a+b", "high missing_dependency c", "medium layer_order c"]);
  });

  test("finds coordinators that hear nothing, and placeholders that do", () => {
    const idle = defineCoordinator({ ...base, name: "idle", emits: [] });
    const skipped = defineCoordinator({ ...base, name: "skipped", pattern: "SKIP", emits: [] });
    const busy = defineCoordinator({ ...base, name: "busy", pattern: "SKIP", emits: [], on: { SAID() {} } });
    const loop = defineDaemon({ ...base, name: "loop", emits: [], loop: { everyMs: 1, tick() {} } });
    expect(kinds(auditWiring(registry({ units: [ear, idle, skipped, busy, loop] })))).toEqual([
      "medium no_subscriptions idle",
      "medium busy_placeholder busy",
    ]);
  });

  test("checks that whoever an event is delegated to hears it", () => {
    const delegate = defineCoordinator({ ...base, name: "proxy", pattern: "DELEGATE", delegatesTo: "ear", emits: [] });
    const good = { event: "SAID", to: "ear", why: "it knows" };
    expect(auditWiring(registry({ units: [ear, delegate], delegations: [good] })).findings).toEqual([]);
    const lost = { ...delegate, delegatesTo: "nobody" };
    const wrong = [good, { ...good, to: "nobody" }, { ...good, event: "LATER" }];
    expect(kinds(auditWiring(registry({ units: [ear, lost], delegations: wrong })))).toEqual([
      "high broken_delegation SAID",
      "high broken_delegation LATER",
      "high broken_delegation proxy",
    ]);
  });

  test("remembers ties that were printed, also where others still hear the event", () => {
    const units = [ear, hearing("other", "SAID")];
    const recorded = recordWiring(registry({ units }));
    expect(auditWiring(registry({ units }), { recorded }).findings).toEqual([]);
    const report = auditWiring(registry({ units: [ear] }), { recorded });
    expect(report).toMatchObject({ ok: false, findings: [{ kind: "lost_tie", event: "SAID", units: ["other"] }] });
  });
});

describe("facts of a running system", () => {
  const open: UnitWorld<Rows>[] = [];
  afterEach(async () => {
    for (const world of open.splice(0)) await world.close();
  });
  const world = () => {
    const opened = unitWorld<Rows>(rows);
    open.push(opened);
    return opened;
  };

  test("show what was never seen, and nothing else when all is as declared", async () => {
    const w = world();
    await w.driven(w.runtime([ear]).start());
    await w.router.publish("SAID", { n: 1 }, { source: "mouth" });
    await w.router.publish("BEATEN", {}, { source: "mouth" });
    await w.pass(10);
    const report = auditWiring(registry(), { facts: await runtimeFacts(w.store, w.router) });
    expect(kinds(report)).toEqual(["low never_seen NEAR", "low never_seen VITAL"]);
    expect(report).toMatchObject({ ok: true, observed: true });
    expect(printAudit(report)).toContain("2 declared events not seen so far:\n  NEAR, VITAL\n");
  });

  test("show who is not subscribed, who is not declared, and who speaks out of turn", async () => {
    const w = world();
    await w.driven(w.runtime([hearing("ear", "SAID"), hearing("ghost", "SAID")]).start());
    await w.router.publish("LATER", {}, { source: "mouth" });
    const report = auditWiring(registry(), { facts: await runtimeFacts(w.store, w.router) });
    expect(report.ok).toBe(false);
    expect(report.findings.filter(({ kind }) => kind !== "never_seen")).toMatchObject([
      { kind: "undeclared_emission", event: "LATER", units: ["mouth"] },
      { kind: "not_subscribed", units: ["ear"], message: "It is owed nothing of VITAL." },
      { kind: "stray_consumer", units: ["ghost"], fails: false },
    ]);
  });

  test("call no unit unsubscribed that is kept from running on purpose", async () => {
    const w = world();
    const judged = async (held: readonly string[]) =>
      auditWiring(registry(), { facts: await runtimeFacts(w.store, w.router, held) }).findings.some(
        ({ kind }) => kind === "not_subscribed",
      );
    expect([await judged([]), await judged(["ear"])]).toEqual([true, false]);
  });
});

describe("the printed report", () => {
  test("has the sections in the order that operators know, and says what to do", () => {
    const text = printAudit(auditWiring(registry({ units: [hearing("ear", "BEATEN", "NEAR", "VITAL")] })));
    const titles = [
      "Summary",
      "1. Units by layer",
      "2. Sub",
      "3. Events",
      "4. Orphan",
      "5. Dead",
      "6. Rec",
      "7. Del",
      "8. At",
    ];
    const places = titles.map((title) => text.indexOf(`\n${title}`));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(places[0]).toBeGreaterThan(0);
    expect(text).toContain("Overall status: BROKEN. One finding has to be settled.");
    expect(text).toContain(
      "Immediate actions (critical and high)\n  - SAID: mouth emits it and nobody hears it. Give it",
    );
  });

  test("wraps at words, cuts words that are too long, and aligns columns", () => {
    expect(wrap("one two three", "  ", 9)).toEqual(["  one two", "  three"]);
    expect(wrap("abcdefgh", "", 3)).toEqual(["abc", "def", "gh"]);
    expect(table(["A", "Bee"], [["long", "x"]])).toEqual(["  A     Bee", "  ----  ---", "  long  x"]);
  });
});
