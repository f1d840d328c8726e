import {
  type ClusterPort,
  type ClusterView,
  dropCoordinator,
  hasSameRows,
  leadersByDomain,
  PRESENT_MS,
  type RowsCheck,
} from "../../cluster/index.ts";
import { type Clock, messageOf, OperatingError, sleep } from "../../kernel/index.ts";
import type { MemberDesk, MemberStock } from "../../sync/index.ts";
import { handle, type Route } from "../http/route.ts";
import {
  type ClusterAnswer,
  getCluster,
  getSnapshot,
  leaveCluster,
  SNAPSHOT_HEADERS,
  stepDown,
  tellFiles,
  verifyCluster,
} from "./wire.ts";

export function shownCluster(
  { cluster, generation, name, role, term, seq, leader, members, trouble, terms, checks, engine }: ClusterView,
  stocks: readonly Pick<MemberStock, "name" | "lacking">[] = [],
): ClusterAnswer {
  const lacking = new Map(stocks.map((one) => [one.name, one.lacking]));
  const newest = Math.max(seq, ...members.filter((one) => one.role === "leader").map((one) => one.seq));
  return {
    alone: false,
    ...{ cluster, generation, name, role, term, seq, trouble },
    leader: leader && { ...leader },
    domains: leadersByDomain(leader?.name ?? null),
    terms: terms.map(({ term: number, node, since, stepDown: ended }, i) => ({
      ...{ term: number, leader: node, since },
      ended: i === 0 && ended === null ? null : ended === null ? ("lost" as const) : ("handed over" as const),
      reason: ended?.reason ?? null,
    })),
    members: members.map((one) => ({
      ...{ name: one.name, url: one.url, fingerprint: one.fingerprint, role: one.role, term: one.term, seq: one.seq },
      lag: Math.max(0, newest - one.seq),
      ...{ leader: one.leader, version: one.version, trouble: one.trouble },
      heard_seconds_ago: one.heardMsAgo / 1_000,
      present: one.heardMsAgo <= PRESENT_MS,
      same_rows: hasSameRows(checks, one),
      lease_seconds: one.lease_ms === null ? null : one.lease_ms / 1_000,
      files_lacking: lacking.get(one.name) ?? null,
    })),
    checks: [...checks],
    engine: engine && {
      ...engine,
      servers: engine.servers.map(({ name: server, isCurrent, lag }) => ({ name: server, current: isCurrent, lag })),
    },
  };
}

const alone = () =>
  OperatingError.conflict("NOT_A_MEMBER", "this coordinator is the only one: there is no cluster of several", {
    hint: "docs/58-three-coordinators.md shows how to go from one to three.",
  });

const need = (cluster: ClusterPort | undefined): ClusterPort => {
  if (cluster === undefined) throw alone();
  return cluster;
};

const needFiles = (desk: MemberDesk | undefined): MemberDesk => {
  if (desk === undefined) throw alone();
  return desk;
};

/** Refuses to take somebody out who runs, or who alone has files. */
function checkLeaver({ name: own, members }: ClusterView, names: readonly string[], name: string): void {
  if (!names.includes(name))
    throw OperatingError.notFound("UNKNOWN_MEMBER", `no coordinator '${name}' belongs to the cluster`, {
      hint: `There are: ${names.join(", ")}.`,
    });
  if (name === own)
    throw OperatingError.conflict("ALREADY_LEADS", `${name} leads, and cannot leave`, {
      hint: "Hand the lead over first: 'ringrift cluster step-down --reason ...'.",
    });
  if (members.some((one) => one.name === name && one.heardMsAgo <= PRESENT_MS))
    throw OperatingError.conflict("MEMBERS_RUN", `the coordinator ${name} still runs`, {
      hint: `Stop it first: 'ringrift down' on its machine.`,
    });
}

const othersThere = ({ name, members }: ClusterView) =>
  members.filter((one) => one.name !== name && one.heardMsAgo <= PRESENT_MS);

/** Refuses to hand the lead to somebody who would not take it. */
function checkSuccessor(view: ClusterView, to: string | undefined): void {
  const { name } = view;
  const others = othersThere(view);
  if (to === name) throw OperatingError.conflict("ALREADY_LEADS", `${name} leads already`);
  if (to !== undefined && !others.some((one) => one.name === to))
    throw OperatingError.notFound("UNKNOWN_MEMBER", `no coordinator '${to}' stands by`, {
      hint: others.length === 0 ? "None stands by." : `There are: ${others.map((one) => one.name).join(", ")}.`,
    });
  if (others.length === 0)
    throw OperatingError.conflict("NO_STANDBY", "no other coordinator stands by: nobody would take over", {
      hint: "Start another one first: 'ringrift cluster members' lists them.",
    });
}

/** For so long the others are waited for, until they have looked at all their rows and said so. */
const SAY_MS = 20_000;
const LOOK_MS = 200;

async function comparedWith(cluster: ClusterPort, clock: Clock, check: RowsCheck) {
  const until = clock.monotonic() + SAY_MS;
  const isMissing = () => othersThere(cluster.view()).some((one) => (one.check?.seq ?? 0) < check.seq);
  while (isMissing() && clock.monotonic() < until) await sleep(clock, LOOK_MS);
  return othersThere(cluster.view()).map((one) => ({ name: one.name, same_rows: hasSameRows([check], one) }));
}

export const clusterRoutes: readonly Route[] = [
  handle(getCluster, ({ ports }) => {
    if (ports.cluster !== undefined) return shownCluster(ports.cluster.view(), ports.memberFiles?.stocks());
    return {
      alone: true,
      ...{ cluster: null, generation: null, name: ports.nodeId, role: "leader" as const, term: 1, seq: 0 },
      ...{ leader: null, domains: leadersByDomain(ports.nodeId), terms: [], members: [], trouble: null, checks: [] },
      engine: null,
    };
  }),
  handle(stepDown, async ({ ports, body: { to, reason, dry_run }, caller: { actor } }) => {
    const cluster = need(ports.cluster);
    const view = cluster.view();
    checkSuccessor(view, to);
    const answer = { from: view.name, to: to ?? null, term: view.term, applied: !dry_run };
    if (dry_run) return answer;
    ports.log.warn("told to hand over the lead", { to, reason, actor });
    // Whoever asks is answered first: what answers ends with the term.
    ports.clock.after(0, () =>
      cluster
        .stepDown(to, reason)
        .catch((thrown: unknown) => ports.log.warn("the lead was not handed over", { error: messageOf(thrown) })),
    );
    return answer;
  }),
  handle(verifyCluster, async ({ ports, body: { dry_run } }) => {
    const cluster = need(ports.cluster);
    if (dry_run) return { seq: null, digest: null, members: [], applied: false };
    const check = await cluster.verify();
    return { ...check, members: await comparedWith(cluster, ports.clock, check), applied: true };
  }),
  handle(tellFiles, async ({ ports, body: { name, held, gone, confirmed, lacking } }) => {
    const desk = needFiles(ports.memberFiles);
    // One that the leader does not know yet is written down within seconds, and says it again.
    if (!desk.stocks().some((one) => one.name === name))
      throw OperatingError.unavailable("UNKNOWN_MEMBER", `no coordinator '${name}' belongs to the cluster yet`, {
        details: { retryAfterSeconds: 2 },
      });
    await desk.tell(name, { held, gone, isConfirmed: confirmed, lacking });
    return { held: held.length, gone: gone.length };
  }),
  handle(leaveCluster, async ({ ports, params: { name }, body: { reason, dry_run }, caller: { actor } }) => {
    const view = need(ports.cluster).view();
    const desk = needFiles(ports.memberFiles);
    const names = desk.stocks().map((one) => one.name);
    checkLeaver(view, names, name);
    const only = desk.onlyAt(name);
    if (only > 0)
      throw OperatingError.conflict("FILES_ONLY_THERE", `${only} files lie at ${name} and nowhere else`, {
        hint: `Start ${name} again until 'ringrift cluster members' shows that no coordinator lacks files.`,
      });
    const members = names.filter((one) => one !== name);
    if (dry_run) return { left: name, members, applied: false };
    ports.log.warn("a coordinator leaves the cluster", { name, reason, actor });
    await ports.store.commit([dropCoordinator({ name })]);
    await desk.forget(name);
    return { left: name, members, applied: true };
  }),
  handle(getSnapshot, async ({ ports }) => {
    const { read, bytes, ...taken } = await need(ports.cluster).snapshot();
    const headers = Object.entries(SNAPSHOT_HEADERS).map(([key, header]) => [header, String(taken[key as "seq"])]);
    return new Response(ReadableStream.from(read()) as ReadableStream<Uint8Array>, {
      headers: {
        "content-type": "application/octet-stream",
        "content-length": String(bytes),
        ...Object.fromEntries(headers),
      },
    });
  }),
];
