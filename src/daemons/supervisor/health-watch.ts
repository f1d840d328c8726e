import { type Clock, messageOf } from "../../kernel/index.ts";
import type { DaemonHealth } from "./daemon.ts";
import { createTimerSet } from "./timer-set.ts";

interface HealthWatchOptions {
  readonly clock: Clock;
  readonly everyMs: number;
  readonly timeoutMs: number;
  readonly check: () => DaemonHealth | Promise<DaemonHealth>;
  readonly onVerdict: (health: DaemonHealth) => void;
}

const dead = (message: string): DaemonHealth => ({ status: "stopped", message, alive: false });

/**
 * Asks for health again and again. One that throws, or does not answer in time, is a verdict too; while an old question is
 * unanswered no new one is put.
 */
export function watchHealth(options: HealthWatchOptions): { stop(): void } {
  const timers = createTimerSet(options.clock);
  let asked: Promise<DaemonHealth> | undefined;
  let over = false;

  const report = (health: DaemonHealth) => {
    if (over) return;
    timers.clear();
    timers.after(options.everyMs, ask);
    options.onVerdict(health);
  };
  const ask = () => {
    if (asked !== undefined) return report(dead("its health check has not ended"));
    let isReported = false;
    const once = (health: DaemonHealth) => {
      if (!isReported) report(health);
      isReported = true;
    };
    const question = (async () => options.check())();
    asked = question;
    const answered = (health: DaemonHealth) => {
      asked = undefined;
      once(health);
    };
    timers.after(options.timeoutMs, () =>
      once(dead(`its health check gave no answer in ${options.timeoutMs / 1_000} s`)),
    );
    question.then(answered, (thrown) => answered(dead(`its health check failed: ${messageOf(thrown)}`)));
  };
  timers.after(options.everyMs, ask);
  return {
    stop() {
      over = true;
      timers.clear();
    },
  };
}
