/** What operators may set of artifacts, their backups, and how they travel. */
import {
  line,
  megabytes,
  name,
  path,
  seconds,
  secretFile,
  tagList,
  url,
  whole,
  yesNo,
} from "../kernel/settings/index.ts";

const copiesOf = (what: string, variable: `RINGRIFT_${string}`, copies: number, about: string) =>
  whole({
    key: `artifacts.copies_${what}`,
    variable,
    min: 1,
    max: 20,
    unit: "nodes",
    default: copies,
    about: `Required copies of ${about}, each on another node; copies on rented nodes do not count.`,
  });

export const artifactSettings = {
  maxBytes: whole({
    key: "artifacts.most_bytes",
    variable: "RINGRIFT_ARTIFACT_MOST_BYTES",
    min: 1,
    max: 1_000_000_000_000,
    unit: "bytes",
    default: 16 * 1_024 ** 3,
    about: "Maximum size of a file that nodes may upload.",
  }),
  graceMs: seconds({
    key: "artifacts.grace",
    variable: "RINGRIFT_ARTIFACT_GRACE",
    min: 60,
    max: 31_536_000,
    default: 600,
    about:
      "How long a file stays when nothing needs it any more. Champions, their training history, the window and the current batch keep what they need. 'ringrift doctor' shows how much space the rest takes.",
  }),
  strayGraceMs: seconds({
    key: "artifacts.stray_grace",
    variable: "RINGRIFT_ARTIFACT_STRAY_GRACE",
    min: 3_600,
    max: 31_536_000,
    default: 86_400,
    about: "How long an unrecorded file stays, such as the results of a match or an upload that was never finished.",
  }),
  watchedFolder: path("folder", {
    key: "artifacts.watched_folder",
    variable: "RINGRIFT_WATCHED_FOLDER",
    default: undefined,
    shown: "none",
    about:
      "Folder in which this node looks for games that were made elsewhere (.jsonl, .npz, .arena) and offers them for `ringrift import`. An empty folder is a fault: its disk may not be mounted.",
  }),
  copies: {
    games: copiesOf("games", "RINGRIFT_COPIES_GAMES", 2, "files of played games"),
    models: copiesOf("models", "RINGRIFT_COPIES_MODELS", 3, "models"),
    samples: copiesOf("samples", "RINGRIFT_COPIES_SAMPLES", 1, "samples of games"),
    rebuildable: copiesOf(
      "rebuildable",
      "RINGRIFT_COPIES_REBUILDABLE",
      1,
      "files that are made again from others: training files, checkpoints and the like",
    ),
    exceptions: tagList({
      key: "artifacts.copies_exceptions",
      variable: "RINGRIFT_COPIES_EXCEPTIONS",
      default: "",
      shown: "none",
      about:
        "Different numbers of copies for some configs, for example `hex8_2p:games:3`, separated by commas; the classes are games, models, samples, rebuildable.",
    }),
  },
};

const DAY_SECONDS = 86_400;

export const backupSettings = {
  folder: path("folder", {
    key: "backup.folder",
    variable: "RINGRIFT_BACKUP_FOLDER",
    default: undefined,
    shown: "none",
    about: "Folder on another disk that backups go to. It must be there, and empty when it is first used.",
  }),
  disk: name({
    key: "backup.disk",
    variable: "RINGRIFT_BACKUP_DISK",
    default: "backup",
    about: "What the marker of the disk or the bucket says, so that another one is not taken for it.",
  }),
  s3Url: url({
    key: "backup.s3_url",
    variable: "RINGRIFT_BACKUP_S3_URL",
    default: undefined,
    shown: "none",
    about: "S3-compatible store that backups go to, with bucket and prefix: `https://s3.example.org/bucket/prefix`.",
  }),
  s3Region: name({
    key: "backup.s3_region",
    variable: "RINGRIFT_BACKUP_S3_REGION",
    default: "us-east-1",
    about: "Region of that store.",
  }),
  s3AccessKey: line({
    key: "backup.s3_access_key",
    variable: "RINGRIFT_BACKUP_S3_ACCESS_KEY",
    default: undefined,
    shown: "none",
    about: "Access key of that store.",
  }),
  s3Secret: secretFile({
    key: "backup.s3_secret_file",
    variable: "RINGRIFT_BACKUP_S3_SECRET_FILE",
    shown: "none",
    about: "File with the secret of that access key.",
  }),
  secret: secretFile({
    key: "backup.key_file",
    variable: "RINGRIFT_BACKUP_KEY_FILE",
    shown: "none: backups are not encrypted",
    about:
      "File with the key that backups are encrypted with. Keep a copy of it elsewhere: without it they are worth nothing.",
  }),
  everyMs: seconds({
    key: "backup.every",
    variable: "RINGRIFT_BACKUP_EVERY",
    min: 60,
    max: 365 * DAY_SECONDS,
    default: DAY_SECONDS,
    about: "Longest time between two backups; a new champion is backed up sooner.",
  }),
  drillEveryMs: seconds({
    key: "backup.drill_every",
    variable: "RINGRIFT_BACKUP_DRILL_EVERY",
    min: 60,
    max: 365 * DAY_SECONDS,
    default: 7 * DAY_SECONDS,
    about: "How often a backup is restored into a folder of its own, and started from, to see that it can be.",
  }),
  retention: {
    keep: whole({
      key: "backup.keep",
      variable: "RINGRIFT_BACKUP_KEEP",
      min: 1,
      max: 10_000,
      unit: "backups",
      default: 14,
      about: "Newest backups that stay at each place, however old they are.",
    }),
    keepMs: seconds({
      key: "backup.keep_for",
      variable: "RINGRIFT_BACKUP_KEEP_FOR",
      min: 0,
      max: 3_650 * DAY_SECONDS,
      default: 30 * DAY_SECONDS,
      about: "How long every backup stays.",
    }),
  },
};

/** What operators may set of how files travel between nodes. */
export const transferSettings = {
  serveHost: name({
    key: "transfers.serve_host",
    variable: "RINGRIFT_TRANSFERS_SERVE_HOST",
    default: undefined,
    shown: "loopback, if the main process is on this machine; else nowhere but through the relay",
    about: "Address on which a joined node serves files to other nodes. Beyond loopback it wants TLS.",
  }),
  servePort: whole({
    key: "transfers.serve_port",
    variable: "RINGRIFT_TRANSFERS_SERVE_PORT",
    min: 0,
    max: 65_535,
    default: 0,
    about: "Port on which files are served to other nodes, by a node and by the main process; 0 picks a free one.",
  }),
  serveName: name({
    key: "transfers.serve_name",
    variable: "RINGRIFT_TRANSFERS_SERVE_NAME",
    default: undefined,
    shown: "the address from which it calls the main process",
    about: "Name or address under which other nodes reach this one.",
  }),
  furtherNames: tagList({
    key: "transfers.further_names",
    variable: "RINGRIFT_TRANSFERS_FURTHER_NAMES",
    default: "",
    shown: "none",
    about:
      "Further names or addresses under which other nodes reach this one, such as that of a VPN, divided by commas. The first 8 count. Other nodes probe them all, and use the one that answers.",
  }),
  tlsCertFile: path("file", {
    key: "transfers.tls_cert_file",
    variable: "RINGRIFT_TRANSFERS_TLS_CERT_FILE",
    default: undefined,
    shown: "none: plain HTTP, on loopback alone",
    about:
      "Certificate with which a node serves files, in PEM; others know it by its fingerprint, so nobody need sign it.",
  }),
  tlsKeyFile: path("file", {
    key: "transfers.tls_key_file",
    variable: "RINGRIFT_TRANSFERS_TLS_KEY_FILE",
    default: undefined,
    shown: "none",
    about: "Private key of that certificate, in PEM.",
  }),
  relay: yesNo({
    key: "transfers.relay",
    variable: "RINGRIFT_TRANSFERS_RELAY",
    default: true,
    about: "Let a node that others cannot reach serve them through the main process.",
  }),
  maxRate: megabytes({
    key: "transfers.max_rate",
    variable: "RINGRIFT_TRANSFERS_MAX_RATE",
    min: 0,
    max: 100_000,
    default: 0,
    shown: "as fast as it goes",
    about:
      "Megabytes a second that may come to a node by all its transfers together, and as much that it may send; 0 is no limit.",
  }),
  parallel: whole({
    key: "transfers.parallel",
    variable: "RINGRIFT_TRANSFERS_PARALLEL",
    min: 1,
    max: 64,
    unit: "transfers",
    default: 4,
    about: "Transfers that a node carries out at once; small files that travel together are one.",
  }),
  stallMs: seconds({
    key: "transfers.stall",
    variable: "RINGRIFT_TRANSFERS_STALL",
    min: 1,
    max: 3_600,
    default: 20,
    about: "Silence of the other side after which a transfer goes on by the next way.",
  }),
  placesFile: path("file", {
    key: "transfers.places_file",
    variable: "RINGRIFT_TRANSFERS_PLACES_FILE",
    default: undefined,
    shown: "none",
    about: "File in JSON with disks, hosts (rsync) and stores (S3) from which a node may fetch beside other nodes.",
  }),
};
