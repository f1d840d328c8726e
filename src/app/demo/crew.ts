import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Clock, OperatingError } from "../../kernel/index.ts";
import type { FromWorker, Role, ToWorker, WorkerOptions } from "./messages.ts";

/** One process of the demo, over its lives. */
export interface Member {
  readonly role: Role;
  readonly pid: number | undefined;
  readonly alive: boolean;
  /** How often it was killed. */
  readonly kills: number;
  /** Over all its lives, as far as it told. */
  readonly count: number;
  start(): void;
  tell(message: ToWorker): void;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>;
  /** Tells it to end, and waits for its last word. */
  stop(limitMs: number): Promise<Extract<FromWorker, { type: "done" }>>;
}

interface Life {
  readonly child: ChildProcess;
  readonly gone: Promise<void>;
  count: number;
}

const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
const fileOf = (role: Role): string =>
  fileURLToPath(new URL(`./${role === "selfplay" ? "publisher" : "consumer"}.worker.${extension}`, import.meta.url));

const MOST_ERROR_CHARACTERS = 4_000;

export interface MemberOptions {
  readonly clock: Clock;
  readonly worker: WorkerOptions;
  /** Told when it ends without having been asked to. */
  readonly onCrash: (error: OperatingError) => void;
}

/** A process that is started, killed, started again, and in the end stopped. What it started with, it ends with. */
export function createMember({ clock, worker, onCrash }: MemberOptions): Member {
  const { role } = worker;
  let life: Life | undefined;
  let kills = 0;
  let counted = 0;
  let expected = false;
  let last: ((message: Extract<FromWorker, { type: "done" }>) => void) | undefined;

  const start = () => {
    expected = false;
    const child = fork(fileOf(role), [JSON.stringify(worker)], { stdio: ["ignore", "ignore", "pipe", "ipc"] });
    let said = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-MOST_ERROR_CHARACTERS);
    });
    const gone = new Promise<void>((resolve) => {
      child.once("error", () => resolve());
      child.once("exit", (code, signal) => {
        if (!expected)
          onCrash(
            new OperatingError("DEMO_WORKER_DIED", `the process ${role} ended (${signal ?? code})`, {
              hint: said.trim() || "It said nothing about why.",
            }),
          );
        resolve();
      });
    });
    const own: Life = { child, gone, count: 0 };
    child.on("message", (message: FromWorker) => {
      own.count = message.count;
      if (message.type === "done") last?.(message);
    });
    life = own;
  };
  const end = () => {
    counted += life?.count ?? 0;
    life = undefined;
  };
  return {
    role,
    get pid() {
      return life?.child.pid;
    },
    get alive() {
      return life !== undefined;
    },
    get kills() {
      return kills;
    },
    get count() {
      return counted + (life?.count ?? 0);
    },
    start,
    tell(message) {
      if (life?.child.connected) life.child.send(message);
    },
    async kill() {
      if (life === undefined) return;
      expected = true;
      life.child.kill("SIGKILL");
      await life.gone;
      kills += 1;
      end();
    },
    async stop(limitMs) {
      if (life === undefined) return { type: "done", count: counted, byType: {} };
      expected = true;
      const { child, gone } = life;
      const word = new Promise<Extract<FromWorker, { type: "done" }>>((resolve) => {
        last = resolve;
        void gone.then(() => resolve({ type: "done", count: life?.count ?? 0, byType: {} }));
      });
      child.send({ type: "stop" } satisfies ToWorker);
      const late = clock.after(limitMs, () => child.kill("SIGKILL"));
      const said = await word;
      await gone;
      late.cancel();
      end();
      return said;
    },
  };
}
