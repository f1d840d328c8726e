/** Two processes: a consumer in another process, which is away for a while and then reads on from where it was. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
// In programs of your own: from "ringrift-coordination/client" and "ringrift-coordination".
import { connect } from "../src/client.ts";
import { bootstrapCoordination, readSettings } from "../src/index.ts";

const [, , role, folder = ""] = process.argv;
if (role === "consumer") await consume(folder);
else await main();

/** The other process. It knows the main one only by its data folder. */
async function consume(dataDir: string): Promise<void> {
  const client = connect({ dataDir });
  const subscription = client.subscribe(
    { consumer: "trainer", eventTypes: ["NEW_GAMES_AVAILABLE"], start: "earliest" },
    ({ payload }) => console.log(`trainer ${process.pid}: ${payload.config_key} has ${payload.total_games} games`),
  );
  process.once("SIGTERM", () => void subscription.stop());
  await subscription.ended;
  await client.close();
}

async function main(): Promise<void> {
  const dataDir = process.env.RINGRIFT_DATA_DIR ?? mkdtempSync(join(tmpdir(), "ringrift-"));
  const coordination = await bootstrapCoordination({
    settings: readSettings(process.env, process.cwd(), { dataDir, port: 0, logLevel: "WARN" }),
  });
  const { router } = coordination;
  const publish = (total_games: number) =>
    router.publish("NEW_GAMES_AVAILABLE", { config_key: "hex8_2p", new_games: 100, total_games });

  let trainer = startTrainer(dataDir);
  await publish(100);
  await publish(200);
  const third = await publish(300);
  await trainer.heard(300);
  await router.settled(third);
  await trainer.stop();

  await publish(400);
  const fifth = await publish(500);
  console.log("main: published two more while the trainer was away");

  trainer = startTrainer(dataDir);
  await trainer.heard(500);
  await router.settled(fifth);
  await trainer.stop();
  await coordination.shutdown();
}

function startTrainer(dataDir: string) {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), "consumer", dataDir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => console.log(line));
  return {
    heard: (games: number) =>
      new Promise<void>((resolve, reject) => {
        lines.on("line", (line) => {
          if (line.endsWith(` ${games} games`)) resolve();
        });
        lines.once("close", () => reject(new Error(`the trainer ended before it heard of ${games} games`)));
      }),
    async stop() {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    },
  };
}
