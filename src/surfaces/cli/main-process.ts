import { isOperatingError } from "../../kernel/index.ts";
import { openChannel } from "../client/channel.ts";
import { type EndpointFile, findEndpoint, requireEndpoint } from "../client/endpoint.ts";

/** The running main process of the data folder, through its API. */
export interface MainProcess {
  readonly endpoint: EndpointFile;
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body?: unknown): Promise<T>;
  delete<T>(path: string): Promise<T>;
  close(): void;
}

/** How commands reach the main process for all that is no journal. */
export interface MainProcesses {
  /** The data folder, once the command line is read. */
  readonly dataDir: string;
  /** The one that runs; undefined where nothing does. */
  find(): Promise<MainProcess | undefined>;
  /** The one that runs, else an error that says what to do. */
  need(): Promise<MainProcess>;
}

/** A healthy process answers in milliseconds; one that hangs shall not hang its commands. */
const PROBE_TIMEOUT_MS = 5_000;

const isAbsent = (thrown: unknown): boolean =>
  isOperatingError(thrown, "UNREACHABLE") || isOperatingError(thrown, "NOT_RUNNING");

/** Whoever answers is there, also if its answer is that it is not well. */
export async function probe(ask: () => Promise<unknown>): Promise<void> {
  try {
    await ask();
  } catch (thrown) {
    if (!isOperatingError(thrown) || isAbsent(thrown)) throw thrown;
  }
}

async function connect(endpoint: EndpointFile): Promise<MainProcess> {
  const channel = openChannel({ socketPath: endpoint.socket_path });
  try {
    await probe(() => channel.send("GET", "/livez", undefined, { timeoutMs: PROBE_TIMEOUT_MS }));
  } catch (thrown) {
    channel.close();
    throw thrown;
  }
  return {
    endpoint,
    get: (path) => channel.send("GET", path),
    post: (path, body = {}) => channel.send("POST", path, body),
    delete: (path) => channel.send("DELETE", path),
    close: () => channel.close(),
  };
}

export const createMainProcesses = (dataDir: () => string): MainProcesses => ({
  get dataDir() {
    return dataDir();
  },
  async find() {
    const endpoint = findEndpoint(dataDir());
    if (endpoint === undefined) return undefined;
    try {
      return await connect(endpoint);
    } catch (thrown) {
      // A process that was killed leaves its address behind, and its number may belong to another program by now.
      if (!isAbsent(thrown)) throw thrown;
      return undefined;
    }
  },
  need: async () => connect(requireEndpoint(dataDir())),
});

/** Asks the running process one thing and lets go of it. */
export async function askMain<T>(processes: MainProcesses, ask: (main: MainProcess) => Promise<T>): Promise<T> {
  const main = await processes.need();
  try {
    return await ask(main);
  } finally {
    main.close();
  }
}
