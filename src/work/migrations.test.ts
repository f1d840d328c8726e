import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { EVIDENCE, PLENTY, withWork, workWorld } from "../../test/unit/work/work-world.ts";
import type { SqlValue, Store } from "../router/index.ts";
import { storedNodePolicy } from "./node-policy.ts";
import { applyWork, forgetWork, promoteDue } from "./tables.ts";

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** The tables, and the plan of a statement over them. */
function planner() {
  const db = new DatabaseSync(":memory:");
  open.push(() => db.close());
  for (const { migrations } of withWork) for (const { sql } of migrations) db.exec(sql);
  const planOf = (sql: string): string =>
    (db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]).map(({ detail }) => detail).join("; ");
  return { db, planOf };
}

/** A look at whole tables of jobs, or a sort of what was found. */
const SLOW = /SCAN (work_jobs|j|b|d|work_dependencies|work_inputs)(?! USING)|TEMP B-TREE/;

test("whatever the queue reads goes through an index, however long it is", async () => {
  const texts = new Set<string>();
  const w = workWorld({ lease: { silentMs: 1_000 } });
  open.push(() => w.close());
  // The same store, with every statement of its readers written down.
  const store: Store = {
    ...w.store,
    read: (sql, ...params) => {
      texts.add(sql);
      return w.store.read(sql, ...params);
    },
  };
  const seen = workWorld({ nodePolicy: storedNodePolicy(store) }, store);
  const { queue } = seen;
  const first = await queue.add({ work_type: "selfplay", dedup_key: "k" });
  await queue.add({ work_type: "selfplay", depends_on: [first.work_id], deadline: seen.clock.now() / 1_000 + 60 });
  const [lease] = await queue.claim({ node_id: "a", most: 1, offer: PLENTY });
  await queue.heartbeat(lease!);
  await queue.fail(lease!, { class: "bad_input", error: "x" });
  await queue.retry(first.work_id, { reason: "again" });
  await queue.evict("a", "gone");
  await queue.complete((await queue.claim({ node_id: "a", most: 1, offer: PLENTY }))[0]!, EVIDENCE);
  await queue.reap();
  queue.load();
  queue.held("a");
  queue.urgent(0, 3);
  const { planOf } = planner();
  const slow = [...texts]
    .filter((sql) => sql.includes("work_"))
    .map((sql) => ({ sql, plan: planOf(sql) }))
    // When a process starts it counts once.
    .filter(({ sql, plan }) => SLOW.test(plan) && !sql.includes("AS newest") && !sql.includes("GROUP BY"));
  expect(texts.size).toBeGreaterThan(15);
  expect(slow).toEqual([]);
});

test("whatever the writer does goes through an index", () => {
  const { db, planOf } = planner();
  const texts = new Set<string>();
  const note = (sql: string) => {
    texts.add(sql);
    return db.prepare(sql);
  };
  const values = (params: SqlValue[]) => params as SQLInputValue[];
  const tx = {
    run: (sql: string, ...params: SqlValue[]) => {
      const { changes, lastInsertRowid } = note(sql).run(...values(params));
      return { changes: Number(changes), lastId: Number(lastInsertRowid) };
    },
    get: <T>(sql: string, ...params: SqlValue[]) => note(sql).get(...values(params)) as T | undefined,
    all: <T>(sql: string, ...params: SqlValue[]) => note(sql).all(...values(params)) as T[],
  };
  const lane = {
    lane: 1,
    signature: "x",
    work_type: "selfplay",
    config_key: null,
    needs: "{}",
    targets: null,
    excluded: "[]",
  };
  const row = (seq: number) => [seq, 1, 1, "pending", 1, 1_000, 3, 0, 0, null, null, null, null];
  const nothing = { at: 0, checks: [], lanes: [], added: [], updates: [], completed: [] };
  const added = [
    { row: row(1), payload: "{}" },
    { row: row(2), payload: "{}", dependsOn: [1] },
    { row: row(3), payload: "{}" },
  ];
  applyWork.run(tx, { ...nothing, lanes: [lane], added });
  const done = { columns: ["state", "finished_at"], rows: [["completed", 1, 1, 1]] };
  applyWork.run(tx, { ...nothing, updates: [done], completed: [1], checks: [{ seq: 3, rev: 1 }] });
  promoteDue.run(tx, { at: 5, max: 10 });
  expect(forgetWork.run(tx, { completedBefore: 9, failedBefore: 9, maxFinished: 0, max: 10 })).toEqual({
    forgotten: 1,
  });
  const slow = [...texts].map((sql) => ({ sql, plan: planOf(sql) })).filter(({ plan }) => SLOW.test(plan));
  expect(texts.size).toBeGreaterThan(10);
  expect(slow).toEqual([]);
});
