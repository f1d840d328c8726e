import type { Command } from "commander";
import { defaultList, showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { plural, printable } from "../cli/text.ts";
import { wholeNumber } from "../cli/values.ts";
import type { Input } from "../http/wire.ts";
import { bytes } from "../status/view.ts";
import { artifactDetails, artifactLines, copiesLines, orphanLines } from "./view.ts";
import {
  freeArtifact,
  getCopies,
  listArtifacts,
  listOrphans,
  pinArtifact,
  showArtifact,
  verifyArtifact,
} from "./wire.ts";

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
  const which = ["<artifact>", "its SHA-256, or the first characters of it"] as const;
  const dryRun = ["--dry-run", "only show what would change"] as const;
  defaultList(artifacts, "list files, newest first; 'ringrift artifacts' does the same")
    .option("--config-key <config>", "only of this config")
    .option("--kind <kind>", "only of this kind, for example games or model")
    .option("--state <state>", "only in this state, for example durable or quarantined")
    .option("--limit <n>", "list at most this many", wholeNumber("--limit", 1, 1_000), 50)
    .action(({ configKey: config_key, kind, state, limit }: ListOptions) =>
      showAnswer(shell, listArtifacts, { query: { config_key, kind, state, limit } }, ({ artifacts: found }) =>
        found.length === 0 ? "no artifacts" : artifactLines(found, shell),
      ),
    );
  artifacts
    .command("show")
    .description("show one file: who made it, who needs it, and which nodes hold it since when")
    .argument(...which)
    .action((id: string) =>
      showAnswer(shell, showArtifact, { params: { id } }, (one) => artifactDetails(one, shell), "artifact"),
    );
  artifacts
    .command("copies")
    .description("show how safe all files are, and what each node holds")
    .action(() => showAnswer(shell, getCopies, {}, (report) => copiesLines(report, shell)));
  artifacts
    .command("orphans")
    .description("list files of games that nodes found and no manifest knew, and what becomes of each")
    .action(() =>
      showAnswer(shell, listOrphans, {}, ({ orphans }) =>
        orphans.length === 0 ? "no node has found games that no manifest knows" : orphanLines(orphans, shell),
      ),
    );
  artifacts
    .command("verify")
    .description("hash a file again, here and on the nodes that hold it; a damaged copy is set aside")
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
    .description("keep a file until you release it")
    .argument(...which)
    .option("--release", "release it instead")
    .option(...dryRun)
    .action((id: string, { release, dryRun: dry_run }: Tried) =>
      showAnswer(shell, pinArtifact, { params: { id }, body: { release, dry_run } }, ({ pins, applied }) => {
        const needed = pins.length === 0 ? "nothing needs it" : `needed by ${pins.map(printable).join(", ")}`;
        return `${needed}${applied ? "" : NOTHING_CHANGED}`;
      }),
    );
  artifacts
    .command("free")
    .description("remove a file with all its copies now, if nothing needs it; its games stay in the books")
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
