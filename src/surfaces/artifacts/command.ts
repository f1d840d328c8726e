import type { Command } from "commander";
import { defaultList, showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { plural, printable } from "../cli/text.ts";
import { wholeNumber } from "../cli/values.ts";
import type { Input } from "../http/wire.ts";
import { bytes } from "../status/view.ts";
import { artifactDetails, artifactLines, copiesLines } from "./view.ts";
import { freeArtifact, getCopies, listArtifacts, pinArtifact, showArtifact, verifyArtifact } from "./wire.ts";

type Query = NonNullable<Input<typeof listArtifacts>["query"]>;
interface ListOptions {
  readonly configKey?: Query["config_key"];
  readonly kind?: string;
  readonly state?: Query["state"];
  readonly limit: number;
}

interface Tried {
  readonly dryRun?: boolean;
  readonly release?: boolean;
}

const NOTHING_CHANGED = "; nothing was changed: this was a dry run";
const names = (nodes: readonly string[]): string => (nodes.length === 0 ? "no node" : nodes.map(printable).join(", "));

/** `ringrift artifacts`: the files that jobs made, and where each lies. */
export function registerArtifacts(artifacts: Command, shell: Shell): void {
  const which = ["<artifact>", "its SHA-256, or the first digits of it"] as const;
  const dryRun = ["--dry-run", "only say what would change"] as const;
  defaultList(artifacts, "list them, newest first; this is what 'ringrift artifacts' does")
    .option("--config-key <config>", "only those of a config")
    .option("--kind <kind>", "only those of a kind, as in games or model")
    .option("--state <state>", "only those in a state, as in durable or quarantined")
    .option("--limit <n>", "list at most so many", wholeNumber("--limit", 1, 1_000), 50)
    .action(({ configKey: config_key, kind, state, limit }: ListOptions) =>
      showAnswer(shell, listArtifacts, { query: { config_key, kind, state, limit } }, ({ artifacts: found }) =>
        found.length === 0 ? "no artifact fits" : artifactLines(found, shell),
      ),
    );
  artifacts
    .command("show")
    .description("all of one: who made it, who needs it, and who holds it since when")
    .argument(...which)
    .action((id: string) =>
      showAnswer(shell, showArtifact, { params: { id } }, (one) => artifactDetails(one, shell), "artifact"),
    );
  artifacts
    .command("copies")
    .description("how safe all of them are, and what lies on each node")
    .action(() => showAnswer(shell, getCopies, {}, (report) => copiesLines(report, shell)));
  artifacts
    .command("verify")
    .description("hash it again, here and on the nodes that hold it; a damaged copy is set aside")
    .argument(...which)
    .action((id: string) =>
      showAnswer(shell, verifyArtifact, { params: { id }, body: {} }, ({ here, asked }) => {
        const found =
          here === null ? "it does not lie here" : here.sound ? "sound here" : `damaged here: ${here.damage}`;
        return asked.length === 0 ? found : `${found}; asked ${names(asked)}, see 'ringrift artifacts show'`;
      }),
    );
  artifacts
    .command("pin")
    .description("keep it until it is let go by hand")
    .argument(...which)
    .option("--release", "let go of it instead")
    .option(...dryRun)
    .action((id: string, { release, dryRun: dry_run }: Tried) =>
      showAnswer(shell, pinArtifact, { params: { id }, body: { release, dry_run } }, ({ pins, applied }) => {
        const needed = pins.length === 0 ? "nothing needs it" : `needed by ${pins.map(printable).join(", ")}`;
        return `${needed}${applied ? "" : NOTHING_CHANGED}`;
      }),
    );
  artifacts
    .command("free")
    .description("give it up at once with all its copies, if nothing needs it; its games stay in the books")
    .argument(...which)
    .option(...dryRun)
    .action((id: string, { dryRun: dry_run }: Tried) =>
      showAnswer(shell, freeArtifact, { params: { id }, body: { dry_run } }, ({ bytes: size, nodes, applied }) =>
        applied
          ? `given up: ${bytes(size)} on ${names(nodes)}`
          : `${bytes(size)} on ${names(nodes)} (${plural(nodes.length, "copy", "copies")}) would go${NOTHING_CHANGED}`,
      ),
    );
}
