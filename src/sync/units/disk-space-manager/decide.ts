/** How thoroughly to clean up and how often, and what to say of the disk. Nothing that somebody holds ever goes, however full it is. */
import type { Cleaning, DiskLevel, DiskMeasure } from "../../disk-space.ts";

export type Graces = Omit<Cleaning, "exceptConfigs" | "level">;

export interface CleaningLimits {
  /** How long things stay at most while the disk is short. */
  readonly stays: Readonly<Record<Exclude<DiskLevel, "none">, Graces>>;
  /** How often it is cleaned up at each level. */
  readonly everyMs: Readonly<Record<DiskLevel, number>>;
  /** A disk that is full within this time is cleaned up as if it were short already. */
  readonly soonMs: number;
  /** How long the files of a config stay whose books do not balance, if nobody says that they do. */
  readonly holdMs: number;
}

/** A disk that will soon be short is treated as one that is. */
export const pressureOf = (
  disk: DiskMeasure | undefined,
  { soonMs }: Pick<CleaningLimits, "soonMs">,
): { readonly level: DiskLevel; readonly why: string } => {
  if (disk === undefined || (disk.level === "none" && (disk.fullInMs === null || disk.fullInMs >= soonMs)))
    return { level: "none", why: "nobody held them" };
  const used = `${Math.round(disk.usage * 100)} % of the disk are in use`;
  if (disk.level !== "none") return { level: disk.level, why: `${used} (${disk.level})` };
  return { level: "high", why: `${used}, and at this rate it is full in ${inWords(disk.fullInMs!)}` };
};

/** What may go: the shorter the disk, the shorter the time that files stay which nobody holds. */
export function cleaningFor(
  level: DiskLevel,
  usual: Graces,
  unbalanced: readonly string[],
  { stays }: Pick<CleaningLimits, "stays">,
): Cleaning {
  const at = level === "none" ? usual : stays[level];
  return {
    level,
    graceMs: Math.min(usual.graceMs, at.graceMs),
    strayGraceMs: Math.min(usual.strayGraceMs, at.strayGraceMs),
    quarantineMs: Math.min(usual.quarantineMs, at.quarantineMs),
    // Games that nobody can account for stay to be looked at, unless the journal itself would stand still for them.
    exceptConfigs: level === "critical" ? [] : unbalanced,
  };
}

export const isDue = (
  lastAt: number | null,
  level: DiskLevel,
  now: number,
  { everyMs }: Pick<CleaningLimits, "everyMs">,
): boolean => lastAt === null || now - lastAt >= everyMs[level] || lastAt > now;

const HOUR = 3_600_000;
const inWords = (ms: number): string =>
  ms < 2 * HOUR ? `${Math.max(1, Math.round(ms / 60_000))} min` : `${Math.round(ms / HOUR)} h`;
const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(bytes < 10e9 ? 1 : 0)} GB`;

/** How the disk stands, for whoever asks. */
export function standing(
  disk: DiskMeasure | undefined,
  freedLast: number,
): { readonly isWell: boolean; readonly message: string } {
  if (disk === undefined) return { isWell: true, message: "" };
  const { level, usage, freeBytes, fullInMs } = disk;
  const forecast = fullInMs === null ? "" : `; at this rate it is full in ${inWords(fullInMs)}`;
  const room = `${gigabytes(freeBytes)} of the disk are free${forecast}`;
  if (level !== "critical") return { isWell: true, message: room };
  const what = `the disk is ${Math.round(usage * 100)} % full, ${room}`;
  return {
    isWell: false,
    message:
      freedLast > 0
        ? `${what}; ${gigabytes(freedLast)} were freed last, and whoever makes files waits until there is room`
        : `${what}; nothing more can be freed, since all that is left is held: make room, or lower what is kept`,
  };
}
