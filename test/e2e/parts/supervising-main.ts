/** A main process with a daemon that fails at once, one that starts a child, and a unit that counts. */
import { spawn } from "node:child_process";
import { bootstrapCoordination } from "../../../src/app/bootstrap.ts";
import { readSettings } from "../../../src/app/settings.ts";
import { defineCoordinator } from "../../../src/daemons/index.ts";
import { silentLog } from "../../../src/kernel/index.ts";
import { createWriteSet, defineTable } from "../../../src/router/index.ts";

const counted = defineTable<{ times: number }>("counter_counted");

const counter = defineCoordinator({
  name: "counter",
  layer: 1,
  placement: "leader",
  emits: [],
  state: { tables: { counted } },
  on: {
    HOST_OFFLINE(_event, { rows }) {
      rows.put(counted, "all", { times: (rows.get(counted, "all")?.times ?? 0) + 1 });
    },
  },
});

const settings = readSettings(process.env, process.cwd());
const coordination = await bootstrapCoordination({ settings, units: [counter], log: silentLog() });
const { daemons, router } = coordination;

daemons.registerFactory({
  daemonType: "failing",
  factory({ ready }) {
    ready();
    throw new Error("it always fails");
  },
});
daemons.registerFactory({
  daemonType: "parent",
  factory: ({ ready, signal }) =>
    new Promise((resolve) => {
      // It reads its parent's end of the pipe: when that closes, however it comes about, it ends.
      const child = spawn(process.execPath, ["-e", "process.stdin.resume().on('end', () => process.exit())"], {
        stdio: ["pipe", "ignore", "ignore"],
      });
      process.stdout.write(`child ${child.pid}\n`);
      ready();
      signal.addEventListener("abort", () => child.stdin.end(), { once: true });
      child.once("exit", () => resolve());
    }),
});
void daemons.startAll({ names: ["failing", "parent"] });

process.stdout.write(`ready ${coordination.api.port}\n`);
let n = 0;
for (;;) {
  // The last life only works off what the ones before have left.
  if (process.argv[2] !== "drain") {
    await router.publish("HOST_OFFLINE", { node_id: `node-${n % 7}`, reason: "silent" }, { source: "test" });
    n += 1;
  }
  await daemons.flush(1_000);
  const { restarts, permanentFailure } = daemons.getStatus().failing!;
  const { times } = createWriteSet(router.store).get(counted, "all") ?? { times: 0 };
  process.stdout.write(
    `${JSON.stringify({ published: n, counted: times, restarts, given_up: permanentFailure !== null })}\n`,
  );
  await new Promise((resolve) => setTimeout(resolve, 5));
}
