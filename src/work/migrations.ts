import type { Migration } from "../router/index.ts";

/**
 * Jobs are small rows that change often; what they are given is written once and read once, and lies beside them. Every
 * index is partial: a job stands only in those of the state it is in.
 */
export const workMigrations: readonly Migration[] = [
  {
    id: 1,
    name: "jobs, lanes, dependencies",
    sql: `
      CREATE TABLE work_lanes (
        lane INTEGER PRIMARY KEY,
        signature TEXT NOT NULL,
        work_type TEXT NOT NULL,
        config_key TEXT,
        needs TEXT NOT NULL,
        targets TEXT,
        excluded TEXT NOT NULL
      ) STRICT;

      CREATE TABLE work_jobs (
        seq INTEGER PRIMARY KEY,
        -- Grows with every change: whoever decided on an older one is refused.
        rev INTEGER NOT NULL,
        lane INTEGER NOT NULL REFERENCES work_lanes (lane),
        urgency INTEGER NOT NULL CHECK (urgency BETWEEN 0 AND 3),
        state TEXT NOT NULL CHECK (state IN
          ('blocked', 'delayed', 'pending', 'claimed', 'running', 'completed', 'failed', 'cancelled')),
        cost REAL NOT NULL,
        timeout_ms INTEGER NOT NULL,
        max_attempts INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        returns INTEGER NOT NULL,
        -- Grows with every claim and never goes back: the holder shows it with everything it says.
        fence INTEGER NOT NULL,
        queued_at INTEGER NOT NULL,
        ready_at INTEGER NOT NULL,
        not_before INTEGER,
        deadline INTEGER,
        node_id TEXT,
        claimed_at INTEGER,
        started_at INTEGER,
        beat_by INTEGER,
        expires_at INTEGER,
        finished_at INTEGER,
        progress REAL,
        stop_reason TEXT,
        stop_by INTEGER,
        dedup_key TEXT,
        batch_id TEXT,
        requested_by TEXT,
        outcome TEXT
      ) STRICT;
      CREATE INDEX work_pending ON work_jobs (lane, urgency, seq) WHERE state = 'pending';
      CREATE INDEX work_delayed ON work_jobs (not_before) WHERE state = 'delayed';
      CREATE INDEX work_blocked ON work_jobs (seq) WHERE state = 'blocked';
      CREATE INDEX work_held ON work_jobs (node_id) WHERE state IN ('claimed', 'running');
      CREATE INDEX work_finished ON work_jobs (state, finished_at) WHERE finished_at IS NOT NULL;
      CREATE INDEX work_deadlines ON work_jobs (deadline)
        WHERE deadline IS NOT NULL AND state IN ('pending', 'delayed', 'blocked');
      CREATE UNIQUE INDEX work_dedup ON work_jobs (dedup_key)
        WHERE dedup_key IS NOT NULL AND state NOT IN ('failed', 'cancelled');
      CREATE INDEX work_batches ON work_jobs (batch_id) WHERE batch_id IS NOT NULL;

      CREATE TABLE work_inputs (seq INTEGER PRIMARY KEY, payload TEXT NOT NULL) STRICT;

      CREATE TABLE work_dependencies (
        seq INTEGER NOT NULL,
        depends_on INTEGER NOT NULL,
        PRIMARY KEY (seq, depends_on)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX work_dependents ON work_dependencies (depends_on, seq);
    `,
  },
  {
    id: 2,
    name: "results that come after their lease lapsed, claims that are said again",
    sql: `
      ALTER TABLE work_jobs ADD COLUMN lapsed_attempts INTEGER;
      ALTER TABLE work_jobs ADD COLUMN claim_id TEXT;
    `,
  },
  {
    id: 3,
    name: "numbers that holders say while they work",
    sql: "ALTER TABLE work_jobs ADD COLUMN metrics TEXT;",
  },
  {
    id: 4,
    name: "jobs that begin as they are claimed",
    sql: "ALTER TABLE work_jobs ADD COLUMN unheard INTEGER;",
  },
  {
    id: 5,
    name: "jobs by state, kept instead of counted",
    sql: `
      CREATE TABLE work_counts (
        lane INTEGER NOT NULL,
        state TEXT NOT NULL,
        jobs INTEGER NOT NULL,
        PRIMARY KEY (lane, state)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO work_counts SELECT lane, state, count(*) FROM work_jobs GROUP BY lane, state;

      -- In the database, so that no statement can change a job past its count.
      CREATE TRIGGER work_counts_add AFTER INSERT ON work_jobs BEGIN
        INSERT INTO work_counts VALUES (NEW.lane, NEW.state, 1) ON CONFLICT DO UPDATE SET jobs = jobs + 1;
      END;
      CREATE TRIGGER work_counts_move AFTER UPDATE OF state ON work_jobs WHEN NEW.state <> OLD.state BEGIN
        UPDATE work_counts SET jobs = jobs - 1 WHERE lane = OLD.lane AND state = OLD.state;
        INSERT INTO work_counts VALUES (NEW.lane, NEW.state, 1) ON CONFLICT DO UPDATE SET jobs = jobs + 1;
      END;
      CREATE TRIGGER work_counts_remove AFTER DELETE ON work_jobs BEGIN
        UPDATE work_counts SET jobs = jobs - 1 WHERE lane = OLD.lane AND state = OLD.state;
      END;
    `,
  },
  {
    id: 6,
    name: "the event that a job follows from",
    sql: "ALTER TABLE work_inputs ADD COLUMN cause TEXT;",
  },
  {
    id: 7,
    name: "leases that lapsed, whose results are taken if they are the first",
    sql: "ALTER TABLE work_jobs ADD COLUMN earlier TEXT;",
  },
  {
    id: 8,
    name: "what a stopped try saved for the next one",
    sql: "ALTER TABLE work_jobs ADD COLUMN saved TEXT;",
  },
  {
    id: 9,
    name: "what runs say of themselves step by step",
    sql: `
      CREATE TABLE work_points (
        seq INTEGER NOT NULL,
        n INTEGER NOT NULL,
        fence INTEGER NOT NULL,
        at INTEGER NOT NULL,
        progress REAL,
        metrics TEXT NOT NULL,
        PRIMARY KEY (seq, n)
      ) STRICT, WITHOUT ROWID;
    `,
  },
];
