/** The ledger: one row for each machine that was ever wanted, written before anybody is asked for it. */
import { OperatingError } from "../../kernel/index.ts";
import { insertRow } from "../../router/sql-rows.ts";
import { defineOperation, type Migration, type Store, type Transaction } from "../../router/store.port.ts";
import { type Budget, type BudgetRefusal, refusalOf } from "./budget.ts";
import { isOpen, type LedgerState, OPEN_STATES } from "./ledger-states.ts";
import { machineLimits } from "./limits.ts";
import type { MachineChanges, MachineRow } from "./machine.ts";

export const machineMigration: Migration = {
  id: 1,
  name: "machines from elsewhere",
  sql: `
    CREATE TABLE fleet_machines (
      label TEXT PRIMARY KEY,
      provider TEXT NOT NULL,
      offer TEXT NOT NULL,
      price_usd_hour REAL NOT NULL,
      billing_step_ms REAL NOT NULL,
      state TEXT NOT NULL,
      state_since REAL NOT NULL,
      intended_at REAL NOT NULL,
      intended_by TEXT NOT NULL,
      reason TEXT NOT NULL,
      deadline_at REAL NOT NULL,
      requested_at REAL,
      machine_id TEXT,
      address TEXT,
      seen_at REAL,
      seen_state TEXT,
      missing_since REAL,
      node_id TEXT,
      joined_at REAL,
      idle_since REAL,
      return_reason TEXT,
      return_by TEXT,
      forced INTEGER NOT NULL,
      terminated_at REAL,
      tried_at REAL,
      terminate_tries INTEGER NOT NULL,
      ended_at REAL,
      error TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX fleet_machines_by_state ON fleet_machines (state);
    CREATE INDEX fleet_machines_by_end ON fleet_machines (ended_at);
    CREATE TABLE fleet_identity (id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL) STRICT;
  `,
};

/** Gives the fleet its name, once for the life of the database. */
export const nameFleet = defineOperation<{ name: string }, string>("fleet.name", (tx, { name }) => {
  tx.run("INSERT INTO fleet_identity (id, name) VALUES (1, ?) ON CONFLICT (id) DO NOTHING", name);
  return tx.get<{ name: string }>("SELECT name FROM fleet_identity WHERE id = 1")!.name;
});

export interface Intent {
  readonly rows: readonly MachineRow[];
  readonly budget: Budget;
  /** Machines that may be open at once: of all providers, and of this one. */
  readonly maxMachines: number;
  readonly maxOfProvider: number;
  readonly now: number;
}

const refuse = ({ code, message, hint, details }: BudgetRefusal): never => {
  throw OperatingError.conflict(code, message, { hint, details });
};

/** Rows that cost, or may still cost, something since then. */
const billedRows = (tx: Pick<Transaction, "all">, since: number): MachineRow[] =>
  tx.all<MachineRow>("SELECT * FROM fleet_machines WHERE ended_at IS NULL OR ended_at >= ? ORDER BY label", since);

/**
 * Writes down what shall be rented, if budget and limits allow it: the judgement and the row are one commit, so that two who
 * buy at once never spend the same money.
 */
export const intendMachines = defineOperation<Intent, void>("fleet.intend", (tx, intent) => {
  const { rows, budget, maxMachines, maxOfProvider, now } = intent;
  const billed = billedRows(tx, now - machineLimits.billedBackMs);
  for (const row of rows) {
    const open = billed.filter(isOpen);
    const siblings = open.filter(({ provider }) => provider === row.provider);
    if (open.length >= maxMachines || siblings.length >= maxOfProvider)
      throw OperatingError.conflict(
        "FLEET_FULL",
        open.length >= maxMachines
          ? `the fleet has ${open.length} machines, and ${maxMachines} are allowed (fleet.max)`
          : `${row.provider} has ${siblings.length} machines, and ${maxOfProvider} are allowed there`,
        { hint: "Return machines with 'ringrift fleet down', or allow more." },
      );
    const refusal = refusalOf(billed, row.price_usd_hour, budget, now);
    if (refusal !== undefined) refuse(refusal);
    insertRow(tx, "fleet_machines", row);
    billed.push(row);
  }
});

/** A machine that bears our name and that no row knows: the database is older than it. It is ours, and is paid for. */
export const enterMachine = defineOperation<MachineRow, void>("fleet.enter", (tx, row) => {
  insertRow(tx, "fleet_machines", row, "ON CONFLICT (label) DO NOTHING");
});

interface MachineChange {
  readonly label: string;
  /** What was decided holds only for a row in this state. */
  readonly from: LedgerState;
  readonly changes: MachineChanges;
}

/** Changes a row that is still as it was when that was decided; refuses otherwise, so that whoever decided looks again. */
export const changeMachine = defineOperation<MachineChange, void>("fleet.change", (tx, { label, from, changes }) => {
  const sets = Object.keys(changes).map((column) => `${column} = ?`);
  const { changes: changed } = tx.run(
    `UPDATE fleet_machines SET ${sets.join(", ")} WHERE label = ? AND state = ?`,
    ...Object.values(changes),
    label,
    from,
  );
  if (changed === 0) throw OperatingError.busy("READ_CONFLICT", `${label} is no longer ${from}`);
});

/** The oldest rows of machines that are long gone make room. */
export const forgetMachines = defineOperation<{ before: number; max: number }, number>(
  "fleet.forget",
  (tx, { before, max }) =>
    tx.run(
      `DELETE FROM fleet_machines WHERE label IN (
         SELECT label FROM fleet_machines WHERE ended_at < ? ORDER BY ended_at LIMIT ?)`,
      before,
      max,
    ).changes,
);

type Reader = Pick<Store, "read">;
const MARKS = OPEN_STATES.map(() => "?").join(", ");

export const openMachines = (store: Reader): MachineRow[] =>
  store.read<MachineRow>(`SELECT * FROM fleet_machines WHERE state IN (${MARKS}) ORDER BY label`, ...OPEN_STATES);

export const machineCalled = (store: Reader, label: string): MachineRow | undefined =>
  store.read<MachineRow>("SELECT * FROM fleet_machines WHERE label = ?", label)[0];

/** Open ones, and those that ended since then, newest first. */
export const machinesSince = (store: Reader, since: number, max: number): MachineRow[] =>
  store.read<MachineRow>(
    "SELECT * FROM fleet_machines WHERE ended_at IS NULL OR ended_at >= ? ORDER BY intended_at DESC, label DESC LIMIT ?",
    since,
    max,
  );

export const storedFleetName = (store: Reader): string | undefined =>
  store.read<{ name: string }>("SELECT name FROM fleet_identity WHERE id = 1")[0]?.name;
