import type { Command } from "commander";
import { OperatingError } from "../../kernel/index.ts";
import { showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { tableLines } from "../cli/table.ts";
import { ago, moment, plural, printable } from "../cli/text.ts";
import { lengthOfTime, oneOf, wholeNumber } from "../cli/values.ts";
import { until } from "./until.ts";
import { createToken, type JoinAddress, listTokens, revokeToken, TOKEN_SCOPES, type Token } from "./wire.ts";

interface CreateOptions {
  readonly scope: (typeof TOKEN_SCOPES)[number];
  readonly expires?: number;
  readonly join?: true;
  readonly uses?: number;
}

const rightsOf = ({ scope, join_uses }: Pick<Token, "scope" | "join_uses">): string =>
  join_uses === null ? scope : `join ${join_uses}`;

/** What is typed on the machine that shall become a node. */
export const joinLine = ({ url, fingerprint }: JoinAddress, token: string): string =>
  `ringrift join ${url} ${token}${fingerprint === null ? "" : ` --fingerprint ${fingerprint}`}`;

/**
 * The secret stands alone on standard output, for `TOKEN=$(ringrift token create ...)`; of a join token the whole line that
 * joins. All else goes beside it.
 */
const create = (label: string, { scope, expires, join, uses }: CreateOptions, shell: Shell) => {
  const isJoin = join === true || uses !== undefined;
  const body = {
    label,
    scope: isJoin ? ("worker" as const) : scope,
    expires_in_seconds: expires === undefined ? undefined : expires / 1_000,
    join_uses: isJoin ? (uses ?? 1) : undefined,
  };
  return showAnswer(shell, createToken, { body }, (made) => {
    const ends =
      made.expires_at === null ? "it does not expire" : `it expires ${moment(made.expires_at, shell.clock.now())}`;
    const may = made.join_uses === null ? `may ${made.scope}` : `lets ${plural(made.join_uses, "node")} join`;
    const { join: address } = made;
    shell.say(address == null ? made.token : joinLine(address, made.token));
    if (address?.loopback === true)
      shell.note(
        "note: the API listens only on this machine; set RINGRIFT_HOST and a certificate to open it to others (docs/42-nodes.md)",
      );
    shell.note(`token ${made.id} for '${printable(made.label)}' ${may}; ${ends}. It is shown this once: keep it now.`);
    return [];
  });
};

function tokenLines(tokens: readonly Token[], shell: Shell): string[] {
  const { paint } = shell;
  const now = shell.clock.now();
  const rows = tokens.map((token) => [
    paint.yellow(token.id),
    rightsOf(token),
    (token.status === "active" ? paint.green : paint.dim)(token.status),
    until(token.expires_at, now),
    token.last_used_at === null ? "never" : ago(token.last_used_at, now),
    paint.dim(`${ago(token.created_at, now)} by ${printable(token.created_by)}`),
    printable(token.label),
  ]);
  return tableLines([["ID", "SCOPE", "STATUS", "EXPIRES", "USED", "MADE", "LABEL"], ...rows], shell);
}

const list = (shell: Shell) =>
  showAnswer(shell, listTokens, {}, ({ tokens }) => {
    if (tokens.length > 0) return tokenLines(tokens, shell);
    shell.note(
      "The file 'token' in the data folder is the token of the local operator; 'ringrift token create' makes others.",
    );
    return "no tokens";
  });

const revoke = (id: string, shell: Shell) =>
  showAnswer(
    shell,
    revokeToken,
    { params: { id } },
    (row) => `token ${row.id} for '${printable(row.label)}' is revoked; what was open under it has ended`,
  );

/** `ringrift token`: who may reach the API over the network, and with which rights. */
export function registerToken(token: Command, shell: Shell): void {
  token
    .command("create")
    .description("create a token; its secret is printed only this once and stored nowhere")
    .argument("<label>", "what the token is for, for example grafana or box-7")
    .option(
      "--scope <scope>",
      `what the token allows: ${TOKEN_SCOPES.join(", ")}`,
      oneOf("--scope", TOKEN_SCOPES),
      "read",
    )
    .option("--expires <time>", "how long it is valid, for example 90d; default: for ever", lengthOfTime("--expires"))
    .option(
      "--join",
      "a token that only lets nodes join: one node, or as many as --uses says. Prints the whole command to run there",
    )
    .option("--uses <n>", "how many nodes may join with it", wholeNumber("--uses", 1, 10_000))
    .addHelpText(
      "after",
      `
Scopes: read can only read, worker can also publish and consume, operator can do everything.

Examples:
  ringrift token create grafana
  ringrift token create box-7 --scope worker --expires 90d
  ringrift token create new-boxes --join --uses 5
`,
    )
    .action((label: string, options: CreateOptions) => {
      if (label.trim() === "" || label.length > 100)
        throw OperatingError.invalid("INVALID_OPTION", "the label must have 1 to 100 characters");
      return create(label, options, shell);
    });
  token
    .command("list")
    .description("list tokens, newest first, without their secrets")
    .action(() => list(shell));
  token
    .command("revoke")
    .description("revoke a token now; its open connections end")
    .argument("<token>", "its id, or its label if that is unique")
    .action((id: string) => revoke(id, shell));
}
