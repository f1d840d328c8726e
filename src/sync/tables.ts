import { defineStoreModule, type Migration } from "../router/store.port.ts";
import { countProduced, judgeArtifacts, noteDamaged, noteSound, recordArtifacts } from "./artifact-operations.ts";
import {
  askDrop,
  claimOwnCopies,
  confirmCopies,
  forgetHolder,
  noteCopies,
  noteGone,
} from "./copies/copy-operations.ts";
import { invalidateCopies } from "./copies/invalid-operations.ts";
import { beginSync, endSync, forgetSyncs } from "./facade/facade-operations.ts";
import {
  cancelOrders,
  forgetOrders,
  forgetRanks,
  giveUpOrders,
  hastenOrders,
  noteOrders,
  noteTold,
  placeOrders,
  rankOrders,
  rerouteOrders,
  takeOrders,
} from "./orders/order-operations.ts";
import { disownFile, forgetArtifacts, freeArtifacts, noteRemoved, pinArtifacts } from "./retention-operations.ts";
import { beginRun, endRun, noteAnnounced } from "./run-operations.ts";

/** One row for each file by content, its history as edges, who holds it, and what the books need besides. */
const migrations: readonly Migration[] = [
  {
    id: 1,
    name: "artifacts, parents, pins, books, runs",
    sql: `
      CREATE TABLE sync_artifacts (
        seq INTEGER PRIMARY KEY,
        sha256 TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        rows INTEGER NOT NULL,
        games INTEGER NOT NULL,
        counted INTEGER NOT NULL,
        config_key TEXT,
        producer TEXT NOT NULL,
        rules_version TEXT,
        work_id TEXT,
        part TEXT,
        iteration INTEGER,
        state TEXT NOT NULL CHECK (state IN ('in_flight', 'durable', 'rejected', 'quarantined', 'freed')),
        reason TEXT,
        was TEXT,
        created_at INTEGER NOT NULL,
        idle_since INTEGER NOT NULL,
        verified_at INTEGER,
        announced_at INTEGER,
        freed_at INTEGER,
        removed_at INTEGER
      ) STRICT;
      CREATE INDEX sync_of_config ON sync_artifacts (config_key, seq);
      CREATE INDEX sync_of_work ON sync_artifacts (work_id) WHERE work_id IS NOT NULL;
      CREATE INDEX sync_idle ON sync_artifacts (idle_since) WHERE freed_at IS NULL AND state IN ('durable', 'rejected');
      CREATE INDEX sync_leaving ON sync_artifacts (freed_at) WHERE freed_at IS NOT NULL AND removed_at IS NULL;
      CREATE INDEX sync_removed ON sync_artifacts (removed_at) WHERE removed_at IS NOT NULL;
      CREATE INDEX sync_quarantined ON sync_artifacts (idle_since) WHERE state = 'quarantined';
      CREATE INDEX sync_unverified ON sync_artifacts (verified_at) WHERE state IN ('in_flight', 'durable');
      CREATE INDEX sync_in_flight ON sync_artifacts (config_key, idle_since) WHERE state = 'in_flight';

      CREATE TABLE sync_parents (
        sha256 TEXT NOT NULL,
        parent TEXT NOT NULL,
        place INTEGER NOT NULL,
        PRIMARY KEY (sha256, parent)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX sync_children ON sync_parents (parent, sha256);

      CREATE TABLE sync_pins (
        owner TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        PRIMARY KEY (owner, sha256)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX sync_pinned ON sync_pins (sha256);

      -- What jobs said that they had produced, apart from what became of their files.
      CREATE TABLE sync_produced (
        work_id TEXT PRIMARY KEY,
        config_key TEXT NOT NULL,
        producer TEXT NOT NULL,
        games INTEGER NOT NULL,
        at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;

      -- Files that are told under another job now (repeats, and those whose bytes came again after their end), and forgotten
      -- ones of jobs that have others left.
      CREATE TABLE sync_past (
        sha256 TEXT NOT NULL,
        work_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        config_key TEXT NOT NULL,
        producer TEXT NOT NULL,
        counted INTEGER NOT NULL,
        outcome TEXT NOT NULL CHECK (outcome IN ('duplicate', 'rejected', 'quarantined', 'freed')),
        reason TEXT,
        at INTEGER NOT NULL,
        PRIMARY KEY (sha256, work_id)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX sync_past_of_work ON sync_past (work_id);

      -- Running sums of games, so that the books are read without counting rows, and outlive them.
      CREATE TABLE sync_books (
        config_key TEXT NOT NULL,
        producer TEXT NOT NULL,
        account TEXT NOT NULL CHECK (account IN ('produced', 'durable', 'freed', 'in_flight', 'rejected')),
        reason TEXT NOT NULL,
        games INTEGER NOT NULL,
        PRIMARY KEY (config_key, producer, account, reason)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE sync_runs (
        run_id TEXT PRIMARY KEY,
        config_key TEXT NOT NULL,
        -- Of a distribution: the model, and its file.
        model_id TEXT,
        sha256 TEXT,
        state TEXT NOT NULL CHECK (state IN ('running', 'completed', 'failed')),
        attempts INTEGER NOT NULL,
        started_at INTEGER NOT NULL,
        ended_at INTEGER,
        outcome TEXT
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX sync_runs_ended ON sync_runs (ended_at) WHERE ended_at IS NOT NULL;
      CREATE INDEX sync_runs_of_file ON sync_runs (sha256) WHERE sha256 IS NOT NULL;
    `,
  },
  {
    id: 2,
    name: "copies, their locks, and orders for transfers",
    sql: `
      -- A copy of an artifact on a node. It is written when its bytes were hashed there and flushed, and not before.
      CREATE TABLE sync_held (
        node_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('held', 'dropping', 'retired')),
        verified_at INTEGER NOT NULL,
        verified_by TEXT NOT NULL,
        PRIMARY KEY (node_id, seq)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX sync_holders ON sync_held (seq, node_id);
      CREATE INDEX sync_retired ON sync_held (node_id, seq) WHERE state = 'retired';

      -- While the copy of one node goes, the one it goes against stays.
      CREATE TABLE sync_copy_locks (
        seq INTEGER NOT NULL,
        for_node TEXT NOT NULL,
        node_id TEXT NOT NULL,
        until INTEGER NOT NULL,
        PRIMARY KEY (seq, for_node)
      ) STRICT, WITHOUT ROWID;

      -- In which of its lives a node has last said what it holds.
      CREATE TABLE sync_storage (
        node_id TEXT PRIMARY KEY,
        incarnation INTEGER NOT NULL,
        confirmed_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;

      -- Transfers that nodes carry out; what several want is one for each of them.
      CREATE TABLE sync_orders (
        order_id INTEGER PRIMARY KEY AUTOINCREMENT,
        sync_id TEXT NOT NULL,
        node_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        action TEXT NOT NULL CHECK (action IN ('fetch', 'send')),
        urgency INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'done', 'failed', 'cancelled')),
        attempts INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        bytes_done INTEGER NOT NULL,
        max_rate INTEGER,
        reason TEXT NOT NULL,
        error TEXT,
        created_at INTEGER NOT NULL,
        not_before INTEGER NOT NULL,
        began_at INTEGER,
        heard_at INTEGER,
        ended_at INTEGER
      ) STRICT;
      CREATE UNIQUE INDEX sync_orders_once ON sync_orders (sync_id, node_id, seq, action)
        WHERE state IN ('waiting', 'running');
      CREATE INDEX sync_orders_of_node ON sync_orders (node_id, urgency) WHERE state IN ('waiting', 'running');
      CREATE INDEX sync_orders_of_file ON sync_orders (seq) WHERE state IN ('waiting', 'running');
      CREATE INDEX sync_orders_of_sync ON sync_orders (sync_id, state);
      CREATE INDEX sync_orders_ended ON sync_orders (ended_at) WHERE ended_at IS NOT NULL;
    `,
  },
  {
    id: 3,
    name: "syncs that were asked for, and which repairs were told",
    sql: `
      ALTER TABLE sync_orders ADD COLUMN told INTEGER NOT NULL DEFAULT 0;
      CREATE INDEX sync_orders_untold ON sync_orders (order_id)
        WHERE told = 0 AND reason = 'repair' AND state IN ('done', 'failed');
      CREATE TABLE sync_requests (
        sync_id TEXT PRIMARY KEY,
        state TEXT NOT NULL CHECK (state IN ('running', 'completed', 'failed', 'cancelled')),
        backend TEXT NOT NULL,
        request TEXT NOT NULL,
        plan TEXT NOT NULL,
        response TEXT,
        requested_by TEXT NOT NULL,
        started_at INTEGER NOT NULL,
        ended_at INTEGER
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX sync_requests_started ON sync_requests (started_at);
    `,
  },
  {
    id: 4,
    name: "copies in the order of the catalog, with their state",
    sql: `
      DROP INDEX sync_holders;
      CREATE INDEX sync_holders ON sync_held (seq, state, node_id);
      CREATE INDEX sync_models ON sync_artifacts (seq) WHERE kind = 'model' AND freed_at IS NULL;
    `,
  },
  {
    id: 5,
    name: "what was tried for each order",
    sql: `
      -- Way 0 is the try as a whole, if it failed; the others are the ways that were tried one after the other.
      CREATE TABLE sync_tries (
        order_id INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        way INTEGER NOT NULL,
        node_id TEXT NOT NULL,
        transport TEXT,
        place TEXT,
        code TEXT,
        error TEXT,
        at INTEGER NOT NULL,
        PRIMARY KEY (order_id, attempt, way)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX sync_tries_failed ON sync_tries (node_id, at) WHERE way = 0;
      CREATE INDEX sync_tries_of_place ON sync_tries (place, at) WHERE way > 0;
      CREATE INDEX sync_orders_arrived ON sync_orders (node_id, ended_at) WHERE state = 'done';
      CREATE INDEX sync_orders_by_file ON sync_orders (seq);
    `,
  },
  {
    id: 6,
    name: "copies that are declared invalid",
    sql: `
      -- Its node is told until it has let go of the copy or hashed it anew.
      CREATE TABLE sync_invalid (
        node_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        reason TEXT NOT NULL,
        at INTEGER NOT NULL,
        PRIMARY KEY (node_id, seq)
      ) STRICT, WITHOUT ROWID;
    `,
  },
  {
    id: 7,
    name: "which of equally urgent transfers come first",
    sql: `
      -- In thousandths; 0 where nothing is known of the quality of the file.
      ALTER TABLE sync_orders ADD COLUMN quality INTEGER NOT NULL DEFAULT 0;
    `,
  },
];

/** What this room keeps in the store. */
export const syncModule = defineStoreModule({
  name: "sync",
  migrations,
  operations: [
    recordArtifacts,
    countProduced,
    judgeArtifacts,
    noteSound,
    noteDamaged,
    pinArtifacts,
    freeArtifacts,
    disownFile,
    noteRemoved,
    forgetArtifacts,
    beginRun,
    endRun,
    noteAnnounced,
    noteCopies,
    noteGone,
    askDrop,
    confirmCopies,
    forgetHolder,
    claimOwnCopies,
    invalidateCopies,
    placeOrders,
    takeOrders,
    noteOrders,
    cancelOrders,
    giveUpOrders,
    hastenOrders,
    rankOrders,
    forgetRanks,
    rerouteOrders,
    forgetOrders,
    noteTold,
    beginSync,
    endSync,
    forgetSyncs,
  ],
});
