/**
 * The whole loop on hosts of their own, in network namespaces: a main process, nodes that join it and do all the work, one of them behind a
 * router. Lines are cut, cut one way, flapped and healed, one host is killed for good half-way, another is told to end. The champion is that
 * of a run that nobody disturbed, the books balance, and every file has its copies.
 */
import { isDeepStrictEqual } from "node:util";
import { assert } from "../../src/kernel/index.ts";
import type { JoinedMain } from "../chaos/parts/joined-main.ts";
import { selfSigned } from "../support/certificate.ts";
import { type Host, hostsOnABridge } from "../support/hosts.ts";
import { outcomeOf, planned, QUICK, SOUND, startLoop } from "../support/loop.ts";
import { patience, until } from "../support/patience.ts";
import { type Owned, owned, type Started } from "../support/process.ts";
import { ask } from "../support/surface.ts";

export const about = "the loop over joined nodes on hosts that are cut off, killed and told to end";

export interface JoinedOptions {
  /** Of the loop; one host is killed in the middle of them. */
  readonly iterations?: number;
  /** How often each harm is done. */
  readonly rounds?: number;
  /** How long a line is cut. */
  readonly cut_seconds?: number;
  /** Only until lines were cut and the first files have their copies again: no loop is played to its end. */
  readonly only_copies?: boolean;
}
export const tiny: JoinedOptions = { iterations: 1, rounds: 1, cut_seconds: 1, only_copies: true };

const MINUTES = { timeout: patience(300_000), interval: 500 };
const ENV = {
  RINGRIFT_P2P_STARTUP_GRACE_PERIOD: "0",
  RINGRIFT_NODE_BEAT: "0.5",
  RINGRIFT_NODE_SUSPECT: String(patience(2_000) / 1_000),
  RINGRIFT_NODE_DEAD: String(patience(6_000) / 1_000),
  RINGRIFT_WORK_LEASE_SILENCE: String(patience(3_000) / 1_000),
};
const NODE = { RINGRIFT_WORKER_BEAT_INTERVAL: "0.5", RINGRIFT_WORKER_CLAIM_WAIT: "1", RINGRIFT_JOB_GRACE_PERIOD: "1" };

const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
const on = ({ enter: [program = "", ...args] }: Host) => ({ execPath: program, execArgv: [...args, process.execPath] });

interface Copies {
  readonly places: number;
  readonly lines: readonly { readonly short: { readonly files: number }; readonly safe: { readonly files: number } }[];
}

/** A main process on a host, and how to speak with it. */
async function startMain(own: Owned, host: Host, options: Omit<JoinedMain, "address" | "env" | "dataDir">) {
  const main = own.startNode(
    new URL("../chaos/parts/joined-main.ts", import.meta.url),
    [JSON.stringify({ ...options, dataDir: own.folder(), address: host.address, env: ENV } satisfies JoinedMain)],
    on(host),
  );
  const joins = JSON.parse((await main.waitForLine(/^joins (.*)$/, MINUTES_LINE)).match[1]!) as Record<string, string>;
  const at = { socketPath: joins.socketPath! };
  const told = async <T>(what: string): Promise<T> => {
    const after = main.lines.length - 1;
    main.write(`${what}\n`);
    return JSON.parse(
      (await main.waitForLine(new RegExp(`^${what} (.*)$`), { ...MINUTES_LINE, after })).match[1]!,
    ) as T;
  };
  const get = async <T>(path: string): Promise<T> => (await ask(at, path)).json as T;
  const post = async (path: string, body: unknown) => {
    const { status, json } = await ask(at, path, { method: "POST", body });
    assert(status < 300, `${path}: ${status} ${JSON.stringify(json)}`);
    return json as Record<string, string>;
  };
  /** Every file has as many copies as there must be. */
  const safe = async (places: number) => {
    const copies = await get<Copies>("/v1/copies");
    return copies.places >= places && copies.lines.length > 0 && copies.lines.every(({ short }) => short.files === 0);
  };
  return {
    told,
    get,
    post,
    untilSafe: (places: number, what: string) =>
      until(
        () => safe(places),
        () => `files lack copies ${what}`,
        MINUTES,
      ),
    join(label: string, host: Host, env: Readonly<Record<string, string>> = {}): Started {
      const args = ["join", joins.url!, joins.token!, "--fingerprint", joins.fingerprint!, "--label", label];
      return own.startCli([...args, "--slots", "1"], { cwd: own.folder(), env: { ...NODE, ...env }, ...on(host) });
    },
  };
}
const MINUTES_LINE = { timeoutMs: MINUTES.timeout };

/** What comes of the run on one machine. */
async function undisturbed(own: Owned, iterations: number) {
  const quiet = await startLoop(own, { plans: planned({ ...QUICK, most_iterations: iterations }), slots: 1 });
  const outcome = outcomeOf(await quiet.complete());
  await quiet.end();
  return outcome;
}

export async function run({ iterations = 6, rounds = 1, cut_seconds = 5, only_copies = false }: JoinedOptions = {}) {
  const undo: (() => void)[] = [];
  const hosts = hostsOnABridge(`rj${process.pid % 1_000}`, 4, (one) => void undo.push(one));
  if (hosts === undefined) return { ok: true, skipped: "no network namespaces can be made here" };
  const [home, first, second, hidden] = hosts as [Host, Host, Host, Host];
  const own = owned();
  const began = performance.now();
  const note = (what: string) =>
    void process.stderr.write(`${Math.round((performance.now() - began) / 1_000)} s ${what}\n`);
  try {
    const identity = selfSigned(own.folder(), "host");
    if (identity === undefined) return { ok: true, skipped: "no certificate can be made here" };
    const reference = only_copies ? undefined : await undisturbed(own, iterations);
    note("the run that nobody disturbs is over");

    const main = await startMain(own, home, { ...identity, iterations });
    const serving = (host: Host) => ({
      RINGRIFT_TRANSFERS_SERVE_HOST: host.address,
      RINGRIFT_TRANSFERS_TLS_CERT_FILE: identity.cert,
      RINGRIFT_TRANSFERS_TLS_KEY_FILE: identity.key,
    });
    hidden.hide();
    const doomed = main.join("doomed", first, serving(first));
    const leaving = main.join("leaving", second, serving(second));
    main.join("hidden", hidden);
    const state = () => main.told<{ state: string; iteration: number }>("state");
    await until(
      async () => (await main.get<Copies>("/v1/copies")).lines.length > 0,
      () => "nothing was played",
      MINUTES,
    );

    for (let round = 0; round < rounds; round += 1) {
      first.cut("both");
      await pause(cut_seconds);
      first.heal();
      note("one host was cut off");
      for (let i = 0; i < 5; i += 1) {
        second.cut("both");
        await pause(cut_seconds / 10);
        second.heal();
        await pause(cut_seconds / 10);
      }
      note("one line flapped");
      second.cut("in");
      await pause(cut_seconds);
      second.heal();
      note("one line was cut one way");
    }
    if (reference === undefined) {
      await main.untilSafe(2, "after lines were cut");
      return { ok: true, seconds: (performance.now() - began) / 1_000 };
    }
    await until(
      async () => (await state()).iteration > iterations / 2,
      () => "the loop did not come half-way",
      MINUTES,
    );
    const met = await state();
    await doomed.killNow();
    assert(met.state !== "complete", "the loop was over before a host could be killed");
    note(`one host was killed for good, in iteration ${met.iteration} of ${iterations}`);
    await until(
      async () => (await state()).state === "complete",
      () => "the loop did not end",
      MINUTES,
    );
    await main.untilSafe(3, "after a host was killed");
    note("the loop is complete, and every file has its copies");

    const { code } = await leaving.stop(patience(35_000));
    assert(code === 0, `a node that was told to end came to ${code}`);
    await main.untilSafe(2, "after a node was told to end");
    // Now the one behind a router is the only one beside the main process that has files.
    const late = main.join("late", first, serving(first));
    interface Node {
      readonly label: string;
      readonly state: string;
      readonly clock_ahead_seconds: number | null;
      readonly health: { readonly condition: string };
    }
    const nodes = async () => (await main.get<{ nodes: Node[] }>("/v1/nodes")).nodes;
    await until(
      async () => (await nodes()).some(({ label, state: how }) => label === "late" && how === "online"),
      () => "the last node did not come",
      MINUTES,
    );
    interface Way {
      readonly node: string;
      readonly transport: string;
      readonly files: number;
      readonly error: string | null;
    }
    const ways = async () => (await main.get<{ ways: Way[] }>("/v1/sync/deliveries?view=all")).ways;
    const isRelayed = (all: readonly Way[]) => all.some(({ transport, files }) => transport === "relay" && files > 0);
    await main.post("/v1/sync", { data_type: "all", targets: ["late"], require_confirmation: true });
    await until(
      async () => isRelayed(await ways()),
      () => "nothing came through the relay",
      MINUTES,
    );
    await main.untilSafe(3, "at the end");
    // Who was only cut off is well again, and nobody was taken for a thief on the way.
    const ill = (await nodes()).filter(
      ({ state: how, health, clock_ahead_seconds: ahead }) =>
        how === "online" && (Math.abs(ahead ?? 0) > 60 || !["healthy", "degraded"].includes(health.condition)),
    );
    assert(ill.length === 0, `nodes are ill: ${JSON.stringify(ill)}`);
    const denied = (await ways()).filter(({ error }) => /^(TICKET|LIST)_/.test(error ?? ""));
    assert(denied.length === 0, `tickets were refused: ${JSON.stringify(denied)}`);
    const end = await main.told<{ outcome: unknown; soundness: typeof SOUND }>("outcome");
    await late.stop();
    assert(isDeepStrictEqual(end.soundness, SOUND), `it is not sound: ${JSON.stringify(end.soundness)}`);
    const wanted = JSON.parse(JSON.stringify(reference)) as unknown;
    assert(isDeepStrictEqual(end.outcome, wanted), `another champion: ${JSON.stringify(end.outcome)}`);
    return { ok: true, champion: reference.champion, seconds: (performance.now() - began) / 1_000, ways: await ways() };
  } finally {
    await own.end();
    for (const one of undo) one();
  }
}
