/** What coordinators tell each other, beside the log and in the first entry of a term. It comes from outside, and is read with care. */

import { z } from "zod";
import type { Clock } from "../../kernel/index.ts";
import { lazy } from "../../kernel/index.ts";
import type { CoordinatorRow } from "../coordinator-rows.ts";
import { isSameLease } from "./decide.ts";
import { LeadershipRole, type LeadershipRoleName } from "./roles.ts";

const name = z.string().min(1).max(200);
const address = lazy(() =>
  z.object({
    url: z.string().min(1).max(500),
    /** SHA-256 of its certificate; null over plain HTTP. */
    fingerprint: z.string().max(200).nullable(),
  }),
);

/** The setting of a member, in milliseconds; members of older versions do not say it. */
const lease = () => z.number().positive().nullable().default(null);

/** What the first entry of a term says of who leads. */
const termAbout = lazy(() => address().extend({ version: z.string().max(100), lease_ms: lease() }));
export type TermAbout = z.output<ReturnType<typeof termAbout>>;

export const writeTermAbout = (about: TermAbout): Uint8Array => Buffer.from(JSON.stringify(about));

/** Undefined for an entry that says nothing that is understood here. */
export function readTermAbout(text: string): TermAbout | undefined {
  try {
    return termAbout().parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

const stepDown = lazy(() =>
  z.object({ to: name.nullable(), reason: z.string().max(500).default("no reason was given") }),
);
type StepDownBody = z.output<ReturnType<typeof stepDown>>;

const MAX_REASON = 500;
export const writeStepDown = ({ to, reason }: StepDownBody): Uint8Array =>
  Buffer.from(JSON.stringify({ to, reason: reason.slice(0, MAX_REASON) }));

/** What the last entry of a term says that was handed over; undefined for what is not understood here. */
export function readStepDown(text: string): StepDownBody | undefined {
  try {
    return stepDown().parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

const refusedEntry = lazy(() =>
  z.object({
    /** The term in which it was sent, and the number that it would have had. */
    term: z.int().min(0),
    seq: z.int().min(0),
    /** Who had written the entry that stands there, and in which term. */
    by: name,
    by_term: z.int().min(0),
    /** When that was found out, by the clock of whoever sent it: milliseconds since the epoch. */
    at: z.number(),
  }),
);

/** An entry that somebody sent in the belief to lead, while another led already: the log refused it. */
export type RefusedEntry = z.output<ReturnType<typeof refusedEntry>>;

const rowsCheck = lazy(() => z.object({ seq: z.int().min(0), digest: z.string().max(100) }));

/** What the rows of a replica came to at one entry. */
export type RowsCheck = z.output<ReturnType<typeof rowsCheck>>;

const memberNews = lazy(() =>
  address().extend({
    name,
    boot: name,
    cluster: name,
    role: z.enum(LeadershipRole),
    term: z.int().min(0),
    seq: z.int().min(0),
    /** Whom it takes for the leader; null where it knows of none. */
    leader: name.nullable(),
    /** Why it cannot go on, if so. */
    trouble: z.string().max(500).nullable(),
    /** Its last entry that the log refused since another led; members of older versions say nothing of it. */
    refused: refusedEntry().nullable().default(null),
    /** Whether it shall lead before the others; members of older versions do not say it. */
    preferred: z.boolean().default(false),
    /** At the last entry that asked for it; null where none did. */
    check: rowsCheck().nullable().default(null),
    version: z.string().max(100),
    lease_ms: lease(),
  }),
);

/** How a member is, as it says itself. */
export type MemberNews = z.output<ReturnType<typeof memberNews>>;

export const encodeMember = (news: MemberNews): Uint8Array => Buffer.from(JSON.stringify(news));

export function decodeMember(bytes: Uint8Array): MemberNews | undefined {
  try {
    return memberNews().parse(JSON.parse(Buffer.from(bytes).toString()));
  } catch {
    return undefined;
  }
}

/** More than there ever are coordinators. */
const MAX_MEMBERS = 16;

/** A member, and how long ago it was heard. */
export interface HeardMember extends MemberNews {
  readonly heardMsAgo: number;
}

/** Everybody who was heard, by name; whoever was silent for longest goes first when there are too many. */
export function createMemberBook(clock: Pick<Clock, "monotonic">, cluster: string) {
  const heard = new Map<string, { readonly news: MemberNews; readonly at: number }>();
  return {
    /** What is not understood, and what is of another cluster, counts for nothing. */
    hear(news: MemberNews | undefined): void {
      if (news?.cluster !== cluster) return;
      heard.delete(news.name);
      heard.set(news.name, { news, at: clock.monotonic() });
      if (heard.size > MAX_MEMBERS) heard.delete(heard.keys().next().value!);
    },
    list: (): HeardMember[] =>
      [...heard.values()]
        .map(({ news, at }) => ({ ...news, heardMsAgo: clock.monotonic() - at }))
        .toSorted((one, other) => one.name.localeCompare(other.name)),
  };
}

/** A member that was silent for so long is not counted on; they speak every second. */
export const PRESENT_MS = 5_000;

/** Whether another is there that shall lead before the one of this name. Silence of the preferred one costs nobody any time. */
export const isPreferredThere = (heard: readonly HeardMember[], name: string): boolean =>
  heard.some((one) => one.preferred && one.name !== name && one.heardMsAgo <= PRESENT_MS);

/** Whether the rows of a member came to the same as here where it last looked; null where that is not known. */
export function hasSameRows(here: readonly RowsCheck[], { check }: Pick<MemberNews, "check">): boolean | null {
  const own = here.find(({ seq }) => seq === check?.seq);
  return own === undefined ? null : own.digest === check?.digest;
}

/** Members whose lease is set differently than here. Nobody leads too early by that: whoever waits does so for the longer one. */
export const otherLeases = (
  heard: readonly Pick<HeardMember, "name" | "lease_ms" | "heardMsAgo">[],
  ownMs: number,
): { readonly name: string; readonly leaseMs: number }[] =>
  heard.flatMap(({ name: one, lease_ms: leaseMs, heardMsAgo }) =>
    heardMsAgo > PRESENT_MS || leaseMs === null || isSameLease(leaseMs, ownMs) ? [] : [{ name: one, leaseMs }],
  );

/**
 * The entry at which more others had other rows than had the same as here; undefined where that is not known. Such a replica is damaged:
 * it must not lead, since those that are sound could not take what it changes.
 */
export function outvotedAt(
  [newest]: readonly RowsCheck[],
  others: readonly Pick<MemberNews, "check">[],
): number | undefined {
  const said = others.flatMap(({ check }) => (newest !== undefined && check?.seq === newest.seq ? [check] : []));
  const same = said.filter(({ digest }) => digest === newest?.digest).length;
  return said.length - same > same + 1 ? newest?.seq : undefined;
}

/**
 * Whoever is heard, and whoever belongs to the cluster and is silent; who has left is gone. One that was not heard since this process
 * began is known by its row alone, and silent whatever the clocks say.
 */
export function knownMembers(
  heard: readonly HeardMember[],
  rows: readonly CoordinatorRow[],
  now: number,
): HeardMember[] {
  const belong = new Set(rows.map((row) => row.name));
  const names = new Set(heard.map((one) => one.name));
  const silent = rows
    .filter((row) => !names.has(row.name))
    .map(
      ({ name: row, url, fingerprint, seq, seen_at }): HeardMember => ({
        ...{ name: row, url, fingerprint, seq, boot: "", cluster: "", role: "follower", term: 0, leader: null },
        ...{ trouble: null, refused: null, preferred: false, check: null, version: "", lease_ms: null },
        heardMsAgo: Math.max(2 * PRESENT_MS, now - seen_at),
      }),
    );
  return [...heard.filter((one) => one.heardMsAgo <= PRESENT_MS || belong.has(one.name)), ...silent].toSorted(
    (one, other) => one.name.localeCompare(other.name),
  );
}

export interface LeaderView extends z.output<ReturnType<typeof address>> {
  readonly name: string;
  readonly term: number;
  /** When its term began, by its own clock: milliseconds since the epoch. */
  readonly since: number;
}

/** A leadership, as the log says it. */
export interface TermView {
  readonly term: number;
  readonly node: string;
  /** When it began, by the clock of whoever led: milliseconds since the epoch. */
  readonly since: number;
  /** What it said when it handed over; null for one that did not, or that lasts. */
  readonly stepDown: { readonly to: string | null; readonly reason: string } | null;
}

/** The servers of the log, as one of them says. */
export interface EngineHealth {
  /** The server that leads the stream; null while they choose one. */
  readonly leader: string | null;
  readonly servers: readonly { readonly name: string; readonly isCurrent: boolean; readonly lag: number }[];
  /** Numbers of the first and the last entry that are there, and what all of them take. */
  readonly first: number;
  readonly last: number;
  readonly bytes: number;
}

/** The cluster as one member sees it. */
export interface ClusterView {
  readonly cluster: string;
  readonly generation: number;
  readonly name: string;
  readonly role: LeadershipRoleName;
  readonly term: number;
  readonly seq: number;
  /** Who leads by the last entries that are here; null where nobody has, or its term is known to be over. */
  readonly leader: LeaderView | null;
  readonly members: readonly HeardMember[];
  /** What stands in the way at the moment. */
  readonly trouble: string | null;
  /** The last leaderships, newest first. */
  readonly terms: readonly TermView[];
  /** The last entry of this member that the log refused since another led. */
  readonly refused: RefusedEntry | null;
  /** What the rows came to at the last `verify` entries, newest first. */
  readonly checks: readonly RowsCheck[];
  /** Null until a server has answered, and while none does. */
  readonly engine: EngineHealth | null;
}
