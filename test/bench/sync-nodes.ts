/** One model for many nodes that ask for it at once: they pass on what has come to them, in the order that the coordinator chooses. */
import { spawn } from "node:child_process";
import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../src/kernel/index.ts";
import type { Source, Wanted } from "../../src/sync/index.ts";
import { servingAt, sourcesWorld } from "../unit/sync/sources-world.ts";
import type { FetchAsked, FetchTold, NodesWanted } from "./support/fetching-nodes.ts";
import { inFolder, inMemory } from "./support/folder.ts";
import { atMost } from "./support/measure.ts";
import type { Section } from "./support/table.ts";

/** Nodes that share a process: a machine of two cores has no room for fifty. */
const IN_ONE_PROCESS = 5;

interface NodeThere {
  readonly nodeId: string;
  readonly port: number;
  fetch(asked: Omit<FetchAsked, "node">): Promise<FetchTold>;
}

/** Starts some nodes, and gives how to speak to each. */
async function startNodes(wanted: NodesWanted) {
  const program = fileURLToPath(new URL("./support/fetching-nodes.ts", import.meta.url));
  const child = spawn(process.execPath, [program, JSON.stringify(wanted)], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout });
  const [first] = (await once(lines, "line")) as [string];
  const waiting = new Map<number, (told: FetchTold) => void>();
  lines.on("line", (line) => {
    const told = JSON.parse(line) as FetchTold;
    waiting.get(told.node)?.(told);
  });
  const nodes = (JSON.parse(first) as { nodeId: string; port: number }[]).map(
    (there, node): NodeThere => ({
      ...there,
      fetch: (asked) =>
        new Promise((resolve) => {
          waiting.set(node, resolve);
          child.stdin.write(`${JSON.stringify({ node, ...asked } satisfies FetchAsked)}\n`);
        }),
    }),
  );
  return {
    nodes,
    async close() {
      const exit = once(child, "exit");
      child.stdin.end();
      await exit;
    },
    /** Seconds of processor that it used so far. */
    cpuSeconds: () => cpuSecondsOf(child.pid!),
  };
}

/** Of a process, as the kernel counts it in hundredths; none where it does not tell. */
function cpuSecondsOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return Number.NaN;
  }
}

interface ManyNodes {
  readonly nodes: number;
  readonly bytes: number;
  /** Of every line, in either direction. */
  readonly bytesPerSecond: number;
}

export const manyNodes = ({ nodes: count, bytes, bytesPerSecond }: ManyNodes): Promise<Section> =>
  inFolder(async (folder) => {
    const office = generateKeyPairSync("ed25519");
    const coordinator = office.publicKey.export({ type: "spki", format: "pem" }).toString();
    const content = randomBytes(bytes);
    const wanted: Wanted = { sha256: createHash("sha256").update(content).digest("hex"), bytes };
    const start = (name: string, nodes: number) =>
      startNodes({ folder: join(folder, name), nodes, coordinator, bytesPerSecond });
    // The coordinator's own server is the same program; it has the file already.
    const main = await start("home", 1);
    const shelf = join(folder, "home", "0", wanted.sha256.slice(0, 2));
    mkdirSync(shelf, { recursive: true });
    writeFileSync(join(shelf, wanted.sha256), content);
    const processes = Array.from({ length: Math.ceil(count / IN_ONE_PROCESS) }, (_, i) =>
      start(`nodes-${i}`, Math.min(IN_ONE_PROCESS, count - i * IN_ONE_PROCESS)),
    );
    const groups = await Promise.all([...processes, start("alone", 1)]);
    const all = groups.flatMap(({ nodes }) => nodes);
    const [home, alone] = [main.nodes[0]!, all.pop()!];
    const ids = [...all, alone].map(({ nodeId }) => nodeId);
    const own = { home: home.nodeId, names: { model: wanted.sha256 }, clock: systemClock() };
    const world = await sourcesWorld({ model: bytes }, ids, office, own);
    const at = new Map([home, ...all].map(({ nodeId, port }) => [nodeId, port]));
    for (const { nodeId, port } of all) world.sources.announce(nodeId, servingAt(port));
    /** What a node does with the answer of the coordinator. */
    const fetchBy = (node: NodeThere) => {
      const [batch] = world.sources.planNamed(node.nodeId, [wanted.sha256]);
      const sources = batch!.sources.map(
        ({ node_id: nodeId, ticket, coming: isComing }): Source => ({
          transport: "http",
          url: `http://127.0.0.1:${at.get(nodeId)}`,
          nodeId,
          ticket,
          list: [wanted],
          isComing,
        }),
      );
      return node.fetch({ wanted: [wanted], sources });
    };
    try {
      const one = await fetchBy(alone);
      world.sources.settle(alone.nodeId, [wanted.sha256]);
      const usedBefore = groups.reduce((sum, group) => sum + group.cpuSeconds(), 0);
      const told = await Promise.all(all.map(fetchBy));
      const cpuSeconds = groups.reduce((sum, group) => sum + group.cpuSeconds(), 0) - usedBefore;
      const lost = told.filter(({ arrived }) => arrived !== 1);
      if (lost.length > 0) throw new Error(`${lost.length} nodes did not get it: ${lost[0]!.errors.join("; ")}`);
      const place = `node ${home.nodeId}`;
      const sends = told.reduce((sum, { bytesFrom }) => sum + (bytesFrom[place] ?? 0), 0) / bytes;
      const last = Math.max(...told.map(({ seconds }) => seconds));
      return {
        title: `${count} nodes fetch one model of ${bytes / 1e6} MB at once, every line ${bytesPerSecond / 1e6} MB/s`,
        measured: [],
        goals: [
          atMost("times that the coordinator sends it", sends, 5),
          atMost("time of all : time of one", last / one.seconds, 3),
        ],
        notes: {
          "seconds for one alone": one.seconds,
          "seconds until all have it": last,
          "seconds of processor for each node": cpuSeconds / count,
          "tries that failed on the way": told.reduce((sum, { errors }) => sum + errors.length, 0),
        },
      };
    } finally {
      await Promise.all([main, ...groups].map((group) => group.close()));
      await world.close();
    }
  }, inMemory());
