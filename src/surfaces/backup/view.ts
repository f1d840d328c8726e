import type { BackupProgress, BackupReports, DrillReport } from "../../sync/index.ts";
import type { Shell } from "../cli/shell.ts";
import { factLines, right, tableLines } from "../cli/table.ts";
import { ago, duration, momentAgo, number, plural, printable } from "../cli/text.ts";
import { bytes } from "../status/view.ts";
import type { BackupStatus, BackupTaskShown } from "./wire.ts";

type Look = Pick<Shell, "paint" | "clock" | "width">;

const DOING: Readonly<Record<string, string>> = {
  snapshot: "takes a copy of the database",
  copy: "copies",
  check: "reads",
  fetch: "fetches",
  remove: "removes",
  start: "starts from what was restored",
};

/** How far it is, how fast, and how long it will take at that rate. */
export function backupProgress(progress: BackupProgress, seconds: number): string {
  const { phase, files, files_done, bytes: all, bytes_done } = progress;
  const doing = DOING[phase] ?? phase;
  if (files === 0) return doing;
  const rate = seconds <= 0 || bytes_done === 0 ? null : bytes_done / seconds;
  const left = rate === null ? null : Math.max(0, all - bytes_done) / rate;
  return [
    `${doing}: ${number(files_done)} of ${plural(files, "file")}`,
    `${bytes(bytes_done)} of ${bytes(all)}`,
    ...(rate === null ? [] : [`${bytes(Math.round(rate))}/s`]),
    ...(left === null ? [] : [`${duration(left * 1_000)} left`]),
  ].join(", ");
}

/** The backups of one place. */
export function backupLines(place: string, backups: BackupReports["list"], look: Look): string[] {
  const { paint, clock } = look;
  if (backups.length === 0) return [`${printable(place)} holds no backup yet; 'ringrift backup run' makes one`];
  const rows = backups.map((one) =>
    one.error === null
      ? [
          paint.yellow(one.backup_id),
          ago(one.made_at, clock.now()),
          right(number(one.files!)),
          right(bytes(one.bytes!)),
          right(number(one.games!)),
          one.sealed === true ? "encrypted" : "open",
          one.missing === 0 ? "" : paint.red(`${plural(one.missing!, "file")} missing`),
        ]
      : [
          paint.yellow(one.backup_id),
          ago(one.made_at, clock.now()),
          "",
          "",
          "",
          paint.red(one.error.code),
          printable(one.error.message),
        ],
  );
  return [
    paint.bold(printable(place)),
    ...tableLines(
      [["BACKUP", "MADE", right("FILES"), right("SIZE"), right("GAMES"), "KEY", ""], ...rows],
      look as Shell,
    ),
  ];
}

export function statusLines(status: BackupStatus, shell: Shell): string[] {
  const { paint, clock } = shell;
  const now = clock.now();
  if (status.places.length === 0)
    return [
      "no place for backups is set: RINGRIFT_BACKUP_FOLDER or RINGRIFT_BACKUP_S3_URL; docs/54-backups.md tells more",
    ];
  const told = (at: number | null, failures: number) => {
    const when = at === null ? "never" : ago(at, now);
    return failures === 0 ? when : `${when}, ${paint.red(`failed ${plural(failures, "time")} since`)}`;
  };
  const places = status.places.map((one) => [
    printable(one.place),
    printable(one.where),
    told(one.backed_up_at, one.backup_failures),
    told(one.drilled_at, one.drill_failures),
  ]);
  const tasks = status.tasks.map((task) => [
    paint.yellow(printable(task.task_id)),
    task.kind,
    printable(task.place),
    task.state === "failed" ? paint.red(task.state) : task.state,
    ago(task.started_at, now),
    printable(
      task.error?.message ??
        (task.progress === null ? "" : backupProgress(task.progress, (now - task.started_at) / 1_000)),
    ),
  ]);
  return [
    ...tableLines([["PLACE", "WHERE", "BACKED UP", "DRILLED"], ...places], shell),
    ...(status.encrypted
      ? []
      : ["backups are not encrypted, and hold no tokens and keys: set RINGRIFT_BACKUP_KEY_FILE"]),
    ...(tasks.length === 0
      ? []
      : ["", ...tableLines([["TASK", "KIND", "PLACE", "STATE", "BEGAN", ""], ...tasks], shell)]),
  ];
}

const DONE = {
  run: (report: BackupReports["run"]) => [
    ["backup", report.backup_id],
    ["at", report.place],
    ["holds", `${plural(report.files, "file")} and the database, ${bytes(report.bytes)}`],
    ["copied now", `${plural(report.copied_files, "file")} and the database, ${bytes(report.copied_bytes)}`],
    ["encrypted", report.sealed ? "yes" : "no"],
    [
      "missing",
      report.missing.map(({ sha256, kind, why }) => `${kind} ${sha256.slice(0, 12)}: ${why}`).join("; ") || null,
    ],
  ],
  verify: (report: BackupReports["verify"]) => [
    ["backup", report.backup_id],
    ["at", report.place],
    [
      "looked at",
      `${plural(report.checked_files, "file")}${report.read ? `, ${bytes(report.checked_bytes)} read` : ", the listing alone"}`,
    ],
    ["verdict", report.damaged.length === 0 ? "sound" : `${plural(report.damaged.length, "file")} damaged or gone`],
    ...report.damaged.slice(0, 20).map(({ sha256, why }) => ["damaged", `${sha256}: ${why}`]),
  ],
  prune: (report: BackupReports["prune"]) => [
    ["at", report.place],
    [
      report.dry_run ? "would go" : "went",
      `${plural(report.backups.length, "backup")}, ${plural(report.files, "file")}, ${bytes(report.bytes)}`,
    ],
    ["more", report.more ? "there is more than one call takes: run it again" : null],
    ["nothing went", report.refused],
  ],
  drill: (report: DrillReport) => [
    ["backup", report.backup_id],
    ["restored", `${plural(report.files, "file")}, ${bytes(report.bytes)}`],
    ["books", report.books_equal ? "as they were" : "differ"],
  ],
} as const;

export function taskDetails(task: BackupTaskShown, shell: Shell): string[] {
  const facts = [
    ["state", task.state],
    ["began", momentAgo(task.started_at, shell.clock.now())],
    ["took", task.ended_at === null ? null : duration(task.ended_at - task.started_at)],
    ["by", task.requested_by],
    ...(task.report === null ? [] : DONE[task.kind](task.report as never)),
    ["error", task.error === null ? null : `${task.error.code}: ${task.error.message}`],
    ["hint", task.error?.hint ?? null],
  ] as unknown as readonly (readonly [string, string | null])[];
  return [shell.paint.bold(`${task.kind} ${printable(task.task_id)}`), ...factLines(facts, shell)];
}

export const verifyLines = (report: BackupReports["verify"], shell: Shell): string[] =>
  factLines(DONE.verify(report) as never, shell);

export function restoreLines(report: BackupReports["restore"], shell: Shell): string[] {
  const games = report.books.map(
    ({ config_key, produced, durable, in_flight, rejected }) =>
      [
        `books ${config_key}`,
        `${number(produced)} produced = ${number(durable)} durable + ${number(in_flight)} in flight + ${number(rejected)} rejected`,
      ] as const,
  );
  const facts = [
    ["backup", `${report.backup_id}, made ${momentAgo(report.made_at, shell.clock.now())} on ${report.node_id}`],
    ["from", report.place],
    [report.dry_run ? "would go to" : "is in", report.to],
    [
      "files",
      report.dry_run
        ? `${plural(report.files!, "file")}, ${bytes(report.bytes!)}`
        : `${plural(report.restored_files, "file")}, ${bytes(report.restored_bytes)}, each with its hash checked`,
    ],
    ...games,
    [
      "left out",
      report.failed.map(({ kind, sha256, why }) => `${kind} ${sha256.slice(0, 12)}: ${why}`).join("; ") || null,
    ],
    ["tokens, keys", report.private_files.join(", ") || null],
  ] as const;
  return factLines(facts, shell);
}
