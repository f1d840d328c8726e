/** Numbers of this room that no operator changes. */

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A file that is read whole into memory: results of matches are small, and what is larger is none. */
export const MAX_READ_BYTES = 64_000_000;

/** Files up to this size are copied when they are adopted: that is cheaper than to find out whether anybody writes to them. */
export const COPIED_BYTES = 8 * 1_024 ** 2;

/** Files that are known to be sound, so that they are not hashed again at once. */
export const MAX_SOUND_REMEMBERED = 10_000;

export const MAX_LISTED = 10_000;
export const MAX_RELATIVES = 1_000;
export const MAX_REASON_LENGTH = 200;

/** Files that are hashed side by side, and rows that change in one commit. */
export const INSPECTED_AT_ONCE = 4;
export const NOTED_AT_ONCE = 200;

/** Calls of one clean-up: it must take away at least as much as a busy loop makes in the time between. */
export const SWEEPS_IN_A_ROW = 25;
export const SCRUB_EVERY_MS = HOUR;

/** Files of one call; those that were looked at since so long are left alone. */
export const scrubDefaults = { max: 200, everyMs: DAY, bytesPerSecond: 50_000_000 };

export const sweepDefaults = {
  /** How long damaged files lie in quarantine. */
  quarantineMs: 7 * DAY,
  /** How long the row of a file that is gone is kept, and with it its history. */
  keepRowsMs: 30 * DAY,
  /** Beyond so many rows, those of files that are gone are forgotten sooner. */
  maxRows: 500_000,
  /** Files of one call, of each sort. */
  max: 200,
  /** Folders, of 256, that one call looks through for files that nobody recorded. */
  folders: 16,
};

/** How files are freed, the sooner the fuller the disk. */
export const diskSpaceLimits = {
  lookMs: 5_000,
  everyMs: { none: 60_000, high: 20_000, critical: 5_000 },
  stays: {
    high: { graceMs: 120_000, strayGraceMs: 6 * HOUR, quarantineMs: DAY },
    critical: { graceMs: 60_000, strayGraceMs: HOUR, quarantineMs: HOUR },
  },
  soonMs: 2 * HOUR,
  holdMs: DAY,
  /** Names of files in one event. */
  maxTold: 1_000,
};

/** How long the copy that another goes against stays where it is. */
export const COPY_LOCK_MS = 60_000;
/** Copies that a node is told in one answer to remove. */
export const MAX_RETIRED_TOLD = 500;
/** Models that a node is told of, so that they go last from its cache. */
export const MAX_NEWEST_TOLD = 50;
/** What a node said of its disk longer ago is not known any more. */
export const NODE_NEWS_MS = 300_000;
/** Copies that a node is asked at once to look at. */
export const MAX_LOOKS = 1_000;

/** Transfers that nodes carry out by order. */
export const orderLimits = {
  /** Of one node at once: so many, or as many small ones as come in one pack. */
  maxOfNode: 16,
  maxSmallOfNode: 400,
  maxSmallBytes: 32 * 1_024 ** 2,
  maxAttempts: 5,
  /** Before the second try; each further one waits twice as long. */
  firstWaitMs: 15_000,
  /** A node that does not speak of an order for so long is given it again. */
  silentMs: 60_000,
};

/** From whom nodes fetch. */
export const sourceLimits = {
  /** Nodes that are named to one who fetches, beside the coordinator. */
  maxPeers: 3,
  ticketSeconds: 3_600,
  /** Where a node serves is not known any more after so long without a word from it. */
  servingMs: 120_000,
  /** A transfer of which nothing was heard for so long is none. */
  grantMs: 10 * 60_000,
  maxGrants: 100_000,
};

/** How often a node tells what came of its transfers, how much at once, and how long it shows who sent wrong bytes. */
export const transferNewsLimits = { everyMs: 10_000, maxEvents: 50, blamedMs: HOUR };

/** Policies of transfers: nodes that are called in one round, and how far the games of the best config go ahead. */
export const policyLimits = {
  fanout: 3,
  maxNodes: 10_000,
  maxOrders: 200,
  urgency: 2,
  freshMs: DAY,
  /** Waiting transfers that are looked through for those of the best segments. */
  maxWaiting: 10_000,
  /** What came in so lately goes to all nodes, so many files of it. */
  broadcastMs: HOUR,
  broadcastFiles: 50,
  broadcastUrgency: 1,
  /** A config with fewer games than this gets those of the archive, so many files in one round, and then again after so long. */
  poorGames: 10_000,
  archiveFiles: 4,
  archiveEveryMs: HOUR,
};
/** Copies of one node that it would like to let go and may not: so many are kept in mind. */
export const MAX_KEPT_BACK = 1_000;

/** How copies are kept at their number. */
export const replicationLimits = {
  everyMs: 15_000,
  /** Events do not make it look more often than this. */
  wakeMs: 2_000,
  /** Artifacts of one look, and orders that come of it. */
  maxShorts: 2_000,
  maxOrders: 500,
  /** What a node's disk must have left beyond a copy. */
  reserveBytes: 2e9,
  /** Rows of one commit, so that nobody waits long for the writer. */
  page: 5_000,
  /** Copies take their time: what was made since is not short yet. */
  youngMs: 15 * 60_000,
  /** How long a trouble lasts before a person is told: nodes come back, and copies come. */
  patienceMs: { critical: 60_000, error: 60_000, warning: 15 * 60_000 },
  remindMs: HOUR,
  keepOrdersMs: 7 * DAY,
};

/** How champions get to the nodes that play. */
export const distributionLimits = {
  everyMs: 2_000,
  games: 8,
  trialMs: 180_000,
  maxRefusals: 3,
  againMs: 10 * 60_000,
  staggerMs: 500,
  maxStaggerMs: 30_000,
  deadlineMs: 10 * 60_000,
  remindMs: HOUR,
  maxNodes: 2_000,
};

/** Models that nobody shall play with are remembered so long, and so many of them. */
export const cacheLimits = { everyMs: 60_000, keepMs: 30 * DAY, max: 1_000 };

/** Syncs that somebody asks for. */
export const syncLimits = {
  /** Files of one, the newest ones. */
  maxFiles: 10_000,
  lookMs: 200,
  /** A node that is away for a moment is waited for, at most so long and at most this part of the time that the sync has. */
  settleMs: 30_000,
  settleShare: 0.1,
  /** Transfers for which is told from whom they would come. */
  maxExplained: 200,
};

/** The books on transfers. */
export const deliveryLimits = {
  everyMs: 10_000,
  /** Events do not make it look more often than this. */
  wakeMs: 2_000,
  /** Tries of one delivery that are shown, the newest. */
  maxTries: 20,
  /** So many failures in a row, and nothing that arrived between them, are told as critical; again after so long. */
  criticalFailures: 5,
  remindMs: HOUR,
  /** A node that is away for so long is not waited for: others are asked instead. */
  awayMs: 60_000,
  /** Orders that are given up in one look. */
  maxGivenUp: 1_000,
};

/** Files of games that no manifest knows. */
export const orphanLimits = {
  everyMs: 60_000,
  /** What was written since then may be on its way with its job. */
  youngMs: 15 * 60_000,
  /** Folders, of 256, that one look goes through. */
  prefixes: 32,
  /** Names of one folder, and how deep a watched folder is looked through. */
  maxFiles: 20_000,
  deep: 4,
  /** Files that are hashed and read in one look. */
  maxLooks: 20,
  maxListed: 1_000,
  /** Files of one event. */
  maxTold: 100,
};

/** How long the coordinator waits for the bytes of an orphan, how often it asks for them, and how long its end is shown. */
export const rescueLimits = { patienceMs: DAY, askMs: HOUR, keepMs: 7 * DAY, maxAtOnce: 20, maxKept: 5_000 };

/** How the coordinators of one cluster keep the same files. */
export const memberLimits = {
  /** They look this often for what they lack, and say at once what came. */
  everyMs: 2_000,
  /** Without news they say this often that they are there; one that was silent for longer than the other is not counted on. */
  tellMs: 15_000,
  silentMs: 60_000,
  /** Rows of one read, files and bytes of one round. */
  pageFiles: 500,
  roundFiles: 64,
  roundBytes: 256 * 1_024 ** 2,
  /** What could not be had is tried again after this, then after twice as long, and so on. */
  againMs: 1_000,
  maxAgainMs: 60_000,
  /** The same for a file that somebody waits for; and how many of those are kept in mind. */
  maxSoughtAgainMs: 2_000,
  maxSought: 10_000,
  /** A coordinator that has been away for longer is not waited for: what only it has is made again. */
  awaitMs: 10 * 60_000,
};

/** Files that lie nowhere but on nodes that may go. */
export const guardLimits = {
  everyMs: 5_000,
  /** Events do not make it look more often than this. */
  wakeMs: 1_000,
  /** What a node made is on its way home with its result: so long nobody else need do anything. */
  youngMs: 5_000,
  maxFiles: 2_000,
  /** What is at risk for so long is worth a person's look. */
  patienceMs: 60_000,
};

/** Whether nodes that train have their data. */
export const freshnessLimits = {
  everyMs: 5_000,
  /** Events do not make it look more often than this. */
  wakeMs: 1_000,
  /** A run waits so long for its data to be brought to a node; then the node fetches it itself. */
  patienceMs: 60_000,
};

/** The choice of ways and targets. */
export const routeLimits = {
  everyMs: 5_000,
  /** Events do not make it look more often than this. */
  wakeMs: 1_000,
  /** Transfers that are sent another way in one look. */
  maxOrders: 200,
};
