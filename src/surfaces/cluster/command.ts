import type { Command } from "commander";
import { showAnswer } from "../cli/answers.ts";
import { askMain } from "../cli/main-process.ts";
import { answer, negative, type Shell, unavailable } from "../cli/shell.ts";
import { right, tableLines } from "../cli/table.ts";
import { ago, printable } from "../cli/text.ts";
import { sentence } from "../cli/values.ts";
import type { Answer } from "../http/wire.ts";
import { type ClusterAnswer, getCluster, stepDown, verifyCluster } from "./wire.ts";

const OTHER_ROWS = "other rows: the page Three coordinators says what to do";
const ROWS = { true: "has the same rows", false: `has ${OTHER_ROWS}`, null: "has not said yet what its rows come to" };
const DRY = "nothing was changed: this was a dry run";

function memberLines({ members, name }: ClusterAnswer, shell: Shell): string[] {
  const { paint } = shell;
  const rows = members.map((one) => [
    one.name === name ? paint.bold(printable(one.name)) : printable(one.name),
    one.present ? (one.role === "leader" ? paint.green(one.role) : one.role) : paint.red("silent"),
    right(String(one.term)),
    right(String(one.seq)),
    right(one.lag === 0 ? "0" : paint.yellow(String(one.lag))),
    one.leader === null ? paint.yellow("nobody") : printable(one.leader),
    one.files_lacking === null ? "" : one.files_lacking === 0 ? "all" : paint.yellow(`lacks ${one.files_lacking}`),
    printable(one.version),
    printable(one.url),
    `${Math.round(one.heard_seconds_ago)} s ago`,
  ]);
  return tableLines(
    [
      [
        "MEMBER",
        "ROLE",
        right("TERM"),
        right("ENTRY"),
        right("LAG"),
        "FOLLOWS",
        "FILES",
        "VERSION",
        "ADDRESS",
        "HEARD",
      ],
      ...rows,
    ],
    shell,
  );
}

/** How the leaderships before this one ended. */
const endedLines = ({ terms }: ClusterAnswer, shell: Shell): string[] =>
  terms.flatMap(({ term, leader, ended, reason, since }) =>
    ended === null
      ? []
      : `term ${term} of ${printable(leader)}, begun ${ago(since, shell.clock.now())}: ${ended}${reason === null ? "" : ` (${printable(reason)})`}`,
  );

/** Each should have the same lease: with different ones nobody leads too early, and all wait for the longest. */
function leaseLines({ members, name }: ClusterAnswer, { paint }: Shell): string[] {
  const own = members.find((one) => one.name === name)?.lease_seconds ?? null;
  const others = members.filter((one) => one.present && one.lease_seconds !== null && one.lease_seconds !== own);
  if (own === null || others.length === 0) return [];
  const said = others.map((one) => `${printable(one.name)} ${one.lease_seconds} s`).join(", ");
  return [paint.yellow(`the lease is ${own} s here, and elsewhere not: ${said}; set coordinators.lease alike`)];
}

/** How the servers of the log are, in one line. */
function engineLine({ engine }: ClusterAnswer, { paint }: Shell): string {
  if (engine === null) return paint.red("no server of the shared log answers");
  const { leader, servers, first, last, bytes } = engine;
  const behind = servers.filter((one) => !one.current).map((one) => `${printable(one.name)} is behind or away`);
  const who = leader === null ? paint.yellow("the servers choose a leader") : `${printable(leader)} leads the log`;
  const holds = `entries ${first} to ${last}, ${Math.ceil(bytes / 2 ** 20)} MB`;
  return [`servers: ${who}, ${servers.length - behind.length} of ${servers.length} have all of it (${holds})`]
    .concat(behind.map((text) => paint.yellow(text)))
    .join("; ");
}

function statusLines(cluster: ClusterAnswer, shell: Shell): string[] {
  const { paint } = shell;
  if (cluster.alone) return [`${printable(cluster.name)} is the only coordinator: it shares no log`];
  const { leader, members, name, role, term, seq, trouble } = cluster;
  const present = members.filter((one) => one.present).length;
  return [
    leader === null
      ? paint.red("nobody leads at the moment")
      : `${printable(leader.name)} leads in term ${leader.term}, since ${ago(leader.since, shell.clock.now())}, at ${printable(leader.url)}`,
    `${printable(name)} is ${role}, term ${term}, entry ${seq} of the log; ${present} of ${members.length} known coordinators are there`,
    engineLine(cluster, shell),
    ...(present < 2 ? [paint.yellow("no other coordinator would take over now")] : []),
    ...leaseLines(cluster, shell),
    ...(trouble === null ? [] : [paint.yellow(`trouble: ${printable(trouble)}`)]),
    ...members.flatMap((one) =>
      one.same_rows === false ? [paint.red(`${printable(one.name)} has ${OTHER_ROWS}`)] : [],
    ),
    ...endedLines(cluster, shell),
    "",
    ...memberLines(cluster, shell),
  ];
}

const verdictLines = ({ seq, digest, members, applied }: Answer<typeof verifyCluster>): readonly string[] =>
  applied
    ? [
        `entry ${seq}: the rows of the leader come to ${digest}`,
        ...members.map((one) => `${printable(one.name)} ${ROWS[`${one.same_rows}`]}`),
      ]
    : [`all coordinators would compare their rows at the next entry; ${DRY}`];

/** `ringrift cluster`: the coordinators, where there are several. */
export function registerCluster(cluster: Command, shell: Shell): void {
  cluster
    .command("status", { isDefault: true })
    .description("show who leads, in which term, and how far each coordinator has come; a standby answers too")
    .action(() => showAnswer(shell, getCluster, {}, (answer) => statusLines(answer, shell)));
  cluster
    .command("members")
    .description("list the coordinators, with the view that each has of the others")
    .action(() =>
      showAnswer(shell, getCluster, {}, (answer) =>
        answer.alone ? statusLines(answer, shell) : memberLines(answer, shell),
      ),
    );
  cluster
    .command("step-down")
    .description("hand the lead to another coordinator, for example before an upgrade")
    .option("--to <name>", "which one; default: whoever is first")
    .requiredOption("--reason <text>", "the reason; it is recorded", sentence("--reason"))
    .option("--dry-run", "only show what would happen")
    .action(({ to, reason, dryRun }: { to?: string; reason: string; dryRun?: boolean }) =>
      showAnswer(
        shell,
        stepDown,
        { body: { to, reason, dry_run: dryRun ?? false } },
        ({ from, to: next, term, applied }) => {
          const what = `${printable(from)} ${applied ? "hands" : "would hand"} the lead of term ${term} to ${next === null ? "whoever is first" : printable(next)}`;
          return applied ? what : `${what}; ${DRY}`;
        },
      ),
    );
  cluster
    .command("verify")
    .description("compare the rows of all coordinators, each at the same entry of the log")
    .option("--dry-run", "only show what would happen")
    .action(async ({ dryRun }: { dryRun?: boolean }) => {
      const body = { dry_run: dryRun ?? false };
      const found = await askMain(shell.main, (main) => main.call(verifyCluster, { body }));
      answer(shell, found, () => verdictLines(found));
      if (found.members.some((one) => one.same_rows === false)) throw negative();
      // Whoever has not said it in time is asked again.
      if (found.members.some((one) => one.same_rows === null)) throw unavailable();
    });
}
