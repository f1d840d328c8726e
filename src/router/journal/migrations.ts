import type { Migration } from "../store.port.ts";

/**
 * The journal's tables.
 *
 * An owed pair (event, consumer) has no row of its own while all goes well: everything a consumer is owed up to its
 * low-water mark is done, and only exceptions are written down in `deliveries` (done above the mark, parked, retrying)
 * and `dead_letters`.
 */
export const journalMigrations: readonly Migration[] = [
  {
    id: 1,
    name: "journal, consumers, dead letters",
    sql: `
      CREATE TABLE events (
        seq INTEGER PRIMARY KEY,
        event_id TEXT NOT NULL UNIQUE,
        event_type TEXT NOT NULL,
        order_key TEXT,
        payload TEXT NOT NULL,
        payload_version INTEGER NOT NULL,
        timestamp REAL NOT NULL,
        source TEXT NOT NULL,
        origin TEXT NOT NULL,
        node_id TEXT NOT NULL,
        trace_id TEXT NOT NULL,
        correlation_id TEXT NOT NULL,
        parent_event_id TEXT,
        content_hash TEXT NOT NULL,
        views INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX events_by_type ON events (event_type, seq);
      CREATE INDEX events_by_trace ON events (trace_id);

      CREATE TABLE dedup (
        dedup_key TEXT PRIMARY KEY,
        event_id TEXT NOT NULL,
        at REAL NOT NULL,
        suppressed INTEGER NOT NULL DEFAULT 0
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX dedup_by_time ON dedup (at);

      CREATE TABLE consumers (
        consumer TEXT PRIMARY KEY,
        kind TEXT NOT NULL CHECK (kind IN ('unit', 'process')),
        low_water INTEGER NOT NULL,
        handler_version TEXT NOT NULL,
        -- What this source says is not owed to it: a unit never hears itself.
        deaf_to TEXT,
        created_at REAL NOT NULL,
        last_seen_at REAL NOT NULL,
        expired_at REAL
      ) STRICT, WITHOUT ROWID;

      -- Owed: start_seq < seq and (end_seq is null or seq <= end_seq), for the events in this view. What was owed above
      -- expired_from and has no row of its own was never had: the consumer left, or was away too long.
      CREATE TABLE subscriptions (
        consumer TEXT NOT NULL REFERENCES consumers (consumer),
        event_type TEXT NOT NULL,
        view INTEGER NOT NULL,
        start_seq INTEGER NOT NULL,
        end_seq INTEGER,
        expired_from INTEGER,
        PRIMARY KEY (consumer, event_type, view, start_seq)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE deliveries (
        consumer TEXT NOT NULL REFERENCES consumers (consumer),
        seq INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('done', 'parked', 'retrying', 'expired')),
        lane TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        next_at REAL NOT NULL DEFAULT 0,
        first_failed_at REAL,
        error TEXT,
        PRIMARY KEY (consumer, seq)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX deliveries_by_lane ON deliveries (consumer, lane, seq) WHERE state IN ('parked', 'retrying');

      CREATE TABLE dead_letters (
        id INTEGER PRIMARY KEY,
        consumer TEXT NOT NULL,
        seq INTEGER NOT NULL,
        event_id TEXT NOT NULL,
        event_type TEXT NOT NULL,
        lane TEXT NOT NULL,
        error TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        first_failed_at REAL NOT NULL,
        last_failed_at REAL NOT NULL,
        handler_version TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('pending', 'retrying', 'recovered', 'discarded')),
        retry_count INTEGER NOT NULL DEFAULT 0,
        resolved_at REAL,
        resolved_by TEXT,
        UNIQUE (consumer, seq)
      ) STRICT;
      CREATE INDEX dead_letters_unresolved ON dead_letters (status, last_failed_at) WHERE status IN ('pending', 'retrying');
      CREATE INDEX dead_letters_by_seq ON dead_letters (seq) WHERE status IN ('pending', 'retrying');

      CREATE TABLE dead_letter_actions (
        id INTEGER PRIMARY KEY,
        at REAL NOT NULL,
        actor TEXT NOT NULL,
        action TEXT NOT NULL,
        selection TEXT NOT NULL,
        affected INTEGER NOT NULL
      ) STRICT;

      CREATE TABLE store_probe (id INTEGER PRIMARY KEY CHECK (id = 1), at REAL NOT NULL) STRICT;
    `,
  },
  {
    id: 2,
    name: "letters and waiting deliveries, kept instead of counted",
    sql: `
      CREATE TABLE dead_letter_counts (
        consumer TEXT NOT NULL,
        event_type TEXT NOT NULL,
        status TEXT NOT NULL,
        letters INTEGER NOT NULL,
        PRIMARY KEY (consumer, event_type, status)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO dead_letter_counts
        SELECT consumer, event_type, status, count(*) FROM dead_letters GROUP BY consumer, event_type, status;
      CREATE TABLE waiting_counts (consumer TEXT PRIMARY KEY, deliveries INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      INSERT INTO waiting_counts
        SELECT consumer, count(*) FROM deliveries WHERE state IN ('parked', 'retrying') GROUP BY consumer;

      -- In the database, so that no statement can change a row past its count. What has come to nothing is no row.
      CREATE TRIGGER dead_letter_counts_add AFTER INSERT ON dead_letters BEGIN
        INSERT INTO dead_letter_counts VALUES (NEW.consumer, NEW.event_type, NEW.status, 1)
          ON CONFLICT DO UPDATE SET letters = letters + 1;
      END;
      CREATE TRIGGER dead_letter_counts_move AFTER UPDATE OF status ON dead_letters WHEN NEW.status <> OLD.status BEGIN
        UPDATE dead_letter_counts SET letters = letters - 1
          WHERE consumer = OLD.consumer AND event_type = OLD.event_type AND status = OLD.status;
        DELETE FROM dead_letter_counts
          WHERE consumer = OLD.consumer AND event_type = OLD.event_type AND status = OLD.status AND letters = 0;
        INSERT INTO dead_letter_counts VALUES (NEW.consumer, NEW.event_type, NEW.status, 1)
          ON CONFLICT DO UPDATE SET letters = letters + 1;
      END;
      CREATE TRIGGER dead_letter_counts_remove AFTER DELETE ON dead_letters BEGIN
        UPDATE dead_letter_counts SET letters = letters - 1
          WHERE consumer = OLD.consumer AND event_type = OLD.event_type AND status = OLD.status;
        DELETE FROM dead_letter_counts
          WHERE consumer = OLD.consumer AND event_type = OLD.event_type AND status = OLD.status AND letters = 0;
      END;
      CREATE TRIGGER waiting_counts_add AFTER INSERT ON deliveries WHEN NEW.state IN ('parked', 'retrying') BEGIN
        INSERT INTO waiting_counts VALUES (NEW.consumer, 1) ON CONFLICT DO UPDATE SET deliveries = deliveries + 1;
      END;
      CREATE TRIGGER waiting_counts_begin AFTER UPDATE OF state ON deliveries
        WHEN NEW.state IN ('parked', 'retrying') AND OLD.state NOT IN ('parked', 'retrying') BEGIN
        INSERT INTO waiting_counts VALUES (NEW.consumer, 1) ON CONFLICT DO UPDATE SET deliveries = deliveries + 1;
      END;
      CREATE TRIGGER waiting_counts_end AFTER UPDATE OF state ON deliveries
        WHEN NEW.state NOT IN ('parked', 'retrying') AND OLD.state IN ('parked', 'retrying') BEGIN
        UPDATE waiting_counts SET deliveries = deliveries - 1 WHERE consumer = OLD.consumer;
      END;
      CREATE TRIGGER waiting_counts_remove AFTER DELETE ON deliveries WHEN OLD.state IN ('parked', 'retrying') BEGIN
        UPDATE waiting_counts SET deliveries = deliveries - 1 WHERE consumer = OLD.consumer;
        DELETE FROM waiting_counts WHERE consumer = OLD.consumer AND deliveries = 0;
      END;

      CREATE INDEX dead_letters_by_time ON dead_letters (last_failed_at, id);
    `,
  },
  {
    id: 3,
    name: "who made a consumer",
    sql: `
      ALTER TABLE consumers ADD COLUMN made_by TEXT;
      CREATE INDEX consumers_by_maker ON consumers (made_by) WHERE made_by IS NOT NULL;
    `,
  },
];
