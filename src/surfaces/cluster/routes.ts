import { type ClusterPort, type ClusterView, leadersByDomain } from "../../cluster/index.ts";
import { messageOf, OperatingError } from "../../kernel/index.ts";
import { handle, type Route } from "../http/route.ts";
import { type ClusterAnswer, getCluster, getSnapshot, SNAPSHOT_HEADERS, stepDown, verifyCluster } from "./wire.ts";

/** A member that was silent for so long is not counted on; they speak every second. */
const PRESENT_MS = 5_000;

export function shownCluster({
  cluster,
  generation,
  name,
  role,
  term,
  seq,
  leader,
  members,
  trouble,
  terms,
  checks,
}: ClusterView): ClusterAnswer {
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
    })),
    checks: [...checks],
  };
}

const need = (cluster: ClusterPort | undefined): ClusterPort => {
  if (cluster === undefined)
    throw OperatingError.conflict("NOT_A_MEMBER", "this coordinator is the only one: there is no cluster of several", {
      hint: "docs/58-three-coordinators.md shows how to go from one to three.",
    });
  return cluster;
};

/** Refuses to hand the lead to somebody who would not take it. */
function checkSuccessor({ name, members }: ClusterView, to: string | undefined): void {
  const others = members.filter((one) => one.name !== name && one.heardMsAgo <= PRESENT_MS);
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

export const clusterRoutes: readonly Route[] = [
  handle(getCluster, ({ ports }) => {
    if (ports.cluster !== undefined) return shownCluster(ports.cluster.view());
    return {
      alone: true,
      ...{ cluster: null, generation: null, name: ports.nodeId, role: "leader" as const, term: 1, seq: 0 },
      ...{ leader: null, domains: leadersByDomain(ports.nodeId), terms: [], members: [], trouble: null, checks: [] },
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
    if (dry_run) return { seq: null, digest: null, applied: false };
    return { ...(await cluster.verify()), applied: true };
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
