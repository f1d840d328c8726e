import type { FromWorker, ToWorker } from "./messages.ts";

/** A worker's side of the line to the process that started it. */
export interface WorkerLink {
  tell(message: FromWorker): Promise<void>;
  onMessage(hear: (message: ToWorker) => void): void;
}

/**
 * Connects a worker to the process that started it. It ends when told to or when that process is gone, however that
 * died; Ctrl-C and a closed terminal reach all processes at once and are that process's to answer.
 */
export function openWorkerLink(process: NodeJS.Process): WorkerLink {
  process.on("SIGINT", () => {});
  process.on("SIGHUP", () => {});
  process.once("disconnect", () => process.exit(0));
  return {
    tell: (message) =>
      new Promise((resolve) => {
        // A line that broke meanwhile has said so by 'disconnect' already.
        if (process.send === undefined || !process.connected) resolve();
        else process.send(message, () => resolve());
      }),
    onMessage(hear) {
      process.on("message", (message) => hear(message as ToWorker));
    },
  };
}
