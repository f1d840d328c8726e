/**
 * Brings the program to hosts and keeps it running there as a node: canaries first, each watched until the coordinator hears it anew,
 * and put back to what it ran before if it is not heard. A host that has all of it already is left alone.
 */
import { messageOf, OperatingError } from "../../kernel/index.ts";
import type { DeployHost, Inventory } from "./inventory.ts";
import type { Release } from "./release.ts";
import { ACTIVATE, JOIN, LAST_WORDS, PREPARE, PROBE, SETTLE, STOP_NODE, TIDY } from "./scripts.ts";
import type { SshSession } from "./ssh-session.ts";

/** A node, as its coordinator hears it. */
export interface HeardNode {
  readonly incarnation: number;
  readonly online: boolean;
}

export interface DeployPorts {
  readonly open: (host: DeployHost) => SshSession;
  /** Where a host joins and with what: good for one machine, for a short time. */
  readonly invite: (label: string) => Promise<{ url: string; fingerprint: string | null; token: string }>;
  readonly heard: (nodeId: string) => Promise<HeardNode | undefined>;
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly now: () => number;
  readonly progress: (host: DeployHost, what: string) => void;
}

export interface DeployOptions {
  readonly dryRun: boolean;
  /** A node that was not heard anew after so long does not work. */
  readonly watchMs: number;
  /** All at once after the canaries. */
  readonly atOnce: number;
  readonly signal: AbortSignal;
}

export type HostOutcome = "unchanged" | "installed" | "upgraded" | "rolled_back" | "failed" | "skipped";
export interface HostReport {
  readonly host: string;
  readonly label: string;
  readonly outcome: HostOutcome;
  readonly node_id: string | null;
  readonly from: string | null;
  readonly to: string;
  readonly error: string | null;
  readonly error_code: string | null;
}

interface Probed {
  readonly arch: string | undefined;
  readonly current: string | undefined;
  readonly isRunning: boolean;
  readonly nodeId: string | undefined;
  readonly env: string | undefined;
}

function probed(text: string): Probed {
  const facts = new Map(
    text.split("\n").map((line) => {
      const at = line.indexOf(" ");
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
  let nodeId: string | undefined;
  try {
    const node: unknown = JSON.parse(facts.get("node") ?? "null");
    const id = (node as { node_id?: unknown } | null)?.node_id;
    if (typeof id === "string" && /^[\w.:-]{1,200}$/.test(id)) nodeId = id;
  } catch {
    // A file that nobody can read is as good as none: it joins anew, under the key that it has.
  }
  return {
    arch: facts.get("arch"),
    current: facts.get("current"),
    isRunning: facts.get("running") === "yes",
    nodeId,
    env: facts.get("env"),
  };
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "x86_64", arm64: "aarch64" };

/** What a node is told by its environment. Values hold nothing that a shell or systemd would take for more. */
const environmentOf = ({ slots, tags }: DeployHost): string =>
  [
    "# Written by 'ringrift deploy'.",
    ...(slots === undefined ? [] : [`RINGRIFT_WORKER_SLOTS=${slots}`]),
    ...(tags.length === 0 ? [] : [`RINGRIFT_WORKER_TAGS=${tags.join(",")}`]),
    "",
  ].join("\n");

/** POSIX `cksum`, so that a host can say what it has without sending it. */
export function cksum(text: string): string {
  const bytes = new TextEncoder().encode(text);
  let crc = 0;
  const step = (byte: number) => {
    crc ^= byte << 24;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x80000000 ? (crc << 1) ^ 0x04c11db7 : crc << 1;
  };
  for (const byte of bytes) step(byte);
  for (let length = bytes.length; length > 0; length = Math.floor(length / 256)) step(length & 0xff);
  return String(~crc >>> 0);
}

export async function deploy(
  { hosts, canaries }: Inventory,
  release: Release,
  ports: DeployPorts,
  options: DeployOptions,
): Promise<readonly HostReport[]> {
  const reports = new Map<DeployHost, HostReport>();
  const isBad = () => [...reports.values()].some(({ outcome }) => outcome === "failed" || outcome === "rolled_back");
  const some = async (group: readonly DeployHost[]) => {
    const left = [...group];
    const lane = async () => {
      for (let host = left.shift(); host !== undefined; host = left.shift())
        reports.set(host, isBad() ? skipped(host, release) : await deployTo(host, release, ports, options));
    };
    await Promise.all(Array.from({ length: Math.min(options.atOnce, group.length) }, lane));
  };
  await some(hosts.slice(0, canaries));
  await some(hosts.slice(canaries));
  return hosts.map((host) => reports.get(host)!);
}

const reportOn = (host: DeployHost, { id: to }: Release, more: Partial<HostReport>): HostReport => ({
  host: host.host,
  label: host.label,
  outcome: "unchanged",
  node_id: null,
  from: null,
  to,
  error: null,
  error_code: null,
  ...more,
});
const skipped = (host: DeployHost, release: Release) =>
  reportOn(host, release, { outcome: "skipped", error: "another host failed before it" });

async function deployTo(
  host: DeployHost,
  release: Release,
  ports: DeployPorts,
  options: DeployOptions,
): Promise<HostReport> {
  const { signal, dryRun } = options;
  const tell = (what: string) => ports.progress(host, what);
  let before: Probed | undefined;
  try {
    const session = ports.open(host);
    const run = (script: string, ...lines: readonly string[]) => session.run(script, [host.folder, ...lines], signal);
    before = probed(await run(PROBE));
    const env = environmentOf(host);
    const { current: from = null, nodeId = null } = before;
    if (before.arch !== undefined && before.arch !== ARCHITECTURES[process.arch])
      throw OperatingError.invalid(
        "HOST_ARCHITECTURE",
        `${host.host} is ${before.arch}, and the program is for ${process.arch}`,
      );
    const isSame = from === release.id && before.env === cksum(env);
    if (isSame && before.isRunning && nodeId !== null) {
      tell(`has ${release.id} already, and runs`);
      return reportOn(host, release, { node_id: nodeId, from });
    }
    const outcome = from === null ? "installed" : "upgraded";
    if (dryRun) {
      tell(`would get ${release.id}${from === null ? "" : ` in place of ${from}`}`);
      return reportOn(host, release, { outcome, node_id: nodeId, from });
    }
    await run(PREPARE, release.id);
    if (from !== release.id) {
      tell(`copies ${release.id}`);
      await session.copy(release.folder, `${host.folder}/releases/${release.id}.part`, signal);
    }
    await run(SETTLE, release.id, env.trimEnd());
    const joined = nodeId ?? (await join(host, release, ports, run));
    const heardBefore = (await ports.heard(joined))?.incarnation ?? 0;
    tell(`starts ${release.id}`);
    const error = await activate(run, release.id, () => watch(joined, heardBefore, ports, options));
    if (error === undefined) {
      await run(TIDY);
      tell(`runs ${release.id} as ${joined}`);
      return reportOn(host, release, { outcome, node_id: joined, from });
    }
    const words = (await run(LAST_WORDS).catch(() => "")).trim().split("\n").at(-1) ?? "";
    const told = `${messageOf(error)}${words === "" ? "" : `; it said: ${words.slice(0, 300)}`}`;
    if (from === null || from === release.id) {
      await run(STOP_NODE);
      return failed(host, release, from, OperatingError.unavailable("NODE_NOT_HEARD", told), tell);
    }
    tell(`goes back to ${from}: ${told}`);
    const heardNow = (await ports.heard(joined))?.incarnation ?? 0;
    const again = await activate(run, from, () => watch(joined, heardNow, ports, options));
    if (again !== undefined) return failed(host, release, from, again, tell);
    return reportOn(host, release, {
      ...{ outcome: "rolled_back", node_id: joined, from, error: told, error_code: "NODE_NOT_HEARD" },
    });
  } catch (thrown) {
    signal.throwIfAborted();
    return failed(host, release, before?.current ?? null, thrown, tell);
  }
}

function failed(
  host: DeployHost,
  release: Release,
  from: string | null,
  thrown: unknown,
  tell: (what: string) => void,
): HostReport {
  const error = messageOf(thrown);
  tell(`failed: ${error}`);
  const error_code = thrown instanceof OperatingError ? thrown.code : "INTERNAL_ERROR";
  return reportOn(host, release, { outcome: "failed", from, error, error_code });
}

async function join(
  host: DeployHost,
  { id }: Release,
  ports: DeployPorts,
  run: (script: string, ...lines: readonly string[]) => Promise<string>,
): Promise<string> {
  ports.progress(host, "joins");
  const { url, fingerprint, token } = await ports.invite(host.label);
  const answer = await run(JOIN, id, url, host.label, fingerprint ?? "", token);
  const found = /"node_id":\s*"([\w.:-]{1,200})"/.exec(answer)?.[1];
  if (found === undefined) throw OperatingError.unavailable("DEPLOY_STEP_FAILED", `${host.host} did not say who it is`);
  return found;
}

/** What went wrong; undefined if nothing did. */
async function activate(
  run: (script: string, ...lines: readonly string[]) => Promise<string>,
  id: string,
  isHeard: () => Promise<boolean>,
): Promise<unknown> {
  try {
    await run(ACTIVATE, id);
    if (await isHeard()) return undefined;
    return OperatingError.unavailable("NODE_NOT_HEARD", "the coordinator did not hear the node after its start");
  } catch (thrown) {
    return thrown;
  }
}

const LOOK_MS = 1_000;

async function watch(
  nodeId: string,
  before: number,
  { heard, pause, now }: DeployPorts,
  { watchMs, signal }: DeployOptions,
): Promise<boolean> {
  const until = now() + watchMs;
  for (;;) {
    const node = await heard(nodeId);
    if (node?.online === true && node.incarnation > before) return true;
    if (now() >= until) return false;
    await pause(LOOK_MS, signal);
  }
}
