/** How the stream of a cluster must be, and what is unsafe about one that is not so. */

/** The largest message that servers must take, in bytes. What is left above an entry is for its headers. */
export const MAX_MESSAGE_BYTES = 8 * 2 ** 20;
export const MAX_ENTRY_BYTES = MAX_MESSAGE_BYTES - 2 ** 16;

/** For so long a repeated entry is known by its id: ten times the longest lease in which somebody repeats one. */
const DUPLICATE_WINDOW_MS = 120_000;

/** Older servers lost acknowledged messages, or let replicas diverge, when their leader was cut off. */
const MIN_SERVER = [2, 15] as const;

/** The settings that matter, in the words of JetStream. All others are as the server has them. */
export const streamSettings = (name: string, replicas: number) =>
  ({
    name,
    subjects: [subjectOf(name)],
    storage: "file",
    num_replicas: replicas,
    retention: "limits",
    // Full is full: an old entry never makes room for a new one.
    discard: "new",
    max_msgs: -1,
    max_bytes: -1,
    max_age: 0,
    max_msgs_per_subject: -1,
    max_msg_size: MAX_MESSAGE_BYTES,
    duplicate_window: DUPLICATE_WINDOW_MS * 1_000_000,
    // Direct reads are answered by any replica, however old its state is.
    allow_direct: false,
    deny_delete: true,
    allow_rollup_hdrs: false,
    sealed: false,
    no_ack: false,
  }) as const;

export const subjectOf = (stream: string): string => `ringrift.log.${stream}`;

/** Where members tell each other how they are; no stream keeps it. */
export const memberSubjectOf = (stream: string): string => `ringrift.members.${stream}`;

/** What is known of a server: what it said when we connected, and what its monitor says. */
export interface ServerFacts {
  readonly name: string;
  readonly version: string;
  readonly maxPayload: number;
  /** Whether it flushes before it answers; undefined when its monitor could not be asked. */
  readonly syncsAlways: boolean | undefined;
}

const isOlder = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < MIN_SERVER[0] || (major === MIN_SERVER[0] && minor < MIN_SERVER[1]);
};

/** Why a server must not be trusted with the log; nothing when it may. */
export const serverFaults = ({ name, version, maxPayload, syncsAlways }: ServerFacts): string[] => [
  ...(isOlder(version) ? [`server ${name} is version ${version}; at least ${MIN_SERVER.join(".")} is required`] : []),
  ...(maxPayload < MAX_MESSAGE_BYTES
    ? [`server ${name} has max_payload ${maxPayload}; at least ${MAX_MESSAGE_BYTES} is required`]
    : []),
  ...(syncsAlways === true
    ? []
    : [
        syncsAlways === undefined
          ? `the monitor of server ${name} did not say whether it flushes before it answers`
          : `server ${name} answers before it flushes; 'sync_interval: always' is required`,
      ]),
];

/** Where the stream is not as it must be; nothing when it is. */
export function streamFaults(config: Readonly<Record<string, unknown>>, replicas: number): string[] {
  const wanted: Readonly<Record<string, unknown>> = streamSettings(String(config.name), replicas);
  const shown = (value: unknown) => JSON.stringify(value) ?? "nothing";
  // Servers leave out what is false.
  const same = (is: unknown, must: unknown) => shown(is ?? (must === false ? false : undefined)) === shown(must);
  return Object.entries(wanted)
    .filter(([key, must]) => !same(config[key], must))
    .map(([key, must]) => `${key} of stream ${config.name} is ${shown(config[key])}; ${shown(must)} is required`);
}
