/**
 * From a publish in one process to the handler in another, over the API, beside a bare echo over a Unix socket between
 * the same two kinds of process. The bare echo is the limit: the same two crossings and nothing else.
 */
import { fork } from "node:child_process";
import { connect as connectSocket, createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bootstrapCoordination } from "../../src/app/bootstrap.ts";
import { readSettings } from "../../src/app/settings.ts";
import { silentLog } from "../../src/kernel/index.ts";
import { connect } from "../../src/surfaces/index.ts";
import { owned } from "../support/process.ts";

const SELF = fileURLToPath(import.meta.url);

const spread = (samples: number[]) => {
  const sorted = samples.sort((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)]! * 1_000);
  return { median_us: at(0.5), p99_us: at(0.99), samples: sorted.length };
};

/** The far process: answers on the socket, or consumes events and reports each by a message. */
async function far(mode: string, where: string): Promise<void> {
  if (mode === "echo") {
    const server = createServer((socket) => socket.pipe(socket));
    server.listen(where, () => process.send?.("ready"));
    return;
  }
  const client = connect({ dataDir: where });
  client.subscribe({ consumer: "bench", eventTypes: ["NEW_GAMES_AVAILABLE"] }, () => {
    process.send?.(performance.timeOrigin + performance.now());
  });
  process.send?.("ready");
}

const startFar = async (mode: string, where: string) => {
  const child = fork(SELF, ["far", mode, where], { stdio: "inherit" });
  await new Promise((resolve) => child.once("message", resolve));
  return child;
};

async function echo(folder: string, rounds: number) {
  const path = join(folder, "echo.sock");
  const child = await startFar("echo", path);
  const socket = connectSocket(path);
  const samples: number[] = [];
  for (let i = 0; i < rounds; i += 1) {
    const from = performance.now();
    socket.write(Buffer.alloc(300));
    await new Promise((resolve) => socket.once("data", resolve));
    samples.push(performance.now() - from);
  }
  socket.destroy();
  child.kill("SIGKILL");
  return spread(samples);
}

async function crossing(folder: string, rounds: number) {
  const settings = readSettings({}, folder, { dataDir: folder, port: 0 });
  const coordination = await bootstrapCoordination({ settings, log: silentLog() });
  const child = await startFar("consume", folder);
  const client = connect({ dataDir: folder });
  const publish = (total_games: number) =>
    client.publish("NEW_GAMES_AVAILABLE", { config_key: "hex8_2p", node_id: "n", new_games: 1, total_games });
  while (!coordination.router.listSubscribers().NEW_GAMES_AVAILABLE?.includes("bench"))
    await new Promise((resolve) => setTimeout(resolve, 20));
  const samples: number[] = [];
  for (let i = 0; i < rounds; i += 1) {
    const from = performance.timeOrigin + performance.now();
    const heard = new Promise<number>((resolve) => child.once("message", (at) => resolve(at as number)));
    await publish(i + 1);
    const took = (await heard) - from;
    if (i >= rounds / 10) samples.push(took);
  }
  child.kill("SIGKILL");
  await client.close();
  await coordination.shutdown();
  return spread(samples);
}

export const tiny = { rounds: 20 };

export async function run(options: { rounds?: number } = {}) {
  await using own = owned();
  const rounds = options.rounds ?? 1_000;
  const bare = await echo(own.folder(), rounds);
  const ours = await crossing(own.folder(), rounds);
  return { publish_to_handler: ours, bare_socket_echo: bare, ratio_of_medians: ours.median_us / bare.median_us };
}

const [role, mode = "", where = ""] = process.argv.slice(2);
if (role === "far") await far(mode, where);
else if (process.argv[1] === SELF) console.log(JSON.stringify(await run(), null, 2));
