import type { Command } from "commander";
import { showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { tableLines } from "../cli/table.ts";
import { ago, printable } from "../cli/text.ts";
import { lengthOfTime } from "../cli/values.ts";
import { until } from "../tokens/until.ts";
import { createShare, listShares, revokeShare, type Share } from "./wire.ts";

interface CreateOptions {
  readonly expires?: number;
  readonly label?: string;
}

function lines(shares: readonly Share[], shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const rows = shares.map((share) => [
    paint.yellow(share.id),
    printable(share.path),
    (share.status === "active" ? paint.green : paint.dim)(share.status),
    until(share.expires_at, now),
    share.last_used_at === null ? "never" : ago(share.last_used_at, now),
    paint.dim(`${ago(share.created_at, now)} by ${printable(share.created_by)}`),
    printable(share.label),
  ]);
  return tableLines([["ID", "SHOWS", "STATUS", "EXPIRES", "USED", "MADE", "LABEL"], ...rows], shell);
}

/** `ringrift share`: links to a part of the page, for people who shall only look. */
export function registerShare(share: Command, shell: Shell): void {
  share
    .command("create")
    .description("make a link that shows a part of the page; whoever has it can look and change nothing")
    .argument("[address]", "address of a view, or the start of several", "/")
    .option("--expires <time>", "how long it is valid, for example 30d; default: 7d", lengthOfTime("--expires"))
    .option("--label <label>", "for whom it is")
    .addHelpText(
      "after",
      `
Examples:
  ringrift share create
  ringrift share create /configs/othello6_2p --expires 30d --label team
`,
    )
    .action((path: string, { expires, label }: CreateOptions) =>
      showAnswer(
        shell,
        createShare,
        { body: { path, label, expires_in_seconds: expires === undefined ? undefined : expires / 1_000 } },
        (made) => {
          shell.note(
            `share ${made.id} shows ${made.path === "/" ? "every view" : made.path} and ends ${until(made.expires_at, shell.clock.now())}. ` +
              "The link is shown this once: keep it now.",
          );
          return made.url;
        },
      ),
    );
  share
    .command("list")
    .description("list shared links, newest first, without their secrets")
    .action(() =>
      showAnswer(shell, listShares, {}, ({ shares }) => (shares.length > 0 ? lines(shares, shell) : "no shared links")),
    );
  share
    .command("revoke")
    .description("end a shared link now, for everybody who has it")
    .argument("<share>", "its id, or its label")
    .action((id: string) =>
      showAnswer(
        shell,
        revokeShare,
        { params: { id } },
        (row) => `share ${row.id} of ${row.path} is revoked; who looks with it is refused`,
      ),
    );
}
