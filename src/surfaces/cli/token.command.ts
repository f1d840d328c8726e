import type { Command } from "commander";
import { OperatingError } from "../../kernel/index.ts";
import { askMain } from "./main-process.ts";
import type { Shell } from "./shell.ts";
import { type Cell, tableLines } from "./table.ts";
import { ago, duration, moment, printable } from "./text.ts";
import { lengthOfTime, oneOf } from "./values.ts";

const SCOPES = ["read", "worker", "operator"] as const;

interface TokenRow {
  readonly id: string;
  readonly label: string;
  readonly scope: string;
  readonly status: string;
  readonly created_at: number;
  readonly created_by: string;
  readonly expires_at: number | null;
  readonly last_used_at: number | null;
}

interface CreateOptions {
  readonly scope: (typeof SCOPES)[number];
  readonly expires?: number;
}

const until = (expiresAt: number | null, nowMs: number): string => {
  if (expiresAt === null) return "never";
  const leftMs = expiresAt * 1_000 - nowMs;
  return leftMs > 0 ? `in ${duration(leftMs)}` : ago(expiresAt * 1_000, nowMs);
};

/** The secret stands alone on standard output, for `TOKEN=$(ringrift token create ...)`; all else goes beside it. */
const create = (label: string, { scope, expires }: CreateOptions, shell: Shell) =>
  askMain(shell.main, async (main) => {
    const body = { label, scope, ...(expires === undefined ? {} : { expires_in_seconds: expires / 1_000 }) };
    const made = await main.post<TokenRow & { token: string }>("/v1/tokens", body);
    if (shell.json) return shell.print(made);
    shell.say(made.token);
    const ends =
      made.expires_at === null
        ? "it does not expire"
        : `it expires ${moment(made.expires_at * 1_000, shell.clock.now())}`;
    shell.note(
      `token ${made.id} for '${printable(made.label)}' may ${made.scope}; ${ends}. It is shown this once: keep it now.`,
    );
  });

const list = (shell: Shell) =>
  askMain(shell.main, async (main) => {
    const { tokens } = await main.get<{ tokens: TokenRow[] }>("/v1/tokens");
    if (shell.json) return shell.print({ tokens });
    if (tokens.length === 0) {
      shell.say("no tokens");
      return shell.note("The token of the data folder is the local operator's; 'ringrift token create' makes others.");
    }
    const { paint } = shell;
    const now = shell.clock.now();
    const color = (status: string) => (status === "active" ? paint.green : paint.dim);
    const rows = tokens.map((token): Cell[] => [
      { text: token.id, paint: paint.yellow },
      { text: token.scope },
      { text: token.status, paint: color(token.status) },
      { text: until(token.expires_at, now) },
      { text: token.last_used_at === null ? "never" : ago(token.last_used_at * 1_000, now) },
      { text: `${ago(token.created_at * 1_000, now)} by ${printable(token.created_by)}`, paint: paint.dim },
      { text: printable(token.label) },
    ]);
    for (const line of tableLines([["ID", "SCOPE", "STATUS", "EXPIRES", "USED", "MADE", "LABEL"], ...rows], shell))
      shell.say(line);
  });

const revoke = (id: string, shell: Shell) =>
  askMain(shell.main, async (main) => {
    const row = await main.delete<TokenRow>(`/v1/tokens/${encodeURIComponent(id)}`);
    if (shell.json) return shell.print(row);
    shell.say(`token ${row.id} for '${printable(row.label)}' is revoked; what was open under it has ended`);
  });

/** `ringrift token`: who may reach the API over the network, and with which rights. */
export function registerToken(program: Command, shell: Shell): void {
  const token = program.command("token").description("tokens for the API over the network: make, list and revoke them");
  token
    .command("create")
    .description("make one; its secret is printed this once and kept nowhere")
    .argument("<label>", "what it is for, such as grafana or box-7")
    .option("--scope <scope>", `what it may do: ${SCOPES.join(", ")}`, oneOf("--scope", SCOPES), "read")
    .option("--expires <time>", "how long it lasts, such as 90d; for ever unless given", lengthOfTime("--expires"))
    .addHelpText(
      "after",
      `
Scopes: read looks, worker also publishes and consumes, operator does everything.

Examples:
  ringrift token create grafana
  ringrift token create box-7 --scope worker --expires 90d
`,
    )
    .action((label: string, options: CreateOptions) => {
      if (label.trim() === "" || label.length > 100)
        throw new OperatingError("INVALID_OPTION", "the label is a word or a few, at most 100 characters");
      return create(label, options, shell);
    });
  token
    .command("list")
    .description("list them, newest first, without their secrets")
    .action(() => list(shell));
  token
    .command("revoke")
    .description("take one back at once; what is open under it ends")
    .argument("<id>", "its id, as 'ringrift token list' shows it")
    .action((id: string) => revoke(id, shell));
}
