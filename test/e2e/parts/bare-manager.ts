/** A program that starts one daemon and does nothing else: the daemon alone keeps it alive. */
import { DaemonManager, seededRandom, silentLog, systemClock } from "../../../src/index.ts";

const manager = new DaemonManager({
  clock: systemClock(),
  random: seededRandom(1),
  log: silentLog(),
  nodeId: "here",
  pid: process.pid,
});
manager.registerFactory({
  daemonType: "slow",
  readyAfterMs: 50,
  // A timer of the house does not keep a process alive by itself.
  factory: ({ clock, signal }) =>
    new Promise<void>((resolve) => {
      clock.after(100, () => process.stdout.write("still here\n"));
      signal.addEventListener("abort", () => resolve(), { once: true });
    }),
});
process.stdout.write(`started ${await manager.start("slow")}\n`);
process.once("SIGTERM", () => void manager.shutdown({ timeoutMs: 300, force: true }));
