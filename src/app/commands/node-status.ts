/** What `ringrift status` says in the folder of a node that works for a main process elsewhere. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { isOperatingError, messageOf } from "../../kernel/index.ts";
import { ago, type NodeStatus, plural, printable, type Shell } from "../../surfaces/commands/index.ts";
import { openLink } from "../../surfaces/index.ts";
import { findHolder } from "../data-folder/own-process.ts";
import { joinedNode, type NodeFile, trustOf } from "../worker/node-identity.ts";
import { type Replica, readReplica } from "../worker/node-replica.ts";

const PROBE_TIMEOUT_MS = 5_000;

/** Empty where the main process answers; else what keeps it from us. */
async function troubleWith(node: NodeFile, { clock }: Shell): Promise<string> {
  const link = openLink({ target: { url: new URL(node.url), trust: trustOf(node) }, clock });
  try {
    await link.send("GET", "/livez", undefined, { timeoutMs: PROBE_TIMEOUT_MS });
    return "";
  } catch (thrown) {
    // Whoever refuses is there.
    return isOperatingError(thrown) && thrown.code !== "UNREACHABLE" ? "" : messageOf(thrown);
  } finally {
    link.close();
  }
}

const filesIn = (folder: string): number =>
  existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".json")).length : 0;

/** Who is champion, as the node heard it last, and how long ago that is. */
function championsIn(replica: Replica | undefined, now: number) {
  if (replica === undefined) return { json: [], at: null, lines: [] };
  const { at, models } = replica;
  const found = models.models
    .filter(({ stage }) => stage === "production")
    .map((model) => ({ config_key: model.config_key, model_id: String(model.model_id) }));
  const words = found.map(({ config_key, model_id }) => `${config_key} ${model_id.slice(0, 12)}`).join(", ");
  return {
    json: found,
    at: at / 1_000,
    lines: [`  champions   ${words === "" ? "none yet" : printable(words)}, heard ${ago(at, now)}`],
  };
}

/** Undefined where the folder has not joined anything. */
export async function nodeStatusOf(shell: Shell): Promise<NodeStatus | undefined> {
  const { paint, main, clock } = shell;
  const { dataDir } = main;
  if (!existsSync(dataDir) || existsSync(join(dataDir, "coordination.db"))) return undefined;
  const node = joinedNode(dataDir);
  if (node === undefined) return undefined;
  const canSee = process.platform === "linux";
  const pid = findHolder(join(dataDir, "worker"));
  const trouble = await troubleWith(node, shell);
  const waiting = filesIn(join(dataDir, "worker", "spool", "results"));
  const well = trouble === "" && (pid !== undefined || !canSee);
  const worker = pid !== undefined ? `runs, process ${pid}` : canSee ? "does not run" : "cannot be seen on this system";
  const champions = championsIn(readReplica(dataDir), clock.now());
  const advice = [
    ...(pid === undefined && canSee ? ["'ringrift worker' lets it work."] : []),
    ...(trouble === "" ? [] : ["Check the address and the network. Finished results wait here until then."]),
  ];
  return {
    well,
    json: {
      running: pid !== undefined,
      well,
      data_dir: dataDir,
      node: {
        node_id: node.node_id,
        label: node.label,
        url: node.url,
        joined_at: node.joined_at,
        worker_pid: pid ?? null,
        main_reachable: trouble === "",
        results_waiting: waiting,
        champions: champions.json,
        champions_at: champions.at,
      },
    },
    lines: [
      `${(well ? paint.green : paint.yellow)(well ? "\u2713" : "\u2717")} this folder is the node ${paint.bold(printable(node.label))} ${paint.dim(node.node_id)}`,
      `  works for   ${node.url}, joined ${ago(node.joined_at * 1_000, clock.now())}: ${trouble === "" ? "it answers" : printable(trouble)}`,
      `  worker      ${worker}`,
      `  results     ${plural(waiting, "result waits", "results wait")} to be sent`,
      ...champions.lines,
      ...advice.map((line) => `  ${paint.dim(line)}`),
      paint.dim("  The main process tells the rest: run 'ringrift nodes show' there; 'ringrift logs' here."),
    ],
  };
}
