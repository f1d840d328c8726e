import { isOperatingError } from "../../kernel/index.ts";
import type { Endpoint } from "../client/channel.ts";
import type { EndpointFile } from "../client/endpoint.ts";
import type { Answer, InputArgs, RawAnswer, WireRoute } from "../http/wire.ts";

/** Something that answers routes. Whoever reaches it lets go of it, with `using`. */
export interface Answering extends Disposable {
  /** When what it tells was left, in milliseconds since the epoch: nothing runs. Null where nobody knows; undefined while it runs. */
  readonly leftAt?: number | null;
  /** The main process elsewhere whose words these are: the folder is that of a joined node. */
  readonly replicaOf?: string;
  /** What a route answers, read: times are milliseconds. */
  call<W extends WireRoute>(route: W, ...input: InputArgs<W>): Promise<Answer<W>>;
  /** The same as it came, for `--json`. */
  raw<W extends WireRoute>(route: W, ...input: InputArgs<W>): Promise<RawAnswer<W>>;
  /** What came, read. */
  read<W extends WireRoute>(route: W, raw: unknown): Answer<W>;
}

/** The running main process of the data folder, through its API. */
export interface MainProcess extends Answering {
  readonly dataDir: string;
  readonly endpoint: EndpointFile;
}

/** How commands reach the main process for all that is no journal. */
export type MainProcesses = ReturnType<typeof createMainProcesses>;

/** A healthy process answers in milliseconds; one that hangs shall not hang its commands. */
const PROBE_TIMEOUT_MS = 5_000;

const isAbsent = (thrown: unknown): boolean =>
  isOperatingError(thrown, "UNREACHABLE") || isOperatingError(thrown, "NOT_RUNNING");

/** Where the leader is that a standby names, with the token that this machine has for it. */
async function leaderIn(thrown: unknown, dataDir: string): Promise<Endpoint | undefined> {
  if (!isOperatingError(thrown, "NOT_LEADER")) return undefined;
  const [{ leaderNamedIn }, { clusterTokenIn }] = await Promise.all([
    import("../client/coordinators.ts"),
    import("../client/endpoint.ts"),
  ]);
  const named = leaderNamedIn(thrown);
  const token = clusterTokenIn(dataDir);
  if (named == null || token === undefined) return undefined;
  return { url: named.url, token, ...(named.fingerprint === null ? {} : { fingerprint: named.fingerprint }) };
}

/** What it takes to ask is loaded by those who ask. */
async function connect(dataDir: string, endpoint: EndpointFile): Promise<MainProcess> {
  const [{ sendTo }, { openChannel }, { answerOnce }, { livez }] = await Promise.all([
    import("../client/call.ts"),
    import("../client/channel.ts"),
    import("../http/wire.ts"),
    import("../probes/wire.ts"),
  ]);
  const channel = openChannel({ socketPath: endpoint.socket_path });
  try {
    await sendTo(channel, livez, {}, { timeoutMs: PROBE_TIMEOUT_MS });
  } catch (thrown) {
    // Whoever answers is there, also if its answer is that it is not well.
    if (!isOperatingError(thrown) || isAbsent(thrown)) {
      channel.close();
      throw thrown;
    }
  }
  /** The one that leads, while the coordinator of this machine stands by. */
  let leader: typeof channel | undefined;
  const send: typeof channel.send = async (...request) => {
    try {
      return await (leader ?? channel).send(...request);
    } catch (thrown) {
      const next = await leaderIn(thrown, dataDir);
      if (next === undefined) throw thrown;
      leader?.close();
      leader = openChannel(next);
      return await leader.send(...request);
    }
  };
  return {
    dataDir,
    endpoint,
    call: async (route, ...[input]) => answerOnce(route, await sendTo({ send }, route, input)),
    raw: (route, ...[input]) => sendTo({ send }, route, input),
    read: answerOnce,
    [Symbol.dispose]: () => {
      leader?.close();
      channel.close();
    },
  };
}

/** `openFolder` reads a data folder on which nothing runs; it gives undefined when nothing is in it. */
export const createMainProcesses = (
  dataDir: () => string,
  openFolder: () => Promise<Answering | undefined> = async () => undefined,
) => ({
  /** The data folder, once the command line is read. */
  get dataDir(): string {
    return dataDir();
  },
  /** For looking alone: the one that runs, else what it left in its folder. */
  async look(): Promise<Answering> {
    return (await this.find()) ?? (await openFolder()) ?? (await this.need());
  },
  /** The one that runs; undefined where nothing does. */
  async find(): Promise<MainProcess | undefined> {
    const { findEndpoint } = await import("../client/endpoint.ts");
    const endpoint = findEndpoint(dataDir());
    if (endpoint === undefined) return undefined;
    try {
      return await connect(dataDir(), endpoint);
    } catch (thrown) {
      // A process that was killed leaves its address behind, and its number may belong to another program by now.
      if (!isAbsent(thrown)) throw thrown;
      return undefined;
    }
  },
  /** The one that runs, else an error that says what to do. */
  async need(): Promise<MainProcess> {
    const { requireEndpoint } = await import("../client/endpoint.ts");
    return connect(dataDir(), requireEndpoint(dataDir()));
  },
});

/** Asks the running process one thing and lets go of it. */
export async function askMain<T>(processes: MainProcesses, ask: (main: MainProcess) => Promise<T>): Promise<T> {
  using main = await processes.need();
  return await ask(main);
}
