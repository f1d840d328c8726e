import type { Clock, Timer } from "../../kernel/index.ts";

const LOOK_EVERY_MS = 500;

/**
 * Notices that the process which started this one has gone, kill -9 included: the pipe that it held open closes, and this
 * process gets another parent.
 */
export function watchParent(
  pid: number | undefined,
  input: NodeJS.ReadableStream,
  clock: Clock,
  gone: (reason: string) => void,
): { stop(): void } {
  if (pid === undefined) return { stop() {} };
  let timer: Timer | undefined;
  let over = false;
  const stop = () => {
    over = true;
    timer?.cancel();
    input.off("end", lost);
    input.pause();
  };
  const lost = () => {
    if (over) return;
    stop();
    gone(`the process ${pid} that it worked for has ended`);
  };
  const look = () => {
    if (over) return;
    if (process.ppid !== pid) return lost();
    timer = clock.after(LOOK_EVERY_MS, look);
  };
  input.on("end", lost);
  input.resume();
  look();
  return { stop };
}
